"""Players without a network: any move, the greediest move, and material a few plies ahead."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vecchess.arena.player_protocol import ImmediatePlayer, MoveRequests, draw_below
from vecchess.chess.make import make
from vecchess.chess.movegen import count_moves, legal_moves
from vecchess.chess.planes import MATERIAL_WEIGHTS, encode_planes
from vecchess.chess.position import Positions
from vecchess.errors import ConfigError
from vecchess.safe_parse import is_count
from vecchess.search.kernels.alpha_beta import minimax
from vecchess.shapes import MAX_MOVES

MATE = 1000
"""Worth more than all pieces."""
MINIMAX = "minimax:"
MAX_DEPTH = 6
"""Plies. In openings a move takes 2 ms at 4, 75 ms at 6."""


class RandomPlayer(ImmediatePlayer):
    """Plays a uniformly random legal move."""

    def __init__(self, seed: int = 0) -> None:
        """``seed`` chooses its random numbers."""
        super().__init__("random")
        self.seed = seed

    def choose(self, requests: MoveRequests) -> NDArray[np.uint16]:
        """A move for each of ``requests``, uint16[K]."""
        moves, counts = legal_moves(requests.positions)
        return moves[np.arange(len(moves)), draw_below(self.seed, requests, counts)]


class GreedyPlayer(ImmediatePlayer):
    """Mates if it can; else plays the move after which it has the most material.

    It ignores the reply. Among equal moves it plays a random one.
    """

    def __init__(self, seed: int = 0) -> None:
        """``seed`` chooses its random numbers."""
        super().__init__("greedy")
        self.seed = seed

    def choose(self, requests: MoveRequests) -> NDArray[np.uint16]:
        """A move for each of ``requests``, uint16[K]."""
        return best_by_children(requests, self.seed, lambda children: -material_balance(children))


class MinimaxPlayer(ImmediatePlayer):
    """Plays the move that leaves the most material after ``depth`` plies of best play by material.

    Mates as soon as it can; among equal moves it plays a random one. With one ply it is greedy, but
    scores a stalemate as a draw. It does not see repetitions.
    """

    def __init__(self, depth: int, seed: int = 0) -> None:
        """``seed`` chooses among equal moves."""
        super().__init__(f"{MINIMAX}{depth}")
        self.depth, self.seed = depth, seed

    @classmethod
    def parse(cls, text: str, seed: int = 0) -> "MinimaxPlayer":
        """The player that ``text`` spells, ``minimax:2``; raises ConfigError."""
        depth = text.removeprefix(MINIMAX)
        if not (depth.isascii() and is_count(depth) and 1 <= int(depth) <= MAX_DEPTH):
            raise ConfigError(f"give plies from 1 to {MAX_DEPTH}, {MINIMAX}2")
        return cls(int(depth), seed)

    def choose(self, requests: MoveRequests) -> NDArray[np.uint16]:
        """A move for each of ``requests``, uint16[K]."""
        moves, _, scores = minimax(requests.positions, self.depth)
        choice = draw_best(scores, self.seed, requests)
        return moves[np.arange(len(moves)), choice]


def best_by_children(
    requests: MoveRequests, seed: int, worth_of: Callable[[Positions], NDArray[np.signedinteger]]
) -> NDArray[np.uint16]:
    """uint16[K]: the move to the position that ``worth_of`` finds best, drawn by seed, game and ply
    where there are several. worth_of: uint64[N, 8] -> int[N], above -MATE but for a mate."""
    moves, counts = legal_moves(requests.positions)
    is_legal = np.arange(MAX_MOVES) < counts[:, None]
    worth = np.full(moves.shape, -MATE, np.int32)
    worth[is_legal] = worth_of(make(np.repeat(requests.positions, counts, axis=0), moves[is_legal]))
    return moves[np.arange(len(moves)), draw_best(worth, seed, requests)]


def draw_best(worth: NDArray[np.int32], seed: int, requests: MoveRequests) -> NDArray[np.int64]:
    """``int32[K, L] -> int64[K]``: where a row is highest, drawn by seed, game and ply where that
    is in more than one place."""
    is_best = worth == worth.max(axis=1, keepdims=True)
    wanted = draw_below(seed, requests, is_best.sum(axis=1, dtype=np.int32))
    choice: NDArray[np.int64] = (is_best.cumsum(axis=1) > wanted[:, None]).argmax(axis=1)
    return choice


def material_balance(positions: NDArray[np.uint64]) -> NDArray[np.int32]:
    """``uint64[K, 8] -> int32[K]``: the mover's balance of men in pawns; -1000 where it is mate."""
    balance = np.bitwise_count(encode_planes(positions)).astype(np.int32) @ MATERIAL_WEIGHTS
    counts, checks = count_moves(positions)
    return np.where((counts == 0) & checks, np.int32(-MATE), balance)
