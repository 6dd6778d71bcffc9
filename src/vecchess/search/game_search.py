"""Searches of one game, move after move, in a tree that is kept: for engines and analysis.

Decisions 67 and 69.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.action import moves_to_actions
from vecchess.chess.history import Pasts
from vecchess.chess.planes import NUM_PLANES
from vecchess.chess.position import CLOCK_MASK, COUNTERS
from vecchess.chess.rules import FIFTY_MOVES_PLIES
from vecchess.config import TreeConfig
from vecchess.inference.backend import Backend
from vecchess.search.forest import Records
from vecchess.search.kernels.entry_points import follow_move
from vecchess.search.kernels.evaluation_cache import EvaluationCache
from vecchess.search.tablebase import Tablebase
from vecchess.search.tree.edge_word import ACTION_MASK, pack_words, word_actions, word_priors
from vecchess.search.tree.layout import GUMBEL, NO_NODE, PROVEN
from vecchess.search.tree_driver import TreeDriver, Trees
from vecchess.search.tree_memory import TreeLimits

STRIDE = 1024
"""Most simulations of one call of the kernel, for searches that need no answers."""
STALE = 1 << 16
"""After so many simulations without a new node every line ends: there is nothing left to search."""
_TREE: Trees = np.zeros(1, np.int64)
_ROW = np.zeros(1, np.int32)
"""The tree, and the row that advances it where none is answered."""
_CLOCK = np.uint64(CLOCK_MASK)


class GameSearch(TreeDriver):
    """One tree over one game. A search is ``begin``, then ``step`` until ``is_over``."""

    def __init__(
        self,
        config: TreeConfig,
        limits: TreeLimits,
        backend: Backend,
        lanes: int,
        cache: EvaluationCache | None = None,
        tablebase: Tablebase | None = None,
        num_planes: int = NUM_PLANES,
        seed: int = 0,
    ) -> None:
        """lanes: most simulations in flight. num_planes: the network's input planes.

        Raises ConfigError where memory is short.
        """
        super().__init__(config, limits, backend, 1, lanes, cache, tablebase, num_planes, seed)
        self.most_lanes = lanes
        self.stale_after = STALE
        """Simulations without a new node after which a search is over."""
        self._sims, self._is_ended = 0, True
        self._num_nodes = self._grown_at = 0

    @property
    def position(self) -> NDArray[np.uint64]:
        """The position to be searched, ``uint64[8]``."""
        position: NDArray[np.uint64] = self.positions[0].copy()
        return position

    @property
    def visits(self) -> int:
        """Simulations in the tree, those kept from earlier searches included."""
        return max(0, int(self.forest.root(0)["visits"]) - 1) if self._has_root else 0

    @property
    def is_over(self) -> bool:
        """Whether there is nothing more to search, and no request open."""
        return self.engine.is_idle and (
            self._is_ended or self.is_proven or self.visits >= self._sims
        )

    @property
    def is_proven(self) -> bool:
        """Whether it is certain that the side to move wins, or loses."""
        return bool(self.forest.root(0)["state"] & PROVEN)

    @property
    def root_edges(self) -> Records:
        """EdgeRecord[L]: the moves of the root, opened ones first; L >= 1."""
        return self.forest.root_edges(0)

    @property
    def _has_root(self) -> bool:
        return bool(self.forest.trees["root"][0] != NO_NODE)

    def set_up(
        self,
        position: NDArray[np.uint64],
        keys: NDArray[np.uint64] | None = None,
        past: Pasts | None = None,
    ) -> None:
        """Begin a game at ``position``, ``uint64[8]``; the tree is dropped.

        keys: uint64[1, 102] and past: uint64[1, 8, 8] of what was before it, None for nothing.
        A halfmove clock beyond 100 counts as 100: either way only mate can end it otherwise.
        """
        self.forget()
        clock = min(int(position[COUNTERS] & _CLOCK), FIFTY_MOVES_PLIES)
        self.positions[0] = position
        self.positions[0, COUNTERS] = position[COUNTERS] & ~_CLOCK | np.uint64(clock)
        self.keys[:] = 0 if keys is None else keys
        self.past[:] = 0 if past is None else past
        self.games.look(_TREE)

    def play(self, move: int) -> None:
        """Make a legal move (mover's view) on the board; the tree below it is kept."""
        action = int(moves_to_actions([move])[0])
        self.games.play(_TREE, np.array([move], np.uint16))
        if self._has_root:
            self._follow(action)
        if int(self.positions[0, COUNTERS] & _CLOCK) > FIFTY_MOVES_PLIES:
            self.set_up(self.position)

    def forget(self) -> None:
        """Drop the tree."""
        self.free(_TREE)

    def begin(self, sims: int, lanes: int = 0, actions: Sequence[int] = ()) -> None:
        """Begin a search of up to ``sims`` simulations; waits for the root's evaluation.

        lanes: simulations in flight, 0 for as many as there may be. actions: the only moves to be
        searched, if there are any; the tree is then a new one, as always with Gumbel, which draws
        the moves that it considers anew.
        """
        header = self.forest.header
        self.forest.tablebase_hits, header["max_depth"] = 0, 0
        header["lanes_a_tree"] = min(lanes, self.most_lanes) or self.most_lanes
        self.forest.trees["oldest_lane"] = 0
        if actions:
            self.evaluate_root()
            self._restrict_root(actions)
        elif header["method"] == GUMBEL:
            self.forget()
        self._begin(0)
        self._finish()
        self._begin(sims)

    def evaluate_root(self) -> None:
        """Begin a new tree with nothing but its root, as the network evaluates it: with all moves,
        also where there is a mate in one."""
        header = self.forest.header
        see_mates, cache = int(header["see_mates"]), int(header["cache"])
        header["see_mates"] = header["cache"] = 0
        self.forget()
        self._begin(0)
        self._finish()
        header["see_mates"], header["cache"] = see_mates, cache

    def _restrict_root(self, actions: Sequence[int]) -> None:
        """Leave the root only the moves with these action codes, one of them at least.

        The root has to be expanded and without a visit below it. Their priors sum to 1 again.
        """
        root, edges = self.forest.root(0), self.root_edges
        words = edges["word"][np.isin(edges["word"] & ACTION_MASK, actions)]
        priors = word_priors(words)
        words = np.sort(pack_words(priors / priors.sum(), word_actions(words)))[::-1]
        edges["word"][: len(words)] = words
        root["num_edges"] = len(words)
        root["unopened_mass"] = word_priors(words).sum()

    def compute(self) -> NDArray[np.int32]:
        """One step of the network, if it has requests; returns rows to ``advance`` with."""
        return _ROW if self.engine.is_idle else self.engine.step()

    def advance(self, rows: NDArray[Any]) -> Trees:
        """Let answers go up the tree and simulate on, until new ones are needed."""
        budget = self.forest.trees["budget"]
        if not self._is_ended:
            budget[0] = min(self._sims, self.visits + STRIDE)
        over = super().advance(rows)
        self._is_ended = self._is_ended or (budget[0] == 0 and self._sims > 0) or self._is_stale()
        return over

    def end(self) -> None:
        """Begin no simulation any more; those in flight come to their end."""
        self._is_ended = True
        self.forest.trees["budget"] = 0

    @property
    def decision(self) -> int:
        """The action that a search which is over decided on."""
        return int(self.decide(_TREE)["action"][0])

    @property
    def fullness(self) -> float:
        """How much of the tree's memory is in use, 0 to 1."""
        tree, limits = self.forest.trees[0], self.forest.limits
        nodes, pages = tree["node_pages"]["num_items"], tree["edge_pages"]["num_pages"]
        return max(int(nodes) / limits.nodes, int(pages) / limits.edge_pages)

    def _is_stale(self) -> bool:
        nodes = int(self.forest.trees["node_pages"]["num_items"][0])
        if nodes != self._num_nodes:
            self._num_nodes, self._grown_at = nodes, self.visits
        return self.visits - self._grown_at > self.stale_after

    def _begin(self, sims: int) -> None:
        self._sims, self._is_ended = sims, False
        self._grown_at = self.visits
        self.begin_trees(_TREE, sims)

    def _finish(self) -> None:
        """Advance until no request is open."""
        self.advance(_ROW)
        while not self.engine.is_idle:
            self.advance(self.engine.step())

    def _follow(self, action: int) -> None:
        choice = np.flatnonzero(word_actions(self.root_edges["word"]) == action)
        if len(choice):
            follow_move(self.forest.address, np.int64(0), np.int64(choice[0]))
        else:
            self.forget()
