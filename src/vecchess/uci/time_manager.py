"""The time for a move.

    left     what the clock says, less the overhead of this move
    reserve  0.5 s, or three quarters of what is left: kept for a machine that is late
    m        moves until the next time control, at most 40; 40 where it is not given, or not above 0

    optimum  (left - reserve) / m + 0.8 * (increment - overhead)
    most     three times that, but no more than half of what is left (all but the reserve where the
             next time control is one move away)

An increment below the overhead is not counted: the time around a search uses it up. A search ends
at the optimum; earlier, where no other move can overtake the best one in the remaining visits;
later, but before ``most``, while the best move is contested.

Decision 73.
"""

from dataclasses import dataclass
from math import inf

from vecchess.uci.parse_command import Go

RESERVE_S, RESERVE_SHARE = 0.5, 0.75
MOST_MOVES = 40
INCREMENT_SHARE = 0.8
PONDER_FACTOR = 1.25
"""More time for a move with ``Ponder``: half of the moves cost less."""
STRETCH = 3.0
CONTESTED = 0.5
"""Share of the first move's visits from which the second move counts as a rival."""
LEAST_S = 0.001


@dataclass(frozen=True)
class Budget:
    """Time for a move, in s. ``is_exact``: all of it is to be used."""

    optimum_s: float = inf
    most_s: float = inf
    is_exact: bool = False

    @classmethod
    def of(cls, go: Go, white: bool, overhead_s: float, ponder: bool = False) -> "Budget":
        """What ``go`` allows the side to move; no limit where it gives no time."""
        if go.movetime_ms is not None:
            movetime = max(go.movetime_ms / 1000, LEAST_S)
            exact = max(movetime - overhead_s, movetime / 2)
            return cls(exact, exact, is_exact=True)
        time_ms = go.time_ms[0 if white else 1]
        if time_ms is None:
            return cls()
        left = max(time_ms / 1000 - overhead_s, LEAST_S)
        reserve = min(RESERVE_S, RESERVE_SHARE * left)
        given = go.moves_to_go or 0
        moves = min(given, MOST_MOVES) if given > 0 else MOST_MOVES
        increment = go.increment_ms[0 if white else 1] / 1000
        optimum = (left - reserve) / moves + INCREMENT_SHARE * max(0.0, increment - overhead_s)
        most = min(STRETCH * optimum, left - reserve if moves == 1 else left / 2)
        optimum *= PONDER_FACTOR if ponder else 1.0
        return cls(min(optimum, most), most)


@dataclass(frozen=True)
class ClockState:
    """The state of a search that decides about its time: visits of the best and the second move,
    legal moves, simulations a second, and whether the second has the better mean value: it is then
    about to become the first.
    """

    first: int
    second: int
    moves: int
    speed: float
    is_overtaken: bool

    @property
    def is_contested(self) -> bool:
        """Whether more time may change the best move."""
        return self.is_overtaken and self.second >= CONTESTED * self.first


def is_enough(budget: Budget, state: ClockState, elapsed_s: float) -> bool:
    """Whether to move now, ``elapsed_s`` after the clock was started."""
    if elapsed_s >= budget.most_s:
        return True
    if budget.is_exact or budget.optimum_s == inf or state.first == 0:
        return False
    if state.moves == 1:
        return True
    horizon = budget.most_s if state.is_contested else budget.optimum_s
    to_come = state.speed * max(0.0, horizon - elapsed_s)
    return state.first - state.second > to_come
