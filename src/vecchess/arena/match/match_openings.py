"""The openings of a match: each is played twice, so they should be worth about the same."""

import numpy as np

from vecchess.arena.game_batch import GameBatch, random_openings
from vecchess.arena.match.opening_book import load_book
from vecchess.chess.chess960 import chess960_positions, start_positions
from vecchess.chess.position import Positions
from vecchess.config import MatchConfig


def match_openings(config: MatchConfig) -> GameBatch:
    """The openings of ``config``, one for each pair where there are so many; fewer otherwise.

    They all differ, and none is over. Raises ConfigError for a file that will not do, and where
    random plies lead to too few positions.
    """
    num_pairs = config.games // 2
    starts = _starts(config)
    if config.random_plies:
        return random_openings(
            num_pairs, config.random_plies, config.seed, config.max_plies, starts
        )
    return GameBatch.at(starts[:num_pairs], config.max_plies)


def _starts(config: MatchConfig) -> Positions:
    """uint64[N, 8]: where games may begin, in the order of the seed."""
    if config.chess960:
        return chess960_positions(np.random.default_rng(config.seed).permutation(960))
    if config.random_plies and config.openings is None:
        return start_positions(1)
    return load_book(config.openings, config.seed)
