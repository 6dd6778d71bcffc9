"""The sections of the GPU report in the order in which they run, and how long each may take.

A section is the function of its name in a module of this folder: ``(Setting, ResultWriter)``. A
machine that kills a command after ten minutes gets them in three commands, ``--seconds 580`` each.
"""

from typing import NamedTuple


class Section(NamedTuple):
    """Where a section is, and its time limit."""

    module: str
    """Of ``bench.gpu``."""
    limit_s: int
    """About twice what is expected, imports and compiling on a cold disk included."""


SECTIONS = {
    "smoke": Section("smoke", 90),
    "compilation": Section("compilation", 120),
    "equality": Section("equality", 100),
    "ceilings": Section("speeds", 30),
    "steps": Section("speeds", 70),
    "engine": Section("speeds", 45),
    "profile": Section("selfplay", 60),
    "throughput": Section("selfplay", 60),
    "counters": Section("watched", 90),
    "sanitizer": Section("watched", 150),
    "search": Section("selfplay", 75),
    "sharing": Section("sharing", 60),
    "training": Section("training", 60),
    "training_run": Section("training_run", 120),
    "inference": Section("libraries", 150),
    "peers": Section("libraries", 300),
}
FIRST = "smoke"
"""Where this one fails, the others are not begun."""
QUICK_S = 240
"""Time limit of a section that is to be quick, on any processor."""
