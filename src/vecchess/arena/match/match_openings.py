"""The openings of a match: each is played twice, so they should be worth about the same.

``openings.epd``, the package's own book, holds 500 positions after eight plies, none of which
favours a side by more than 30 centipawns. ``bench/make_openings.py`` made it with Stockfish 15.1.
A longer match goes on with two random plies after each: players without chance would only repeat
their games, and every copy would count as evidence.
"""

from pathlib import Path

import numpy as np

from vecchess.chess.action import actions_to_moves
from vecchess.chess.chess960 import chess960_positions, start_positions
from vecchess.chess.game_arrays import Games
from vecchess.chess.position import COUNTERS, Positions
from vecchess.config import MatchConfig
from vecchess.errors import ConfigError
from vecchess.importers.opening_file import read_openings
from vecchess.rng import random_word

SHIPPED = "openings.epd"
FURTHER_PLIES = 2
CANDIDATES = 4
"""Random games for each opening: some are alike, some are over."""


def match_openings(config: MatchConfig) -> Games:
    """The openings of ``config``, one for each pair; fewer where a file of openings has fewer.

    They all differ, and none is over; those of a shorter match are the first of them. Raises
    ConfigError for a file that cannot be used, and where random plies lead to too few positions.
    """
    num_pairs = config.games // 2
    starts = _starts(config)
    if config.random_plies:
        return random_openings(
            num_pairs, config.random_plies, config.seed, config.max_plies, starts
        )
    missing = num_pairs - len(starts)
    if missing > 0 and config.openings is None:
        further = random_openings(missing, FURTHER_PLIES, config.seed, config.max_plies, starts)
        starts = np.concatenate([starts, further.positions])
    return Games.at(starts[:num_pairs], config.max_plies)


def random_openings(
    num: int, plies: int, seed: int, max_plies: int, starts: Positions | None = None
) -> Games:
    """``num`` games of so many random plies, with different ends, none of them over.

    They begin at the usual position, or one after another at ``starts``, uint64[N, 8]. Raises
    ConfigError where so few plies lead to fewer positions.
    """
    starts = start_positions(1) if starts is None else starts
    boards = Games.at(starts[np.arange(CANDIDATES * num) % len(starts)], max_plies)
    for ply in range(plies):
        games = boards.ongoing
        random = np.array([random_word(seed, int(game), ply) >> 1 for game in games])
        actions = boards.legal[games, random % boards.num_legal[games]]
        boards.play(games, actions_to_moves(boards.positions[games], actions))
    _, first = np.unique(boards.positions[:, :COUNTERS], axis=0, return_index=True)
    chosen = np.intersect1d(first, boards.ongoing)[:num]
    if len(chosen) < num:
        raise ConfigError(f"{plies} random plies do not lead to {num} different positions")
    return boards.take(chosen)


def load_book(file: Path | None = None, seed: int = 0) -> Positions:
    """uint64[N, 8]: the positions of an EPD, FEN or PGN file in an order that ``seed`` chooses,
    each once.

    None is the package's own book. Raises ConfigError with file and line for what cannot be read.
    """
    positions = read_openings(file or Path(__file__).parents[1] / SHIPPED)
    _, first = np.unique(positions, axis=0, return_index=True)
    positions = positions[np.sort(first)]
    words = [random_word(seed, number, 0) for number in range(len(positions))]
    return positions[np.argsort(np.array(words, np.uint64), kind="stable")]


def _starts(config: MatchConfig) -> Positions:
    """uint64[N, 8]: where games may begin, in the order of the seed."""
    if config.chess960:
        return chess960_positions(np.random.default_rng(config.seed).permutation(960))
    if config.random_plies and config.openings is None:
        return start_positions(1)
    return load_book(config.openings, config.seed)
