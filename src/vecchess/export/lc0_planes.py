"""The 104 planes of a V6 record: a position and the seven before it, in its mover's view."""

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.position import (
    CASTLING,
    DIAGONAL,
    KINGS,
    KNIGHTS,
    ORTHOGONAL,
    OWN,
    PAWNS,
    RANK_6,
    Positions,
    position_keys,
)  # fmt: skip
from vecchess.export.lc0_format import NUM_POSITIONS, PLANES_PER_POSITION

_ALL = np.uint64(2**64 - 1)
_MEN = 12
_OWN_PAWNS, _THEIR_PAWNS = 0, 6
_ONE_RANK = np.uint64(8)
_REVERSED = np.array([int(f"{byte:08b}"[::-1], 2) for byte in range(256)], np.uint8)


def game_planes(positions: Positions) -> NDArray[np.uint64]:
    """Planes of all positions of a game from its start: ``uint64[plies, 8] -> uint64[plies, 104]``.

    Positions before the start are empty, as in lc0's own training games (``HistoryFill`` "no"),
    but for a pawn that may be taken en passant: it stood on its first square.
    """
    num_plies = len(positions)
    men, repeated = _men(positions), _repeated(positions)
    views = men, _flipped(men)
    planes = np.zeros((num_plies, NUM_POSITIONS, PLANES_PER_POSITION), np.uint64)
    for back in range(min(NUM_POSITIONS, num_plies)):
        planes[back:, back, :_MEN] = views[back % 2][: num_plies - back]
        planes[back:, back, _MEN] = repeated[: num_plies - back]
    before = _before_start(positions[:1], men[:1])
    if before is not None:
        views = before, _flipped(before)
        for ply in range(min(NUM_POSITIONS - 1, num_plies)):
            planes[ply, ply + 1, :_MEN] = views[ply % 2][0]
    return reversed_in_bytes(planes.reshape(num_plies, -1))


def reversed_in_bytes(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """``uint64[...]`` with the bits of every byte in the other order: lc0 stores files from the
    left."""
    flipped: NDArray[np.uint64] = _REVERSED[np.ascontiguousarray(words).view(np.uint8)].view("u8")
    return flipped


def _men(positions: Positions) -> NDArray[np.uint64]:
    """``uint64[G, 8] -> uint64[G, 12]``: own men by kind, then theirs."""
    diagonal, orthogonal = positions[:, DIAGONAL], positions[:, ORTHOGONAL]
    queens = diagonal & orthogonal
    kinds = np.stack(
        [
            positions[:, PAWNS],
            positions[:, KNIGHTS],
            diagonal ^ queens,
            orthogonal ^ queens,
            queens,
            positions[:, KINGS],
        ],
        axis=1,
    )
    own = positions[:, OWN, None]
    return np.concatenate([kinds & own, kinds & ~own], axis=1)


def _flipped(men: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The men from the other side's view."""
    return np.roll(men, _MEN // 2, axis=1).byteswap()


def _repeated(positions: Positions) -> NDArray[np.uint64]:
    """uint64[plies]: all ones where the position occurred before in the game."""
    _, first, which = np.unique(position_keys(positions), return_index=True, return_inverse=True)
    return np.where(first[which] < np.arange(len(positions)), _ALL, np.uint64(0))


def _before_start(start: Positions, men: NDArray[np.uint64]) -> NDArray[np.uint64] | None:
    """``uint64[1, 12]``: the start with the pawn that may be taken en passant on its first square;
    None where there is no such pawn. In the view of the side to move at the start."""
    passed = start[:, CASTLING] & RANK_6
    if not passed.any():
        return None
    before = men.copy()
    before[:, _THEIR_PAWNS] ^= passed << _ONE_RANK | passed >> _ONE_RANK
    return before
