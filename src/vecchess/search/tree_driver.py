"""The driver of trees: boards, the requests of their leaves, the engine that answers, the trees."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vecchess.chess.game_arrays import Games
from vecchess.chess.planes import NUM_PLANES
from vecchess.config import TreeConfig
from vecchess.inference.backend import Backend
from vecchess.inference.engine import SlotEngine
from vecchess.inference.requests import Requests
from vecchess.search.forest import Forest, Records
from vecchess.search.kernels.entry_points import begin_searches, decide_searches, free_trees
from vecchess.search.kernels.evaluation_cache import EvaluationCache
from vecchess.search.tablebase import Tablebase
from vecchess.search.tree.layout import DecisionRecord
from vecchess.search.tree_memory import TreeLimits

Trees = NDArray[np.int64]
"""int64[B]: numbers of trees."""


class TreeDriver:
    """G trees, each over a board of its own, with up to ``lanes`` simulations in flight.

    A search is ``begin_trees``, then ``advance(compute())`` until the tree is over. Not
    thread-safe; but ``compute`` leaves the trees alone, so another thread may read them meanwhile.

    games: Games, a row for each tree, whose positions are the boards, with keys and past.
    """

    def __init__(
        self,
        config: TreeConfig,
        limits: TreeLimits,
        backend: Backend,
        num_trees: int,
        lanes: int = 1,
        cache: EvaluationCache | None = None,
        tablebase: Tablebase | None = None,
        num_planes: int = NUM_PLANES,
        seed: int = 0,
    ) -> None:
        """``num_planes``: input planes of the network of ``backend``.

        Raises ConfigError where memory is short.
        """
        self.requests = Requests.empty(num_trees * lanes, num_planes)
        self.engine = SlotEngine(backend, self.requests)
        self.games = Games.empty(num_trees, has_past=True)
        self.positions, self.keys, self.past = boards = self.games[:3]
        scales = (backend.policy_scale, backend.value_scale)
        self.forest = Forest(
            config, limits, boards, self.requests, scales, seed, lanes, cache, tablebase
        )

    def begin_trees(
        self,
        trees: Trees,
        sims: int,
        numbers: ArrayLike = 0,
        plies: ArrayLike = 0,
        temperature: ArrayLike = 0.0,
        explore: bool = False,
    ) -> None:
        """Prepare searches of up to ``sims`` simulations in ``trees``, for ``advance``.

        numbers, plies: of the games, for random numbers. temperature: of the choice. explore: with
        noise and forced playouts.
        """
        num = len(trees)
        begin_searches(
            self.forest.address, trees,
            np.broadcast_to(np.asarray(numbers, np.int64), num).copy(),
            np.broadcast_to(np.asarray(plies, np.int64), num).copy(),
            np.broadcast_to(np.asarray(temperature, np.float64), num).copy(), sims, int(explore),
        )  # fmt: skip

    def compute(self) -> NDArray[np.int32]:
        """One time step of the network, if it has requests; returns the rows that are answered."""
        return np.zeros(0, np.int32) if self.engine.is_idle else self.engine.step()

    def advance(self, rows: NDArray[Any]) -> Trees:
        """Let the answers of ``rows`` go up their trees and simulate on, until new ones are needed.

        A row without a request only advances its tree. Returns the trees whose searches are over.
        """
        over = self.forest.search(rows)
        self.engine.submit(self.forest.take_requests())
        return over

    def decide(self, trees: Trees) -> Records:
        """DecisionRecord[B] of ``trees``, whose searches are over."""
        decisions: Records = np.zeros(len(trees), DecisionRecord.dtype)
        decide_searches(self.forest.address, trees, decisions.ctypes.data)
        return decisions

    def free(self, trees: Trees) -> None:
        """Give the pages of ``trees`` back, whose searches are over."""
        free_trees(self.forest.address, trees)
