"""One game's searches, move after move, in a tree that is kept: what an engine thinks with."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.action import moves_to_actions
from vecchess.chess.history import no_past, push_positions
from vecchess.chess.make import make
from vecchess.chess.planes import num_planes
from vecchess.chess.position import CLOCK_MASK, COUNTERS, Positions, position_keys
from vecchess.chess.rules import FIFTY_MOVES_PLIES, KEY_HISTORY
from vecchess.config import TreeConfig
from vecchess.inference.backend import Backend
from vecchess.inference.engine import SlotEngine
from vecchess.inference.requests import Requests
from vecchess.search.forest import Forest, ForestPlan
from vecchess.search.kernels import decide
from vecchess.search.kernels.entry_points import begin_searches, decide_all, free_trees
from vecchess.search.kernels.evaluation_cache import EvaluationCache
from vecchess.search.kernels.tree_reuse import follow_move
from vecchess.search.principal_variations import root_visits
from vecchess.search.restrict_root import restrict_root
from vecchess.search.tablebase import Tablebase
from vecchess.search.tree import forest_layout as descriptor
from vecchess.search.tree import node_layout as layout
from vecchess.search.tree import tree_layout as record
from vecchess.search.tree_limits import TreeLimits
from vecchess.shapes import POSITION_WORDS

STRIDE = 1024
"""Simulations that one call of the kernel may make: where no answer is needed it would go on."""
STALE = 1 << 16
"""After so many simulations without a new node every line ends, and nothing more is to be seen."""
_TREE: NDArray[np.int64] = np.zeros(1, np.int64)
_CLOCK = np.uint64(CLOCK_MASK)


class GameSearch:
    """One tree over one game. Not thread-safe.

    A search is ``begin``, then ``carry_on(compute())`` until ``is_over``. ``compute`` is the
    network and leaves the tree alone, so another thread may read it meanwhile.
    """

    def __init__(
        self,
        config: TreeConfig,
        limits: TreeLimits,
        backend: Backend,
        lanes: int,
        cache: EvaluationCache | None = None,
        tablebase: Tablebase | None = None,
        history: int = 1,
        seed: int = 0,
    ) -> None:
        """lanes: questions open at a time, at most. history: positions that the network sees.

        Raises ConfigError where memory is short.
        """
        self.most_lanes = lanes
        self.requests = Requests.empty(lanes, num_planes(history))
        self.engine = SlotEngine(backend, self.requests)
        self.tablebase_hits = 0
        """Positions answered by the tablebase since the search began."""
        self._tablebase = tablebase
        self._positions: Positions = np.zeros((1, POSITION_WORDS), np.uint64)
        self._keys: NDArray[np.uint64] = np.zeros((1, KEY_HISTORY), np.uint64)
        self._past = no_past(1)
        self._sims, self._is_ended = 0, True
        self._num_nodes = self._grown_at = 0
        men = tablebase.most_men if tablebase else 0
        plan = ForestPlan(
            limits, backend.policy_scale, backend.value_scale, seed, lanes, tablebase_men=men
        )
        boards = (self._positions, self._keys, self._past)
        self.forest = Forest(config, plan, *boards, self.requests, cache)

    @property
    def position(self) -> NDArray[np.uint64]:
        """The position to be searched, ``uint64[8]``."""
        position: NDArray[np.uint64] = self._positions[0].copy()
        return position

    @property
    def visits(self) -> int:
        """Simulations in the tree, those kept from earlier searches included."""
        return root_visits(self.forest, 0) if self._has_root else 0

    @property
    def is_over(self) -> bool:
        """Whether there is nothing more to search, and no question open."""
        return self.engine.is_idle and (
            self._is_ended or self.is_proven or self.visits >= self._sims
        )

    @property
    def is_proven(self) -> bool:
        """Whether it is certain that the side to move wins, or loses."""
        return bool(self._root.view(np.uint16)[layout.STATE] & layout.PROVEN)

    @property
    def root_edges(self) -> NDArray[np.int32]:
        """int32[L, 4]: the moves of the root (``layout``), opened ones first; L >= 1."""
        first = int(self._root[layout.FIRST_EDGE])
        count = int(self._root.view(np.uint16)[layout.NUM_EDGES])
        return self.forest.edges[first : first + count]

    @property
    def _has_root(self) -> bool:
        return bool(self.forest.records[0, record.ROOT] != layout.NO_NODE)

    @property
    def _root(self) -> NDArray[np.int32]:
        root: NDArray[np.int32] = self.forest.nodes[self.forest.records[0, record.ROOT]]
        return root

    def set_up(self, position: NDArray[np.uint64]) -> None:
        """Begin a game at ``position``, ``uint64[8]``; the tree is dropped.

        A halfmove clock beyond 100 counts as 100: either way only mate can end it otherwise.
        """
        self.forget()
        clock = min(int(position[COUNTERS] & _CLOCK), FIFTY_MOVES_PLIES)
        self._positions[0] = position
        self._positions[0, COUNTERS] = position[COUNTERS] & ~_CLOCK | np.uint64(clock)
        self._keys[:], self._past[:] = 0, 0
        self._note_key()

    def play(self, move: int) -> None:
        """Make a legal move (mover's view) on the board; the tree below it is kept."""
        action = int(moves_to_actions([move])[0])
        push_positions(self._positions, self._past, _TREE)
        position = make(self._positions, [move])
        if self._has_root:
            self._follow(action)
        if int(position[0, COUNTERS] & _CLOCK) > FIFTY_MOVES_PLIES:
            self.set_up(position[0])
            return
        self._positions[:] = position
        self._note_key()

    def forget(self) -> None:
        """Drop the tree."""
        free_trees(self.forest.address, _TREE)

    def begin(self, sims: int, lanes: int = 0, actions: Sequence[int] = ()) -> None:
        """Begin a search of up to ``sims`` simulations; the root's answer is waited for.

        lanes: questions open at a time, 0 for as many as there may be. actions: the only moves to
        be searched, if there are any; the tree is then a new one.
        """
        words = self.forest.words
        self.tablebase_hits, words[descriptor.DEEPEST] = 0, 0
        words[descriptor.LANES_A_TREE] = min(lanes, self.most_lanes) or self.most_lanes
        self.forest.records[0, record.OLDEST_LANE] = 0
        if actions:
            self.look()
            restrict_root(self.forest, 0, actions)
        self._begin(0)
        self._finish()
        self._begin(sims)

    def look(self) -> None:
        """Let a new tree have nothing but its root, as the network sees it: with all moves, and
        also where there is a mate in one."""
        words = self.forest.words
        kept = words[[descriptor.SEE_MATES, descriptor.CACHE]]
        words[[descriptor.SEE_MATES, descriptor.CACHE]] = 0
        self.forget()
        self._begin(0)
        self._finish()
        words[[descriptor.SEE_MATES, descriptor.CACHE]] = kept

    def compute(self) -> NDArray[np.int32]:
        """One step of the network, where it was asked; returns rows to ``carry_on`` with."""
        return np.zeros(1, np.int32) if self.engine.is_idle else self.engine.step()

    def carry_on(self, rows: NDArray[Any]) -> None:
        """Let answers go up the tree and simulate on, until new ones are needed."""
        budget = self.forest.records[:1, record.BUDGET]
        if not self._is_ended:
            budget[0] = min(self._sims, self.visits + STRIDE)
        while len(rows):
            self.forest.search(rows)
            rows = self.forest.look_up(self._tablebase)
            self.tablebase_hits += len(rows)
        self.engine.submit(self.forest.take_asked())
        self._is_ended = self._is_ended or (budget[0] == 0 and self._sims > 0) or self._is_stale()

    def end(self) -> None:
        """Begin no simulation any more; those whose questions are open come to their end."""
        self._is_ended = True
        self.forest.records[0, record.BUDGET] = 0

    def decide(self) -> int:
        """The action that a search which is over decided on."""
        decisions = np.zeros((1, decide.DECISION_WORDS), np.int32)
        decide_all(self.forest.address, _TREE, self.forest.decision, decisions)
        return int(decisions[0, decide.ACTION])

    @property
    def fullness(self) -> float:
        """How much of the tree's memory is in use, 0 to 1."""
        nodes, pages = self.forest.records[0, [record.NUM_NODES, record.EDGE_PAGES]].tolist()
        limits = self.forest.limits
        return max(int(nodes) / limits.nodes, int(pages) / limits.edge_pages)

    def _is_stale(self) -> bool:
        nodes = int(self.forest.records[0, record.NUM_NODES])
        if nodes != self._num_nodes:
            self._num_nodes, self._grown_at = nodes, self.visits
        return self.visits - self._grown_at > STALE

    def _begin(self, sims: int) -> None:
        self._sims, self._is_ended = sims, False
        self._grown_at = self.visits
        zeros = np.zeros(1, np.int64)
        begin_searches(self.forest.address, _TREE, zeros, zeros, np.zeros(1), sims, 0)

    def _finish(self) -> None:
        """Wait for the answers that are open."""
        self.carry_on(np.zeros(1, np.int32))
        while not self.engine.is_idle:
            self.carry_on(self.engine.step())

    def _follow(self, action: int) -> None:
        actions = self.root_edges[:, layout.PRIOR_ACTION] & layout.ACTION_MASK
        choice = np.flatnonzero(actions == action)
        if len(choice):
            follow_move(self.forest.address, np.int64(0), np.int64(choice[0]))
        else:
            self.forget()

    def _note_key(self) -> None:
        clock = int(self._positions[0, COUNTERS] & _CLOCK)
        self._keys[0, clock] = position_keys(self._positions)[0]
