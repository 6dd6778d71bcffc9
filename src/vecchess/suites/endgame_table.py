"""Moves to mate with two or three men against a bare king, by retrograde analysis.

The strong side is White. A set of squares of the bare king is a ``uint64``, bit = square; there is
one for each placement of the other men: ``uint64[64, 64]`` for the king's square and that of a
queen, rook or pawn, ``uint64[64, 64, 64]`` for two bishops, the first on dark squares, the second
on light ones. A move of either side in all positions is then a few operations on whole arrays.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import chess
import numpy as np
from numpy.typing import NDArray

Sets = NDArray[np.uint64]
"""``uint64[64, ...]``: squares of the bare king, by the squares of White's men."""
NEVER = 255
"""Moves to mate where there is no mate."""
HOMES = {
    "Q": (chess.BB_ALL,),
    "R": (chess.BB_ALL,),
    "P": (chess.BB_ALL & ~chess.BB_BACKRANKS,),
    "BB": (chess.BB_DARK_SQUARES, chess.BB_LIGHT_SQUARES),
}
"""White's men beside the king -> the squares where each may stand."""
PROMOTIONS = "QR"
_BITS = np.uint64(1) << np.arange(64, dtype=np.uint64)
_NOT_A, _NOT_H = (
    np.uint64(~chess.BB_FILE_A & chess.BB_ALL),
    np.uint64(~chess.BB_FILE_H & chess.BB_ALL),
)
_ONE, _EIGHT = np.uint64(1), np.uint64(8)


@dataclass(frozen=True)
class EndgameTable:
    """All positions of some men; lost[n]: Black to move, mated within n moves; won[n]: White to
    move, mates within n + 1."""

    won: list[Sets]
    lost: list[Sets]

    def moves_to_mate(self, men: tuple[NDArray[np.int64], ...]) -> NDArray[np.int64]:
        """int64[K] moves until White, to move, mates; NEVER where it cannot, or the position is
        illegal. men: int64[K] squares of the king, of White's other men, of the bare king."""
        *white, bare = men
        within = [sets[tuple(white)] >> bare.astype(np.uint64) & _ONE for sets in self.won]
        count = np.sum(within, axis=0, dtype=np.int64)
        return np.where(count > 0, len(self.won) + 1 - count, NEVER)


@cache
def solve(men: str) -> EndgameTable:
    """The table of White's ``men`` beside its king, one of ``HOMES``: half a second for "BB"."""
    board = _Board(men)
    higher = [solve(kind).lost for kind in PROMOTIONS] if men == "P" else []
    won: list[Sets] = []
    lost = [board.black_loses(np.zeros_like(board.legal))]
    while True:
        new = board.white_wins(lost[-1])
        for sets in higher:
            new |= board.promotes(sets[min(len(won), len(sets) - 1)])
        new &= board.legal & ~board.attacked
        is_settled = len(won) > max(map(len, higher), default=0)
        if won and is_settled and np.array_equal(new, won[-1]):
            return EndgameTable(won, lost)
        won.append(new)
        lost.append(board.black_loses(new))


class _Step(NamedTuple):
    """A man's way from a square to another, if nothing stands ``between``."""

    axis: int
    start: int
    goal: int
    between: int


