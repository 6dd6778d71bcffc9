"""A position: eight ``uint64`` words, one cache line, always seen by the side to move.

    word 0  the mover's pieces       bit = square, a1 = 0, b1 = 1 ... h8 = 63 as the mover
         1  pawns       (of both)    sees the board: the mover always plays up it
         2  knights     (of both)
         3  bishops and queens           8 | 56 57 58 59 60 61 62 63
         4  rooks and queens             7 | 48 ...
         5  kings                            ...
         6  castling rooks, ep           2 |  8  9 ...
         7  counters                     1 |  0  1  2  3  4  5  6  7
                                             a  b  c  d  e  f  g  h

    word 6, ranks 1 and 8: the rooks that may still castle (so Chess960 needs nothing more)
            rank 6: the square behind a pawn that just went two steps, only if
                    capturing it en passant is legal (decision 3)
    word 7  63           48 47            16 15             0
           | colour (1 bit) | ply of the game | halfmove clock |   not swapped

After a move every word but the last is byte-swapped (ranks turn over) and the mover's pieces are
exchanged for the other's, so there is one move generator and no colour anywhere in it. Occupied
squares are pawns | knights | bishops and queens | rooks and queens | kings.
The ply counts from the game's first move as FEN does: 2 * (fullmove - 1) + colour.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards.bits import load, popcount, store
from vecchess.chess.bitboards.hash import hash_words
from vecchess.jit import inline, kernel
from vecchess.shapes import POSITION_WORDS

OWN, PAWNS, KNIGHTS, DIAGONAL, ORTHOGONAL, KINGS, CASTLING, COUNTERS = range(8)
POSITION_BYTES = 8 * POSITION_WORDS
PLY_SHIFT, COLOUR_SHIFT = 16, 63
CLOCK_MASK = 0xFFFF
RANK_1, RANK_3, RANK_6, RANK_7, RANK_8 = (np.uint64(0xFF << 8 * r) for r in (0, 2, 5, 6, 7))
FILE_A, FILE_H = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)

Positions = NDArray[np.uint64]
"""``uint64[G, 8]``"""

PIECE_VALUES = (1, 3, 3, 5, 9, 0)
"""Worth in pawns of pawn, knight, bishop, rook, queen, king."""
_U = np.uint64


@inline
def copy_position(source: Any, target: Any) -> None:
    """Copy a position from one address to another."""
    for word in range(POSITION_WORDS):
        store(target, word, load(source, word))


@inline
def pieces_of(position: Any) -> Any:
    """(own, pawns, knights, bishops and queens, rooks and queens, kings): words 0 to 5."""
    return (
        load(position, OWN),
        load(position, PAWNS),
        load(position, KNIGHTS),
        load(position, DIAGONAL),
        load(position, ORTHOGONAL),
        load(position, KINGS),
    )


@inline
def clock_of(position: Any) -> Any:
    """Plies since the last capture or pawn move, ``int64``."""
    return np.int64(load(position, COUNTERS) & _U(CLOCK_MASK))


@inline
def ply_of(position: Any) -> Any:
    """Plies since the game began, ``int64``."""
    return np.int64((load(position, COUNTERS) >> _U(PLY_SHIFT)) & _U(0xFFFFFFFF))


@inline
def colour_of(position: Any) -> Any:
    """0 when White is to move, 1 when Black is, ``uint64``."""
    return load(position, COUNTERS) >> _U(COLOUR_SHIFT)


@inline
def board_hash(position: Any) -> Any:
    """(key, check) of words 0 to 6, see ``hash_words``: equal for a position and its mirror image
    with colours exchanged."""
    return hash_words(position, _U(0))


@inline
def position_key(position: Any) -> Any:
    """Key of the position for repetition: pieces, side to move, castling, en passant."""
    return hash_words(position, _U(1 << COLOUR_SHIFT))[0]


@kernel
def _keys(positions, num_positions, keys):  # type: ignore[no-untyped-def]
    for index in range(num_positions):
        keys[index] = position_key(positions + index * POSITION_BYTES)


def position_keys(positions: Positions) -> NDArray[np.uint64]:
    """Keys of positions, ``uint64[G, 8] -> uint64[G]``.

    Two keys are equal when, and but for a chance of 2**-64 only when, pieces, side to move,
    castling rights and legal en-passant captures are.
    """
    positions = checked(positions)
    keys = np.empty(len(positions), dtype=np.uint64)
    _keys(positions.ctypes.data, len(positions), keys)
    return keys


def checked(positions: Positions) -> Positions:
    """The positions as a contiguous ``uint64[G, 8]``; ValueError for any other shape or type."""
    if positions.dtype != np.uint64 or positions.shape[1:] != (POSITION_WORDS,):
        kind = f"{positions.dtype}{list(positions.shape)}"
        raise ValueError(f"positions must be uint64[G, {POSITION_WORDS}], not {kind}")
    return np.ascontiguousarray(positions)


@inline
def balance_of(position: Any) -> Any:
    """``int64``: the value of the mover's pieces less that of the other side's, in pawns."""
    pawn, knight, bishop, rook, queen = PIECE_VALUES[:5]
    own, pawns, knights, diagonal, orthogonal, _ = pieces_of(position)
    balance = pawn * _surplus(pawns, own) + knight * _surplus(knights, own)
    balance += bishop * _surplus(diagonal & ~orthogonal, own)
    balance += rook * _surplus(orthogonal & ~diagonal, own)
    return balance + queen * _surplus(diagonal & orthogonal, own)


@inline
def _surplus(pieces: Any, own: Any) -> Any:
    return np.int64(popcount(pieces & own)) - np.int64(popcount(pieces & ~own))
