"""Self-play: movers and a network in worker processes, and the parent that supervises them.

run_selfplay    one run from settings to summary
games/          one process: server, movers, their kernels and arrays
worker/         the worker process: network, shards, saved games, messages
supervisor/     the parent: generations, assignment of games, recorded shards, status
"""

from vecchess.callable_package import make_callable

make_callable(__name__)
