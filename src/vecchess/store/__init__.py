"""Recorded games and measurements of a run on disk, and the arrays that they become in memory.

run_folder        the folder of a run: paths, lock, small files
records           finished games as arrays, ``GameRecords``
shard             files of finished games
manifest          the list of a run's shards; the journal of a rewrite
maintenance/      verification, compaction and pruning of recorded games
stats             sums over finished games: results, lengths, terminations
sources           games in a place that a user names: run, folder or shard
replay_positions  positions and moves of recorded games, by playing them again
targets           recorded policy targets, mapped onto legal moves
seating           generations of a training: which seat plays which games, and for how long
blocks            equal pieces of a generation, or of the games of self-play
remote/           runs at URLs: objects in folders and buckets, and copies of them
inflight          games in progress, saved to be resumed
id_set            sets and ranges of game numbers
metrics           ``metrics.jsonl`` and TensorBoard
status_file       ``status.json``, the state of a run
run_log           ``log.jsonl``, what happened to a run
run_pins          what a run's games follow from besides its settings: ``pins.json``, ``inputs/``
"""
