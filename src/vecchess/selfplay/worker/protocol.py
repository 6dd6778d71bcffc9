"""What parent and worker send each other: JSON messages of a few hundred bytes, and a pulse.

    worker -> parent   stats     counters, every half second
                       note      a line for people
                       gpu       UUID of the GPU it works on
                       share     slots and games that suit its GPU, where it was given others
                       shard     a shard was written: its manifest entry
                       failed    the worker ends: its error, with the traceback
    parent -> worker   net       network file to play with from now on
                       games     ranges of ids of games, or segments of a training, to play, and
                                 files with their beginnings
                       rest      nothing to play until further notice
                       stop      start no game, write finished games, save the others, end

Positions, policies and games never go through a pipe.
"""

STAGES = ("starting", "loading the network", "playing", "resting", "writing games", "done")
"""What a worker is doing; the index is written into the pulse it shares with the parent."""
PULSE_STAGE, PULSE_BEATS, PULSE_COMPILES = range(3)
"""Places of the pulse, int64[3]: stage, turns of the central loop so far, and how often it began or
ended to compile kernels so far: an odd number while it compiles."""
COMPILING = "compiling"
"""The stage, as people see it, of a worker that compiles."""
