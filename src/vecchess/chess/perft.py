"""Perft: the number of leaves of the tree of legal moves, the test and yardstick of movegen."""

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards import tables as lookup
from vecchess.chess.bitboards.bits import load16
from vecchess.chess.fen import from_fens
from vecchess.chess.make import make_move_into
from vecchess.chess.movegen import MOVE_BUFFER, MOVES_BYTES, generate_moves
from vecchess.chess.position import POSITION_BYTES, Positions, checked
from vecchess.jit import kernel
from vecchess.shapes import POSITION_WORDS


@kernel
def _perft(tables, stack, moves, cursors, depth, bulk):  # type: ignore[no-untyped-def]
    """Walk the tree with a stack of positions and move lists, one of each a level."""
    nodes, level, last = 0, 0, depth - 1
    cursors[0] = generate_moves(tables, stack, moves) & 0xFFFF
    if depth == 1:
        return cursors[0]
    while level >= 0:
        if cursors[level] == 0:
            level -= 1
            continue
        cursors[level] -= 1
        here = stack + level * POSITION_BYTES
        move = load16(moves + level * MOVES_BYTES, cursors[level])
        make_move_into(tables, here, here + POSITION_BYTES, move)
        level += 1
        if level == depth:
            nodes += 1
            level -= 1
            continue
        count = generate_moves(tables, here + POSITION_BYTES, moves + level * MOVES_BYTES) & 0xFFFF
        if bulk and level == last:
            nodes += count
            level -= 1
        else:
            cursors[level] = count
    return nodes


def perft(position: str | Positions, depth: int, bulk: bool = True) -> int:
    """Leaves of the tree of legal moves from a FEN or one position (``uint64[8]``).

    Move lists are written at every node. With ``bulk`` the moves of the last level are counted,
    not made, as other programs do. Raises ConfigError for a bad FEN, ValueError for depth < 0.
    """
    if depth < 0:
        raise ValueError(f"perft depth must not be negative, not {depth}")
    row = from_fens([position])[0] if isinstance(position, str) else np.asarray(position)
    root = checked(row[None])[0]
    if depth == 0:
        return 1
    stack = np.zeros((depth + 1, POSITION_WORDS), dtype=np.uint64)
    stack[0] = root
    moves = np.zeros((depth + 1, MOVE_BUFFER), dtype=np.uint16)
    cursors: NDArray[np.int64] = np.zeros(depth + 1, dtype=np.int64)
    return int(_perft(lookup.address(), stack.ctypes.data, moves.ctypes.data, cursors, depth, bulk))
