"""Ranks of a training on several devices and machines.

environment      which rank this process is: from flags, torchrun or Slurm
launch           starts the ranks of this machine
rank_store       opens the TCPStore at which ranks meet
control          heart-beats, small values and errors over the store
collectives      torch.distributed: its start, its end, a collective while ranks are watched
ranks            ``Ranks``: what the training calls
shared_settings  settings that a machine gets from rank 0
"""
