"""Players with a network: by its policy alone, or with a search around it."""

import numpy as np
from numpy.typing import NDArray

from vecchess.arena.boards import repetitions
from vecchess.arena.player import random_words
from vecchess.chess.action import actions_to_moves, moves_to_actions
from vecchess.chess.movegen import legal_moves
from vecchess.chess.past import Pasts
from vecchess.chess.planes import encode_planes, num_planes
from vecchess.config import TreeConfig
from vecchess.inference.backend import Backend
from vecchess.inference.engine import SlotEngine
from vecchess.inference.requests import Requests
from vecchess.search.batch import BatchSearch
from vecchess.search.sampling import LOG2_E, softmax_weights
from vecchess.shapes import MAX_MOVES

COLDEST = 1e-3
"""Temperatures below count as 0."""


class PolicyPlayer:
    """Plays the move that the network's policy likes best, or one drawn from it."""

    def __init__(
        self,
        backend: Backend,
        rows: int,
        seed: int = 0,
        temperature: float = 0.0,
        name: str = "",
        history: int = 1,
    ) -> None:
        """``rows`` positions are asked about at a time. temperature 0: the best move.

        history: positions that the network of ``backend`` sees.
        """
        self.name = name
        self._seed = seed
        self._temperature = temperature
        self._history = history
        self._requests = Requests.empty(rows, num_planes(history))
        self._engine = SlotEngine(backend, self._requests)

    def choose(
        self,
        positions: NDArray[np.uint64],
        keys: NDArray[np.uint64],
        past: Pasts,
        games: NDArray[np.int64],
        plies: NDArray[np.int64],
    ) -> NDArray[np.uint16]:
        """See ``Player.choose``."""
        moves, counts = legal_moves(positions)
        seen = repetitions(positions, keys)
        planes = encode_planes(positions, seen, past, self._history)
        choice = np.zeros(len(positions), np.int64)
        for part in _portions(len(positions), self._requests.num_rows):
            words = random_words(self._seed, games[part], plies[part])
            choice[part] = self._choice(planes[part], moves[part], counts[part], words)
        return moves[np.arange(len(moves)), choice]

    def _choice(
        self,
        planes: NDArray[np.uint64],
        moves: NDArray[np.uint16],
        counts: NDArray[np.int32],
        words: NDArray[np.uint64],
    ) -> NDArray[np.int64]:
        """int64[K], K up to the rows: index of the move to be played."""
        num, requests = len(planes), self._requests
        is_legal = np.arange(MAX_MOVES) < counts[:, None]
        requests.planes[:num] = planes
        requests.legal[:num][is_legal] = moves_to_actions(moves[is_legal])
        requests.num_legal[:num] = counts
        self._engine.submit(np.arange(num, dtype=np.int32))
        while not self._engine.is_idle:
            self._engine.step()
        weights, totals = softmax_weights(
            requests.policy[:num], requests.num_legal[:num], self._scales(requests.steps[:num])
        )
        wanted = (words >> np.uint64(32)) * totals.astype(np.uint64) >> np.uint64(32)
        reached = weights.cumsum(axis=1, dtype=np.uint64) > wanted[:, None]
        choice: NDArray[np.int64] = reached.argmax(axis=1)
        return choice

    def _scales(self, steps: NDArray[np.uint8]) -> NDArray[np.float32]:
        """float32[K]: log2 of the odds for one unit of accumulator after so many steps."""
        if self._temperature < COLDEST:
            return np.zeros(len(steps), np.float32)
        scale = 1.0 / self._temperature * self._engine.backend.policy_scale * float(LOG2_E)
        return np.float32(scale) / steps.astype(np.float32)  # in the order of self-play: same bits


class SearchPlayer:
    """Searches every move, with a tree of its own for each game; trees are not kept."""

    def __init__(
        self,
        tree: TreeConfig,
        backend: Backend,
        rows: int,
        seed: int = 0,
        temperature: float = 0.0,
        explore: bool = False,
        name: str = "",
        history: int = 1,
    ) -> None:
        """``rows`` games are searched at a time.

        temperature: of the choice, of the Gumbel noise where the search ``explore``s, as in
        self-play. history: positions that the network sees. Raises ConfigError where memory is
        short.
        """
        self.name = name
        self.simulations = 0
        """Of all searches so far."""
        self.search = BatchSearch(tree, backend, rows, history=history)
        self._rows = rows
        self._seed = seed
        self._temperature = temperature
        self._explore = explore

    def choose(
        self,
        positions: NDArray[np.uint64],
        keys: NDArray[np.uint64],
        past: Pasts,
        games: NDArray[np.int64],
        plies: NDArray[np.int64],
    ) -> NDArray[np.uint16]:
        """See ``Player.choose``."""
        actions = np.zeros(len(positions), np.uint16)
        for part in _portions(len(positions), self._rows):
            found = self.search.run(
                positions[part], keys[part], past[part], seed=self._seed,
                numbers=games[part], plies=plies[part], temperature=self._temperature,
                explore=self._explore,
            )  # fmt: skip
            self.simulations += int(found.visits.sum())
            actions[part] = found.action
        return actions_to_moves(positions, actions)


def _portions(num: int, size: int) -> list[slice]:
    """0 .. num in slices of up to ``size``."""
    return [slice(first, min(first + size, num)) for first in range(0, num, size)]
