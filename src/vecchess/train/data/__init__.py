"""Batches of samples from shards.

shard_block      the games of a shard in memory, checked, in few bytes
sample_rules     what recorded games teach: results, values that count the men
returns          TD(lambda) returns of each position
replay_window    which shards are in memory; finds a position's game
batch_spec       which positions a batch consists of, drawn by seed and step
collate          replays games up to the drawn plies and writes rows of samples
augment          mirror images
samples          the layout of a batch
batch_loader     threads that build batches ahead of the trainer, as torch tensors
"""
