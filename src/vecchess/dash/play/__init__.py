"""The play page: games against networks, analyses, spikes.

- ``routes`` the routes
- ``parse_requests`` the bodies of requests
- ``service`` answers requests
- ``play_game`` a game, its facts, FEN and PGN
- ``lent_engines`` engines in use, started when needed, ended when idle
- ``play_engine`` one of them, a ``vecchess uci`` process: moves, lines, spikes
"""
