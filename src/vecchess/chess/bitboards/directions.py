"""AlphaZero's 73 move planes as steps on the board, mover's view.

plane    0 .. 55   queen-like, 7 * direction + distance - 1      7 0 1
        56 .. 63   knight, clockwise from north-north-east       6 . 2   directions
        64 .. 72   underpromotion, 64 + 3 * piece + side         5 4 3

piece 0 knight, 1 bishop, 2 rook; side 0 north-west, 1 north, 2 north-east. A promotion to
a queen is a queen-like move, as in the paper (Silver et al. 2018, supplement).
"""

import numpy as np
from numpy.typing import NDArray

from vecchess.shapes import NUM_ACTIONS, NUM_MOVE_PLANES

NO_MOVE = 0
"""A move that is never legal (a1a1): the code of an action that leaves the board."""
NO_ACTION = 0xFFFF
UNDERPROMOTION_PLANE = 64
_QUEEN = ((0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1))
_KNIGHT = ((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2))


def plane_steps() -> NDArray[np.int64]:
    """``int64[73, 2]``: files to the right and ranks up that a move of each plane goes."""
    queen = [(dx * n, dy * n) for dx, dy in _QUEEN for n in range(1, 8)]
    under = [(side, 1) for _ in range(3) for side in (-1, 0, 1)]
    return np.array([*queen, *_KNIGHT, *under], dtype=np.int64)


def action_moves() -> NDArray[np.uint16]:
    """``uint16[4672]``: the move of each action, without a queen's promotion bits.

    ``NO_MOVE`` where the action leaves the board, or underpromotes elsewhere than on rank 7.
    """
    planes, squares = np.divmod(np.arange(NUM_ACTIONS), 64)
    steps = plane_steps()[planes]
    files, ranks = squares % 8 + steps[:, 0], squares // 8 + steps[:, 1]
    under = planes >= UNDERPROMOTION_PLANE
    fits = (files >= 0) & (files < 8) & (ranks >= 0) & (ranks < 8) & (~under | (ranks == 7))
    promotions = np.where(under, (planes - UNDERPROMOTION_PLANE) // 3 + 1, 0)
    moves = squares | (ranks * 8 + files) << 6 | promotions << 12
    return np.where(fits, moves, NO_MOVE).astype(np.uint16)


def move_actions() -> NDArray[np.uint16]:
    """``uint16[4096]``: the action of each ``move & 4095`` that is no underpromotion.

    ``NO_ACTION`` where no piece goes from the one square to the other.
    """
    actions = np.arange(UNDERPROMOTION_PLANE * 64)
    moves = action_moves()[actions]
    table = np.full(4096, NO_ACTION, dtype=np.uint16)
    table[moves[moves != NO_MOVE]] = actions[moves != NO_MOVE]
    return table


assert len(_QUEEN) * 7 + len(_KNIGHT) + 9 == NUM_MOVE_PLANES
