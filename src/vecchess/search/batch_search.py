"""Searches of given positions, all at the same time: for evaluation, analysis and tests."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vecchess.chess.history import Pasts, checked_past
from vecchess.chess.planes import NUM_PLANES
from vecchess.chess.position import CLOCK_MASK, COUNTERS, Positions, checked, position_keys
from vecchess.chess.rules import Termination, checked_keys, terminations
from vecchess.config import TreeConfig
from vecchess.inference.backend import Backend
from vecchess.ragged import offsets_of
from vecchess.search.kernels.evaluation_cache import EvaluationCache
from vecchess.search.tablebase import Tablebase
from vecchess.search.tree.edge_word import word_actions, word_priors
from vecchess.search.tree_driver import TreeDriver, Trees
from vecchess.search.tree_memory import TreeLimits


@dataclass(frozen=True)
class SearchResults:
    """Results of B searches. Point of view: the side to move.

    action: uint16[B] the move, prob: float32[B] with which it was drawn. visits: int32[B]
    simulations. win, draw: int64[B] of the root in 2**-24. steps: int64[B] time steps of all
    answers. Edges of the roots, opened ones first: edge_offsets: int64[B + 1], edge_action:
    uint16[E], edge_visits: int32[E], edge_q: float32[E], edge_prior: float64[E]. Policy targets:
    target_offsets: int64[B + 1], target_action: uint16[K], target_prob: uint16[K] in 1/65535.
    """

    action: NDArray[np.uint16]
    prob: NDArray[np.float32]
    visits: NDArray[np.int32]
    win: NDArray[np.int64]
    draw: NDArray[np.int64]
    steps: NDArray[np.int64]
    edge_offsets: NDArray[np.int64]
    edge_action: NDArray[np.uint16]
    edge_visits: NDArray[np.int32]
    edge_q: NDArray[np.float32]
    edge_prior: NDArray[np.float64]
    target_offsets: NDArray[np.int64]
    target_action: NDArray[np.uint16]
    target_prob: NDArray[np.uint16]


class BatchSearch(TreeDriver):
    """Searches up to G positions at a time with one backend. Not thread-safe."""

    def __init__(
        self,
        config: TreeConfig,
        backend: Backend,
        num_trees: int,
        seed: int = 0,
        lanes: int = 1,
        tablebase: Tablebase | None = None,
        num_planes: int = NUM_PLANES,
    ) -> None:
        """G = ``num_trees``; each may have ``lanes`` simulations in flight.

        ``num_planes``: input planes of the network of ``backend``. Raises ConfigError where
        memory is short.
        """
        self.config = config
        self.cache = EvaluationCache(config.cache_mb) if config.cache_mb else None
        limits = TreeLimits.of_analysis(config, num_trees)
        super().__init__(
            config, limits, backend, num_trees, lanes, self.cache, tablebase, num_planes, seed
        )
        self._over: list[Trees] = []

    def run(
        self,
        positions: Positions,
        keys: NDArray[np.uint64] | None = None,
        past: Pasts | None = None,
        seed: int = 0,
        numbers: ArrayLike = 0,
        plies: ArrayLike = 0,
        temperature: ArrayLike = 0.0,
        explore: bool = False,
    ) -> SearchResults:
        """Search B <= G positions, ``uint64[B, 8]``, none of which is over.

        keys: ``uint64[B, 102]`` histories (``chess.rules``), past: ``uint64[B, 8, 8]`` the
        positions before (``chess.history``), None for none. numbers, plies: of the games, which
        with ``seed`` choose the random numbers. temperature: of the choice, of the Gumbel noise
        where ``explore``. explore: with noise and forced playouts. Raises ValueError for wrong
        shapes and types, a temperature below 0 or NaN, and games that are over; then nothing was
        begun. Any other error leaves requests open: make a new ``BatchSearch``.
        """
        trees = np.arange(len(positions), dtype=np.int64)
        self.begin(trees, positions, keys, past, seed, numbers, plies, temperature, explore)
        while not self.is_idle:
            self.step()
        results = self.results(trees)
        self.free(trees)
        return results

    def begin(
        self,
        trees: NDArray[np.int64],
        positions: Positions,
        keys: NDArray[np.uint64] | None = None,
        past: Pasts | None = None,
        seed: int = 0,
        numbers: ArrayLike = 0,
        plies: ArrayLike = 0,
        temperature: ArrayLike = 0.0,
        explore: bool = False,
    ) -> None:
        """Begin searches in ``trees``, int64[B] of those that are free, beside all others.

        As for ``run``; ``seed`` is that of all searches under way. ``step`` returns those over.
        """
        if not (np.asarray(temperature) >= 0).all():
            raise ValueError("a temperature is below 0, or not a number")
        self._set_up(trees, positions, keys, past)
        if self.config.search == "gumbel" and not explore:
            temperature = 0.0
        self.forest.header["seed"] = seed
        self.begin_trees(trees, self.config.sims, numbers, plies, temperature, explore)
        self._over.append(self.advance(trees * self.forest.lanes_a_tree))

    @property
    def is_idle(self) -> bool:
        """True when no search waits for an answer, and ``step`` has returned all that are over."""
        return self.engine.is_idle and not self._over

    def step(self) -> Trees:
        """Advance the network one time step; returns the trees whose searches are now over.

        int64[K]; they keep their nodes until they are freed.
        """
        answered = self.compute()
        if len(answered):
            self._over.append(self.advance(answered))
        over, self._over = self._over, []
        return np.concatenate(over) if over else np.zeros(0, np.int64)

    def _set_up(
        self,
        trees: NDArray[np.int64],
        positions: Positions,
        keys: NDArray[np.uint64] | None,
        past: Pasts | None,
    ) -> None:
        positions = checked(positions)
        num = len(positions)
        if num > len(self.positions):
            raise ValueError(f"{num} positions, room for {len(self.positions)}")
        if (terminations(positions) != Termination.ONGOING).any():
            raise ValueError("a position is of a game that is over: there is nothing to search")
        self.positions[trees] = positions
        self.keys[trees] = 0 if keys is None else checked_keys(keys, num)
        self.past[trees] = 0 if past is None else checked_past(past, num)
        clock = (positions[:, COUNTERS] & np.uint64(CLOCK_MASK)).astype(np.int64)
        self.keys[trees, clock] = position_keys(positions)

    def results(self, trees: NDArray[np.int64]) -> SearchResults:
        """The results in ``trees``, int64[B], whose searches are over."""
        decisions = self.decide(trees)
        roots = self.forest.nodes[self.forest.trees["root"][trees]]
        num_edges = roots["num_edges"].astype(np.int64)
        offsets = offsets_of(num_edges)
        # by index: to concatenate records numpy compares their fields in Python
        first_edges = np.repeat(roots["first_edge"] - offsets[:-1], num_edges)
        table = self.forest.edges[first_edges + np.arange(offsets[-1])]
        counts = decisions["num_targets"]
        is_target = np.arange(decisions["targets"].shape[1]) < counts[:, None]
        targets = decisions["targets"][is_target]
        return SearchResults(
            action=decisions["action"].astype(np.uint16),
            prob=decisions["prob"].copy(),
            visits=decisions["visits"].copy(),
            win=decisions["win"].astype(np.int64),
            draw=decisions["draw"].astype(np.int64),
            steps=decisions["num_steps"].copy(),
            edge_offsets=offsets,
            edge_action=word_actions(table["word"]),
            edge_visits=table["visits"].copy(),
            edge_q=table["value"].copy(),
            edge_prior=word_priors(table["word"]),
            target_offsets=offsets_of(counts),
            target_action=(targets & 0xFFFF).astype(np.uint16),
            target_prob=(targets >> 16).astype(np.uint16),
        )