class _Board:
    """Moves and attacks of White's men in all placements at once."""

    def __init__(self, men: str) -> None:
        self.men = men
        self.num_axes = 1 + len(men)
        self.steps = [step for axis in range(self.num_axes) for step in _steps(men, axis)]
        occupied: Sets = np.bitwise_or.reduce(
            np.broadcast_arrays(*(self._along(axis, _BITS) for axis in range(self.num_axes)))
        )
        apart = np.bitwise_count(occupied) == self.num_axes
        for axis, home in enumerate(HOMES[men], 1):
            apart &= self._along(axis, _BITS & np.uint64(home)) > 0
        zone = self._along(0, np.array(chess.BB_KING_ATTACKS, np.uint64))
        self.legal: Sets = np.where(apart, ~(occupied | zone), np.uint64(0))
        """Where the bare king may stand, in check or not."""
        self.attacked = self._attacked() | zone
        """Squares it may not enter: it does not shield those behind it."""

    def white_wins(self, lost: Sets) -> Sets:
        """Where a move leads to ``lost``; the bare king must not be in check there."""
        found = np.zeros_like(lost)
        for step in self.steps:
            child = self._at(lost, step.axis, step.goal)
            open_squares = self._clear(step) & ~np.uint64(step.between)
            self._at(found, step.axis, step.start)[...] |= child & open_squares
        return found

    def promotes(self, lost: Sets) -> Sets:
        """Where a pawn's promotion leads to ``lost``, of king and new man."""
        found = np.zeros_like(lost)
        found[:, 48:56] = lost[:, 56:64]
        return found

    def black_loses(self, won: Sets) -> Sets:
        """Where all of the bare king's moves lead to ``won``, or it is mate; no stalemates."""
        free = ~self.attacked
        can_move, escapes = _neighbours(free), _neighbours(free & ~won)
        return self.legal & ~escapes & (self.attacked | can_move)

    def _attacked(self) -> Sets:
        found = np.zeros_like(self.legal)
        for axis, kind in enumerate(self.men, 1):
            if kind == "P":
                found |= self._along(axis, np.array(chess.BB_PAWN_ATTACKS[chess.WHITE], np.uint64))
        for step in self.steps:
            if step.axis and self.men[step.axis - 1] != "P":
                seen = self._clear(step) & _BITS[step.goal]
                self._at(found, step.axis, step.start)[...] |= seen
        return found

    def _clear(self, step: _Step) -> Sets:
        """All ones where no other white man stands between; it broadcasts over their axes."""
        clear = np.where(_BITS & np.uint64(step.between), np.uint64(0), ~np.uint64(0))
        axes = range(self.num_axes - 1)
        found: Sets = np.bitwise_and.reduce(
            np.broadcast_arrays(*(_reshaped(clear, axis, len(axes)) for axis in axes))
        )
        return found

    def _along(self, axis: int, values: NDArray[np.uint64]) -> Sets:
        return _reshaped(values, axis, self.num_axes)

    def _at(self, sets: Sets, axis: int, square: int) -> Sets:
        """The part with the man of ``axis`` on ``square``; a view."""
        return sets[(slice(None),) * axis + (square,)]


def _steps(men: str, axis: int) -> Iterator[_Step]:
    """The ways of one man on an empty board."""
    kind = "K" if axis == 0 else men[axis - 1]
    home = chess.BB_ALL if axis == 0 else HOMES[men][axis - 1]
    for start in chess.scan_forward(home):
        for goal in chess.scan_forward(_goals(kind, start)):
            yield _Step(axis, start, goal, chess.between(start, goal))


def _goals(kind: str, start: int) -> int:
    """The squares a man may go to on an empty board; a pawn's without promotion."""
    lines = chess.BB_RANK_ATTACKS[start][0] | chess.BB_FILE_ATTACKS[start][0]
    if kind == "P":
        ahead = (start + 8, start + 16)[: 1 + (chess.square_rank(start) == 1)]
        return sum(1 << square for square in ahead if square < 56)
    diagonals = chess.BB_DIAG_ATTACKS[start][0]
    king = chess.BB_KING_ATTACKS[start]
    return {"K": king, "R": lines, "B": diagonals, "Q": lines | diagonals}[kind]


def _neighbours(sets: Sets) -> Sets:
    """The squares a king's move away."""
    sides: Sets = (sets & _NOT_A) >> _ONE | (sets & _NOT_H) << _ONE
    rows = sets | sides
    found: Sets = sides | rows << _EIGHT | rows >> _EIGHT
    return found


def _reshaped(values: NDArray[np.uint64], axis: int, num_axes: int) -> NDArray[np.uint64]:
    """uint64[64] along one of several axes, to broadcast."""
    return np.reshape(values, [64 if other == axis else 1 for other in range(num_axes)])
