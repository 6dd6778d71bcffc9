"""The play page: games against networks, analyses, spikes.

- ``routes`` the routes
- ``parse_requests`` the bodies of requests
- ``service`` answers requests
- ``play_game`` a game, its facts, FEN and PGN
- ``helper_pool`` processes in use, started when needed, ended when idle
- ``uci_engine`` one engine process
- ``spike_helper`` the process that traces spikes, as the server uses it
- ``spike_process`` that process
"""
