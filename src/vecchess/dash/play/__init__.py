"""The play page: games against networks, analyses, spikes.

- ``routes`` the routes
- ``parse_requests`` the bodies of requests
- ``service`` answers requests
- ``play_game`` a game, its facts, FEN and PGN
- ``network_list`` networks of the runs
- ``engine_pool`` engines in use
- ``uci_engine`` one engine process
- ``spike_client`` client of the process that traces spikes
- ``spike_process`` that process
- ``helper_process`` command, priority and errors of processes
"""
