"""Players that know the rules and nothing else: the first that a network has to beat."""

import numpy as np
from numpy.typing import NDArray

from vecchess.arena.player_protocol import ImmediatePlayer, draw_below
from vecchess.chess.history import Pasts
from vecchess.chess.make import make
from vecchess.chess.movegen import count_moves, legal_moves
from vecchess.chess.piece_values import MATERIAL_WEIGHTS
from vecchess.chess.planes import encode_planes
from vecchess.shapes import MAX_MOVES

NUM_MEN = 12
"""Planes that show men: six kinds of either side."""
MATE = 1000
"""Worth more than all men."""
_BITS = np.array([bin(byte).count("1") for byte in range(256)], np.int32)


class RandomPlayer(ImmediatePlayer):
    """Plays any legal move, all alike."""

    def __init__(self, seed: int = 0) -> None:
        """``seed`` chooses its random numbers."""
        super().__init__("random")
        self.seed = seed

    def choose(
        self,
        positions: NDArray[np.uint64],
        keys: NDArray[np.uint64],
        past: Pasts,
        games: NDArray[np.int64],
        plies: NDArray[np.int64],
    ) -> NDArray[np.uint16]:
        """See ``ImmediatePlayer``."""
        moves, counts = legal_moves(positions)
        return moves[np.arange(len(moves)), draw_below(self.seed, games, plies, counts)]


class GreedyPlayer(ImmediatePlayer):
    """Mates if it can; else plays what leaves it the most material, without a look at the reply.

    Among moves that are alike in that, any.
    """

    def __init__(self, seed: int = 0) -> None:
        """``seed`` chooses its random numbers."""
        super().__init__("greedy")
        self.seed = seed

    def choose(
        self,
        positions: NDArray[np.uint64],
        keys: NDArray[np.uint64],
        past: Pasts,
        games: NDArray[np.int64],
        plies: NDArray[np.int64],
    ) -> NDArray[np.uint16]:
        """See ``ImmediatePlayer``."""
        moves, counts = legal_moves(positions)
        is_legal = np.arange(MAX_MOVES) < counts[:, None]
        children = make(np.repeat(positions, counts, axis=0), moves[is_legal])
        worth = np.full(moves.shape, -MATE, np.int32)
        worth[is_legal] = -prospects(children)
        choice = draw_best(worth, self.seed, games, plies)
        return np.take_along_axis(moves, choice[:, None], axis=1)[:, 0]


def draw_best(
    worth: NDArray[np.int32], seed: int, games: NDArray[np.int64], plies: NDArray[np.int64]
) -> NDArray[np.int64]:
    """``int32[K, L] -> int64[K]``: where a row is highest, drawn by the counter of its game and
    ply if in more than one place."""
    is_best = worth == worth.max(axis=1, keepdims=True)
    wanted = draw_below(seed, games, plies, is_best.sum(axis=1, dtype=np.int32))
    choice: NDArray[np.int64] = (is_best.cumsum(axis=1) > wanted[:, None]).argmax(axis=1)
    return choice


def prospects(positions: NDArray[np.uint64]) -> NDArray[np.int32]:
    """``uint64[K, 8] -> int32[K]``: the mover's balance of men in pawns; -1000 where it is mate."""
    planes = np.ascontiguousarray(encode_planes(positions)[:, :NUM_MEN])
    men = _BITS[planes.view(np.uint8)].reshape(len(planes), NUM_MEN, 8).sum(axis=2)
    counts, checks = count_moves(positions)
    balance = (men @ MATERIAL_WEIGHTS[:NUM_MEN]).astype(np.int32)
    return np.where((counts == 0) & checks, np.int32(-MATE), balance)
