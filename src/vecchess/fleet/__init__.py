"""A generation played by any number of machines, which come and go.

steps          what learner and players ask of the world: requests, and who carries them out
task           what a run gives out: a set of blocks, with the network and the games they go on with
player_steps   what a player does, without any input or output
learner_steps  what a learner does to gather the results of a task, likewise
block_player   plays blocks on the devices of this machine
contributor    a player, from its start to its end: ``vecchess contribute``
fleet_run      the executor of a learner, for a mailbox and for Ray
player_list    who is there, and how fast, for people
ray_driver     a program that keeps a player on each node of a Ray cluster, and the actors there
ray_players    that program, as the learner sees it

A block has one right answer, whoever computes it. So nothing is locked: what is done twice gives
the same bytes, a lost result is computed again, claims are hints, and no clock is believed.
"""
