"""Players with a network: by its policy alone, or with a search around it."""

import numpy as np
from numpy.typing import NDArray

from vecchess.arena.player_protocol import MoveReplies, MoveRequests, Player, random_words
from vecchess.chess.action import actions_to_moves
from vecchess.chess.planes import NUM_PLANES
from vecchess.config import TreeConfig
from vecchess.inference.backend import Backend
from vecchess.inference.engine import SlotEngine
from vecchess.inference.requests import Requests
from vecchess.search.batch_search import BatchSearch
from vecchess.search.kernels.sampling import softmax_scale, softmax_weights
from vecchess.search.tablebase import Tablebase
from vecchess.search.tree.layout import UNIT
from vecchess.shapes import POSITION_WORDS

COLDEST = 1e-3
"""Temperatures below count as 0."""


class NetworkPlayer(Player):
    """A player with a network. The positions that it thinks about stay in slots."""

    def __init__(self, max_games: int, seed: int, temperature: float, name: str) -> None:
        """A player that takes up to ``max_games`` games at a time."""
        self.name, self.max_games = name, max_games
        self._seed, self._temperature = seed, temperature
        self._positions = np.zeros((max_games, POSITION_WORDS), np.uint64)


class PolicyPlayer(NetworkPlayer):
    """Plays the most probable move of the network's policy, or one drawn from it."""

    def __init__(
        self,
        backend: Backend,
        *,
        max_games: int,
        seed: int = 0,
        temperature: float = 0.0,
        name: str = "",
        num_planes: int = NUM_PLANES,
    ) -> None:
        """temperature 0: the best move. num_planes: input planes of the network of ``backend``."""
        super().__init__(max_games, seed, temperature, name)
        self._requests = Requests.empty(max_games, num_planes)
        self._engine = SlotEngine(backend, self._requests)
        self._words = np.zeros(max_games, np.uint64)

    @property
    def is_idle(self) -> bool:
        """Whether no move is being chosen."""
        return self._engine.is_idle

    def ask(self, requests: MoveRequests) -> None:
        """Begin to choose a move for each of ``requests``."""
        slots, questions = requests.slots, self._requests
        self._positions[slots] = requests.positions
        asked = Requests.at(
            requests.positions, questions.planes.shape[1], requests.past, requests.repetitions
        )
        questions.planes[slots], questions.legal[slots] = asked.planes, asked.legal
        questions.num_legal[slots] = asked.num_legal
        self._words[slots] = random_words(self._seed, requests)
        self._engine.submit(slots.astype(np.int32))

    def replies(self) -> MoveReplies:
        """The moves that have been chosen since, after one more step of the network."""
        rows = self._engine.step()
        if not len(rows):
            return MoveReplies.none()
        slots, requests = rows.astype(np.int64), self._requests
        steps = requests.steps[slots].astype(np.float32)
        weights, totals = softmax_weights(
            requests.policy[slots], requests.num_legal[slots], self._scale() / steps
        )
        words = self._words[slots] >> np.uint64(32)
        wanted = words * totals.astype(np.uint64) >> np.uint64(32)
        reached = weights.cumsum(axis=1, dtype=np.uint64) > wanted[:, None]
        actions = requests.legal[slots, reached.argmax(axis=1)]
        moves = actions_to_moves(self._positions[slots], actions)
        return MoveReplies.of_moves(slots, moves, self._values(slots, steps), visits=1)

    def _scale(self) -> np.float32:
        """log2 of the odds for one unit of accumulator after one step."""
        if self._temperature < COLDEST:
            return np.float32(0.0)
        scale = softmax_scale(1.0 / self._temperature * self._engine.backend.policy_scale)
        return np.float32(scale)  # divided by the steps afterwards, as self-play does: same bits

    def _values(self, slots: NDArray[np.int64], steps: NDArray[np.float32]) -> NDArray[np.float32]:
        """float32[K]: the score that the mover expects."""
        scale = softmax_scale(self._engine.backend.value_scale)
        outcomes = np.full(len(slots), 3, np.uint8)
        weights, totals = softmax_weights(self._requests.wdl[slots], outcomes, scale / steps)
        points = 2 * weights[:, 0].astype(np.int64) + weights[:, 1]
        return (points / (2 * totals.astype(np.int64))).astype(np.float32)


class SearchPlayer(NetworkPlayer):
    """Plays the move that a search finds, in a new tree for every move."""

    def __init__(
        self,
        config: TreeConfig,
        backend: Backend,
        *,
        max_games: int,
        seed: int = 0,
        temperature: float = 0.0,
        explore: bool = False,
        name: str = "",
        num_planes: int = NUM_PLANES,
    ) -> None:
        """temperature: of the choice; with ``explore`` of the Gumbel noise, as in self-play.

        Raises ConfigError where memory is short, or tablebases are missing.
        """
        super().__init__(max_games, seed, temperature, name)
        tablebase = Tablebase(config.syzygy) if config.syzygy else None
        self.search = BatchSearch(
            config, backend, max_games, tablebase=tablebase, num_planes=num_planes
        )
        self._explore = explore

    @property
    def is_idle(self) -> bool:
        """Whether no move is being chosen."""
        return self.search.is_idle

    def ask(self, requests: MoveRequests) -> None:
        """Begin to choose a move for each of ``requests``."""
        self._positions[requests.slots] = requests.positions
        self.search.begin(
            requests.slots, requests.positions, requests.keys, requests.past, seed=self._seed,
            numbers=requests.games, plies=requests.plies, temperature=self._temperature,
            explore=self._explore,
        )  # fmt: skip

    def replies(self) -> MoveReplies:
        """The moves that have been chosen since, after one more step of the network."""
        slots = self.search.step()
        if not len(slots):
            return MoveReplies.none()
        found = self.search.results(slots)
        self.search.free(slots)
        moves = actions_to_moves(self._positions[slots], found.action)
        values = (2 * found.win + found.draw) / (2 * UNIT)
        return MoveReplies.of_moves(slots, moves, values, found.visits)
