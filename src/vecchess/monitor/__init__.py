"""Reads the files of runs while they change, for watch, report and dashboard. Writes nothing.

- ``run_view`` a run: its machines, status, series, games, networks and ratings
- ``run_status`` the status of a run, put together from those of its machines
- ``status_reader`` the status of one machine, ``status.json``
- ``bottleneck`` the stage that limits the speed, and advice
- ``series`` measurements: lines of ``metrics.jsonl`` by kind
- ``charts`` which measurements are drawn, for terminal and pages
- ``manifest_tail`` shards and counts of recorded games
- ``recorded_games`` outcomes of all recorded games, and any game by its number
- ``live_games_reader`` games in progress that workers show
- ``decoded_game`` a game decoded to UCI and SAN
- ``log_tail`` new lines of a file that grows
- ``small_file`` a small file that is replaced
- ``timestamps`` times and durations as text

Decision 148.
"""
