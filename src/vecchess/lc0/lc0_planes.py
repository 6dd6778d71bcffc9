"""lc0's 112 input planes: eight positions in the newest one's mover's view, and what else counts.

    plane   0 .. 103   eight positions of 13 planes, the newest first: own pawns, knights, bishops,
                       rooks, queens, king, theirs, and all ones where it had occurred before
          104 .. 107   CLASSICAL: all ones for the right to castle: own queen-side, own king-side,
                       theirs the same; CASTLING_PLANE: the rooks of both sides that may castle
                       queen-side, king-side, and two that are empty
          108          all ones where Black moves
          109          the halfmove clock, everywhere
          110          empty
          111          all ones

(``src/neural/encoder.cc`` of LeelaChessZero/lc0.) Where a game has no such position, lc0 repeats
its first one as it plays (``HistoryFill`` "fen_only"), unless that is the usual start; its own
training games leave these planes empty.
"""

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.chess960 import start_positions
from vecchess.chess.history import REPEATED_SHIFT
from vecchess.chess.position import (
    CASTLING,
    CLOCK_MASK,
    COLOUR_SHIFT,
    COUNTERS,
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
from vecchess.shapes import NUM_SQUARES

NUM_INPUTS = 112
NUM_POSITIONS = 8
PLANES_PER_POSITION = 13
CLASSICAL = 1
"""Input format with castling rights as flags."""
CASTLING_PLANE = 2
"""Input format with castling rights as rooks: the one for Chess960. Nothing else differs."""

_CASTLING_PLANES, _BLACK_PLANE, _CLOCK_PLANE, _EDGE_PLANE = 104, 108, 109, 111
_ALL = np.uint64(2**64 - 1)
_MEN = 12
_OWN_PAWNS, _THEIR_PAWNS = 0, 6
_ONE_RANK, _LAST_RANK = np.uint64(8), np.uint64(56)
_REVERSED = np.array([int(f"{byte:08b}"[::-1], 2) for byte in range(256)], np.uint8)


def input_planes(boards: NDArray[np.uint64], input_format: int) -> NDArray[np.float32]:
    """``uint64[B, 8, 8] -> float32[B, 112, 64]``: what a network of ``input_format`` sees.

    boards: ``chess.planes.POSITION_INPUTS``. Squares from a1, b1 as the mover sees the board.
    """
    now = boards[:, 0]
    words = np.zeros((len(boards), NUM_INPUTS), np.uint64)
    men = _with_first_repeated(boards)
    words[:, :_CASTLING_PLANES] = men.reshape(len(boards), _CASTLING_PLANES)
    rooks = castling_rooks(now).astype(np.uint64)
    if input_format == CASTLING_PLANE:
        both = rooks[:, :2] | rooks[:, 2:] << _LAST_RANK
        words[:, _CASTLING_PLANES : _CASTLING_PLANES + 2] = both
    else:
        words[:, _CASTLING_PLANES:_BLACK_PLANE] = np.where(rooks > 0, _ALL, np.uint64(0))
    words[:, _BLACK_PLANE] = np.where(now[:, COUNTERS] >> np.uint64(COLOUR_SHIFT), _ALL, 0)
    words[:, _EDGE_PLANE] = _ALL
    bits = np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")
    planes = bits.reshape(len(boards), NUM_INPUTS, NUM_SQUARES).astype(np.float32)
    planes[:, _CLOCK_PLANE] = (now[:, COUNTERS] & np.uint64(CLOCK_MASK))[:, None]
    return planes


def game_planes(positions: Positions) -> NDArray[np.uint64]:
    """Planes of the men for all positions of a game: ``uint64[plies, 8] -> uint64[plies, 104]``.

    As V6 records have them, the bits of each byte in the other order. Positions before the start
    are empty, as in lc0's own training games (``HistoryFill`` "no"), but for a pawn that may be
    taken en passant: it stood on its first square.
    """
    num_plies = len(positions)
    men, repeated = _men(positions), _repeated(positions)
    views = men, _flipped(men)
    planes = np.zeros((num_plies, NUM_POSITIONS, PLANES_PER_POSITION), np.uint64)
    for back in range(min(NUM_POSITIONS, num_plies)):
        planes[back:, back, :_MEN] = views[back % 2][: num_plies - back]
        planes[back:, back, _MEN] = repeated[: num_plies - back]
    if (positions[:1, CASTLING] & RANK_6).any():
        before = _before(positions[:1])
        views = before, _flipped(before)
        for ply in range(min(NUM_POSITIONS - 1, num_plies)):
            planes[ply, ply + 1, :_MEN] = views[ply % 2][0]
    return reversed_in_bytes(planes.reshape(num_plies, -1))


def castling_rooks(positions: Positions) -> NDArray[np.uint8]:
    """``uint64[B, 8] -> uint8[B, 4]``: files, a lowest bit, of the rooks that may castle.

    Own queen-side and king-side, then theirs.
    """
    found = []
    for own, first_bit in ((positions[:, OWN], 0), (~positions[:, OWN], 56)):
        rooks = (positions[:, CASTLING] >> np.uint64(first_bit)).astype(np.uint8)
        kings = positions[:, KINGS] & own
        left = (kings >> np.uint64(first_bit)).astype(np.uint8) - np.uint8(1)
        found += [rooks & left, rooks & ~left]
    return np.stack(found, axis=1)


def reversed_in_bytes(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """``uint64[...]`` with the bits of every byte in the other order: lc0 stores files from the
    left."""
    flipped: NDArray[np.uint64] = _REVERSED[np.ascontiguousarray(words).view(np.uint8)].view("u8")
    return flipped


def _with_first_repeated(boards: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """``uint64[B, 8, 8] -> uint64[B, 8, 13]``: the men, and the game's first position again where
    there is none, with a pawn that may be taken en passant on its first square."""
    planes = np.zeros((len(boards), NUM_POSITIONS, PLANES_PER_POSITION), np.uint64)
    for back in range(NUM_POSITIONS):
        men = _men(boards[:, back])
        planes[:, back, :_MEN] = _flipped(men) if back % 2 else men
    is_repeated = boards[..., COUNTERS] >> np.uint64(REPEATED_SHIFT) & np.uint64(1)
    planes[..., _MEN] = np.where(is_repeated, _ALL, np.uint64(0))
    is_there = boards[..., KINGS] != 0
    oldest = is_there.sum(axis=1) - 1
    first = boards[np.arange(len(boards)), oldest]
    before = _before(first)
    before = np.where((oldest % 2 == 1)[:, None], _flipped(before), before)
    rows, missing = np.nonzero(~is_there & ~_is_usual_start(first)[:, None])
    planes[rows, missing, :_MEN] = before[rows]
    return planes


def _men(positions: NDArray[np.uint64]) -> NDArray[np.uint64]:
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
    """``uint64[G, 12]``: the men from the other side's view."""
    return np.roll(men, _MEN // 2, axis=1).byteswap()


def _repeated(positions: Positions) -> NDArray[np.uint64]:
    """uint64[plies]: all ones where the position occurred before in the game."""
    _, first, which = np.unique(position_keys(positions), return_index=True, return_inverse=True)
    return np.where(first[which] < np.arange(len(positions)), _ALL, np.uint64(0))


def _before(positions: Positions) -> NDArray[np.uint64]:
    """``uint64[G, 8] -> uint64[G, 12]``: the men, with a pawn that may be taken en passant on its
    first square. In the view of the side to move."""
    men = _men(positions)
    passed = positions[:, CASTLING] & RANK_6
    men[:, _THEIR_PAWNS] ^= passed << _ONE_RANK | passed >> _ONE_RANK
    return men


def _is_usual_start(positions: Positions) -> NDArray[np.bool_]:
    """bool[G]: White is to move in the usual start, whatever the number of the move."""
    same = positions[:, :COUNTERS] == start_positions(1)[:, :COUNTERS]
    found: NDArray[np.bool_] = same.all(axis=1)
    found &= positions[:, COUNTERS] >> np.uint64(COLOUR_SHIFT) == 0
    return found
