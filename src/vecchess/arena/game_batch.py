"""Many games at a time in arrays, for matches: positions, histories, moves and endings."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from vecchess.arena.player_protocol import MoveRequests
from vecchess.chess.chess960 import start_positions
from vecchess.chess.history import REPEATED_SHIFT, Pasts, no_past, push_positions
from vecchess.chess.make import make
from vecchess.chess.movegen import legal_moves
from vecchess.chess.position import CLOCK_MASK, COLOUR_SHIFT, COUNTERS, Positions, position_keys
from vecchess.chess.rules import KEY_HISTORY, Termination, terminations
from vecchess.errors import ConfigError
from vecchess.rng import random_word

CANDIDATES = 4
"""Random games for each opening: some are alike, some are over."""


@dataclass
class GameBatch:
    """G games in progress, or over.

    starts, positions: uint64[G, 8] at the beginning and now. keys: uint64[G, 102]
    (``chess.rules``), past: uint64[G, 8, 8] the positions before (``chess.history``), codes:
    uint8[G] of ``Termination``, plies: int64[G], moves: uint16[G, max_plies], mover's view.
    """

    starts: Positions
    positions: Positions
    keys: NDArray[np.uint64]
    past: Pasts
    codes: NDArray[np.uint8]
    plies: NDArray[np.int64]
    moves: NDArray[np.uint16]

    @classmethod
    def at(cls, starts: Positions, max_plies: int) -> "GameBatch":
        """Games that begin at ``starts``, uint64[G, 8], and are drawn after ``max_plies``."""
        num = len(starts)
        keys = np.zeros((num, KEY_HISTORY), np.uint64)
        keys[np.arange(num), _clocks(starts)] = position_keys(starts)
        return cls(
            starts=starts.copy(),
            positions=starts.copy(),
            keys=keys,
            past=no_past(num),
            codes=np.zeros(num, np.uint8),
            plies=np.zeros(num, np.int64),
            moves=np.zeros((num, max_plies), np.uint16),
        )

    def __len__(self) -> int:
        """G"""
        return len(self.plies)

    @property
    def ongoing(self) -> NDArray[np.int64]:
        """Games that are not over, int64[K]."""
        return np.flatnonzero(self.codes == Termination.ONGOING)

    @property
    def max_plies(self) -> int:
        """Plies of the longest game."""
        return int(self.moves.shape[1])

    def play(self, games: NDArray[np.int64], moves: NDArray[np.uint16]) -> None:
        """Make one legal move in each of ``games``, int64[K], and note whether it ends the game."""
        self.moves[games, self.plies[games]] = moves
        left = self.positions[games]
        positions = make(left, moves)
        is_repeated = repetitions(left, self.keys[games]) > 0
        left[:, COUNTERS] |= is_repeated.astype(np.uint64) << np.uint64(REPEATED_SHIFT)
        push_positions(left, self.past, games)
        self.positions[games] = positions
        self.plies[games] += 1
        self.keys[games, _clocks(positions)] = position_keys(positions)
        seen = repetitions(positions, self.keys[games])
        codes = terminations(positions, seen)
        too_long = (codes == Termination.ONGOING) & (self.plies[games] >= self.max_plies)
        self.codes[games] = np.where(too_long, np.uint8(Termination.PLY_CAP), codes)

    def take(self, games: NDArray[np.int64]) -> "GameBatch":
        """A copy of ``games``, int64[K], which may name a game more than once."""
        return GameBatch(*(getattr(self, field.name)[games] for field in fields(self)))

    def put(self, games: NDArray[np.int64], source: "GameBatch", others: NDArray[np.int64]) -> None:
        """Replace ``games``, int64[K], by copies of ``others`` in ``source``."""
        for field in fields(self):
            getattr(self, field.name)[games] = getattr(source, field.name)[others]

    def requests(self, games: NDArray[np.int64], numbers: NDArray[np.int64]) -> MoveRequests:
        """Requests to the sides to move in ``games``, int64[K], which have these ``numbers``."""
        plies = self.plies[games]
        return MoveRequests(
            slots=games,
            games=numbers,
            plies=plies,
            positions=self.positions[games],
            keys=self.keys[games],
            past=self.past[games],
            starts=self.starts[games],
            moves=self.moves[games, : plies.max(initial=0)],
        )

    def white_to_move(self, games: NDArray[np.int64]) -> NDArray[np.bool_]:
        """bool[K]"""
        white: NDArray[np.bool_] = self.positions[games, COUNTERS] >> np.uint64(COLOUR_SHIFT) == 0
        return white


def repetitions(positions: NDArray[np.uint64], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Earlier occurrences of each position in its game: uint64[K, 8], uint64[K, 102] -> int64[K].

    ``keys`` may have the positions themselves in it.
    """
    earlier = np.arange(KEY_HISTORY) < _clocks(positions)[:, None]
    seen: NDArray[np.int64] = ((keys == position_keys(positions)[:, None]) & earlier).sum(1)
    return seen


def random_openings(
    num: int, plies: int, seed: int, max_plies: int, starts: Positions | None = None
) -> GameBatch:
    """``num`` games of so many random plies, with different ends, none of them over.

    They begin at the usual position, or one after another at ``starts``, uint64[N, 8]. Raises
    ConfigError where so few plies lead to fewer positions.
    """
    starts = start_positions(1) if starts is None else starts
    boards = GameBatch.at(starts[np.arange(CANDIDATES * num) % len(starts)], max_plies)
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


def _clocks(positions: Positions) -> NDArray[np.int64]:
    """Halfmove clocks, int64[K], as far as keys are kept."""
    clocks = (positions[:, COUNTERS] & np.uint64(CLOCK_MASK)).astype(np.int64)
    return np.minimum(clocks, KEY_HISTORY - 1)
