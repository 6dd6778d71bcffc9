"""Several entrants timed in turns, so that a disturbance of the machine affects all of them.

A round gives every entrant one lap. Speeds are medians over rounds, ratios are taken within a
round and then their median, so a machine that slows down during the timing changes neither much.

Decision 122.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time
from typing import NamedTuple, Protocol

LEAST_ROUNDS = 5
LAP_S = 0.2
"""Length of a lap: long against the effects of the entrant before, short for many rounds."""


class Count(NamedTuple):
    """Work done: positions answered, and the time steps these answers took together."""

    positions: int
    steps: int


class Entrant(Protocol):
    """Answers positions without end."""

    @property
    def name(self) -> str:
        """What it is called in tables."""
        ...

    def turn(self) -> Count:
        """Do one unit of work that favours no entrant: a batch, a few steps."""
        ...


@dataclass(frozen=True)
class Lap:
    """Work and time of one entrant in one round."""

    positions: int
    steps: int
    spent_s: float
    cpu_s: float
    """Time on processors, all threads together."""

    @property
    def speed(self) -> float:
        """Positions/s."""
        return self.positions / self.spent_s


Laps = dict[str, list[Lap]]
"""Name -> a lap for each round."""


def time_in_turns(entrants: Sequence[Entrant], seconds: float) -> Laps:
    """Time rounds for about ``seconds``, at least five; a lap has at least one turn."""
    laps: Laps = {entrant.name: [] for entrant in entrants}
    lap_s = min(LAP_S, seconds / LEAST_ROUNDS / len(entrants))
    rounds, start = 0, perf_counter()
    while rounds < LEAST_ROUNDS or perf_counter() - start < seconds:
        for entrant in entrants:
            laps[entrant.name].append(_lap(entrant, lap_s))
        rounds += 1
    return laps


def _lap(entrant: Entrant, seconds: float) -> Lap:
    positions, steps = 0, 0
    start, cpu_start = perf_counter(), process_time()
    while not positions or perf_counter() - start < seconds:
        done = entrant.turn()
        positions += done.positions
        steps += done.steps
    return Lap(positions, steps, perf_counter() - start, process_time() - cpu_start)


def speed(laps: Sequence[Lap]) -> float:
    """Positions/s, median over rounds."""
    return median(lap.speed for lap in laps)


def mean_steps(laps: Sequence[Lap]) -> float:
    """Mean time steps of an answer."""
    return sum(lap.steps for lap in laps) / sum(lap.positions for lap in laps)


def ratio(laps: Mapping[str, Sequence[Lap]], one: str, other: str) -> float:
    """How many times faster ``one`` is than ``other``, median over rounds."""
    pairs = zip(laps[one], laps[other], strict=True)
    return median(a.speed / b.speed for a, b in pairs)


def core_share(laps: Laps) -> float:
    """Cores used: well below the number of threads where other processes use the machine.

    For work that keeps its threads busy; waiting for a GPU does not count.
    """
    every = [lap for row in laps.values() for lap in row]
    return sum(lap.cpu_s for lap in every) / sum(lap.spent_s for lap in every)
