"""The player that counts men a few plies ahead: ``minimax:D``."""

import numpy as np
from numpy.typing import NDArray

from vecchess.arena.player_protocol import ImmediatePlayer
from vecchess.arena.players.simple import draw_best
from vecchess.chess.history import Pasts
from vecchess.errors import ConfigError
from vecchess.search.kernels.alpha_beta import minimax

PREFIX = "minimax:"
MOST_DEPTH = 6
"""Plies. In openings a move takes 2 ms at 4, 75 ms at 6."""


class MinimaxPlayer(ImmediatePlayer):
    """Plays what leaves it the most material after ``depth`` plies of best play by men alone.

    Mates as soon as it can, among moves that are alike any. With one ply it is greedy, but knows
    that a stalemate is drawn. Repetitions it does not see.
    """

    def __init__(self, depth: int, seed: int = 0) -> None:
        """``seed`` chooses among moves that are alike."""
        super().__init__(f"{PREFIX}{depth}")
        self.depth, self.seed = depth, seed

    @classmethod
    def parse(cls, text: str, seed: int = 0) -> "MinimaxPlayer":
        """The player that ``text`` spells, ``minimax:2``; raises ConfigError."""
        depth = text.removeprefix(PREFIX)
        if not (depth.isascii() and depth.isdigit() and 1 <= int(depth) <= MOST_DEPTH):
            raise ConfigError(f"give plies from 1 to {MOST_DEPTH}, {PREFIX}2")
        return cls(int(depth), seed)

    def choose(
        self,
        positions: NDArray[np.uint64],
        keys: NDArray[np.uint64],
        past: Pasts,
        games: NDArray[np.int64],
        plies: NDArray[np.int64],
    ) -> NDArray[np.uint16]:
        """See ``ImmediatePlayer``."""
        moves, _, scores = minimax(positions, self.depth)
        choice = draw_best(scores, self.seed, games, plies)
        return np.take_along_axis(moves, choice[:, None], axis=1)[:, 0]
