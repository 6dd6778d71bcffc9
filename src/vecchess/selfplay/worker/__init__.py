"""The worker process: plays on one device what the parent assigns.

worker          body of the process
protocol        messages between parent and worker, and the pulse
setup           from a configuration to a server
networks        the networks of a run: found, made, kept, published
precompile      compiles all kernels before the first worker starts
memory_plan     memory that a run may need, and a share that fits into it
slot_tuning     number of slots: measured, remembered
random_requests positions of random games, to try a device with
shard_writer    writes finished games as shards, in a thread
inflight_saver  saves games in progress at intervals
live_games      a few games in progress for watch and dashboard
"""
