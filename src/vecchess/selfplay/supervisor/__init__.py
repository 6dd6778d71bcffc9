"""The parent process of self-play.

supervisor         generations of games, start and stop
work_assigner      assigns games, records shards, replaces dead workers
worker_pool        the worker processes
worker_process     one worker process, seen from the parent
game_ledger        which game, or segment, is open, with a worker, or recorded
cut_finder         the games that a generation of a training left unfinished
disk_quota         deletes the oldest games when they take too much room
worker_throughput  speed and load from workers' counters
status_watcher     status.json, metrics.jsonl and the display
status_view        the state of a run in the terminal: a line, or workers and progress
"""
