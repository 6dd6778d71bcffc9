"""Many games at a time in arrays, for matches: the boards, and what the rules remember of them."""

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.chess960 import start_positions
from vecchess.chess.make import make
from vecchess.chess.movegen import legal_moves
from vecchess.chess.past import no_past, note
from vecchess.chess.position import CLOCK_MASK, COUNTERS, position_keys
from vecchess.chess.rules import KEY_HISTORY, Termination, terminations
from vecchess.errors import ConfigError
from vecchess.rng import random_word

CANDIDATES = 4
"""Random games for each opening: some are alike, some are over."""


class Boards:
    """G games from the start position, with what the rules remember of them.

    positions: uint64[G, 8], keys: uint64[G, 102] (``chess.rules``), past: uint64[G, 8, 8] the
    positions before (``chess.past``), codes: uint8[G] of ``Termination``, plies: int64[G], moves:
    uint16[max_plies, G], mover's view.
    """

    def __init__(self, num_games: int, max_plies: int) -> None:
        """Games longer than ``max_plies`` are drawn."""
        self.positions = start_positions(num_games)
        self.keys = np.zeros((num_games, KEY_HISTORY), np.uint64)
        self.keys[:, 0] = position_keys(self.positions)
        self.past = no_past(num_games)
        self.codes = np.zeros(num_games, np.uint8)
        self.plies = np.zeros(num_games, np.int64)
        self.moves = np.zeros((max_plies, num_games), np.uint16)

    @property
    def ongoing(self) -> NDArray[np.int64]:
        """Games that are not over, int64[K]."""
        return np.flatnonzero(self.codes == Termination.ONGOING)

    def play(self, games: NDArray[np.int64], moves: NDArray[np.uint16]) -> None:
        """Make one legal move in each of ``games``, int64[K], and see whether it ends the game."""
        self.moves[self.plies[games], games] = moves
        note(self.positions[games], self.past, games)
        positions = make(self.positions[games], moves)
        self.positions[games] = positions
        self.plies[games] += 1
        clocks = (positions[:, COUNTERS] & np.uint64(CLOCK_MASK)).astype(np.int64)
        self.keys[games, clocks] = position_keys(positions)
        seen = repetitions(positions, self.keys[games])
        self.codes[games] = terminations(positions, seen, len(self.moves))

    def take(self, games: NDArray[np.int64]) -> "Boards":
        """A copy of ``games``, int64[K], which may name a game more than once."""
        copy = Boards(len(games), len(self.moves))
        copy.positions, copy.keys = self.positions[games], self.keys[games]
        copy.past = self.past[games]
        copy.codes, copy.plies = self.codes[games], self.plies[games]
        copy.moves = self.moves[:, games]
        return copy

    def points_of_white(self) -> NDArray[np.float64]:
        """1, 1/2 or 0 for each game, float64[G]."""
        white_won = self.plies % 2 == 1
        return np.where(self.codes == Termination.CHECKMATE, white_won, 0.5)


def repetitions(positions: NDArray[np.uint64], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Earlier occurrences of each position in its game: uint64[K, 8], uint64[K, 102] -> int64[K].

    ``keys`` may have the positions themselves in it.
    """
    clocks = (positions[:, COUNTERS] & np.uint64(CLOCK_MASK)).astype(np.int64)
    earlier = np.arange(KEY_HISTORY) < clocks[:, None]
    seen: NDArray[np.int64] = ((keys == position_keys(positions)[:, None]) & earlier).sum(1)
    return seen


def random_openings(num: int, plies: int, seed: int, max_plies: int) -> Boards:
    """``num`` different games of so many random plies, none of them over.

    Raises ConfigError where so few plies lead to fewer positions.
    """
    boards = Boards(CANDIDATES * num, max_plies)
    for ply in range(plies):
        games = boards.ongoing
        moves, counts = legal_moves(boards.positions[games])
        random = [random_word(seed, int(game), ply) >> 1 for game in games]
        boards.play(games, moves[np.arange(len(games)), np.array(random) % counts])
    _, first = np.unique(boards.positions[:, :COUNTERS], axis=0, return_index=True)
    chosen = np.intersect1d(first, boards.ongoing)[:num]
    if len(chosen) < num:
        raise ConfigError(f"{plies} random plies do not lead to {num} different positions")
    return boards.take(chosen)
