"""Batches of samples from shards.

shard_block      the games of a shard in memory, checked, in few bytes
value_targets    what recorded games teach: results, values, TD(lambda) returns
replay_window    which shards are in memory; finds a position's game
batch_spec       which positions a batch consists of, and which rows each rank computes
samples          the layout of rows, how drawn plies are written into them, mirror images
batch_loader     threads that build batches ahead of the trainer, as torch tensors
"""
