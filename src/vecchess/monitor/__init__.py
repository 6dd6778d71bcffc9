"""Reads the files of runs while they change, for watch, report and dashboard. Writes nothing.

- ``run_view`` a run: its status, series, games, networks and ratings
- ``run_status`` the status of a run, with what limits it and what to do next
- ``status_reader`` reads ``status.json``
- ``bottleneck`` the stage that limits the speed, and advice
- ``series`` measurements: lines of ``metrics.jsonl`` by kind
- ``charts`` which measurements are drawn, for terminal and pages
- ``run_games`` games of a run: recorded, in progress, and their counts
- ``decoded_game`` a game decoded to UCI and SAN
- ``changing_file`` small files that are replaced, logs that grow

Decision 148.
"""
