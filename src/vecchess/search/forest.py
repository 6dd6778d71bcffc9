"""The memory of many searches that one thread runs: trees, arena, lanes, scratch, settings."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards import tables
from vecchess.chess.history import Pasts, no_past
from vecchess.chess.movegen import MOVE_BUFFER
from vecchess.chess.planes import history_of
from vecchess.chess.rules import KEY_HISTORY
from vecchess.config import TreeConfig
from vecchess.inference.requests import Requests
from vecchess.search.kernels.decide import DECISION_WORDS
from vecchess.search.kernels.entry_points import answer_probes, search_rows
from vecchess.search.kernels.evaluation_cache import EvaluationCache
from vecchess.search.kernels.expand import ENTRY_BYTES
from vecchess.search.kernels.gumbel import halving_table
from vecchess.search.kernels.sampling import LOG2_E
from vecchess.search.tablebase import Tablebase
from vecchess.search.tree import forest_layout as descriptor
from vecchess.search.tree import tree_layout as record
from vecchess.search.tree.node_layout import (
    EDGE_BYTES,
    LANE_ANSWERED,
    LANE_BYTES,
    LANE_STATE,
    NO_NODE,
    NO_PAGE,
    NODE_BYTES,
)
from vecchess.search.tree_limits import EDGE_PAGE_BYTES, NODE_PAGE_BYTES, TreeLimits
from vecchess.search.tree_memory import aligned_zeros
from vecchess.shapes import MAX_MOVES, POSITION_WORDS


@dataclass(frozen=True)
class ForestPlan:
    """What a forest needs to know besides its settings.

    policy_scale, value_scale: the network's, logits per accumulator unit and step. seed: of the
    random numbers. lanes: questions a tree may have open. tablebase_men: 0 for no tablebase.
    """

    limits: TreeLimits
    policy_scale: float
    value_scale: float
    seed: int = 0
    lanes: int = 1
    tablebase_men: int = 0


class Forest:
    """G trees over G boards. One thread at a time; kernels get ``address``.

    positions: uint64[G, 8], keys: uint64[G, 102] and past: uint64[G, 8, 8] are the boards to be
    searched, their histories and the positions before them, ``requests`` has G * lanes rows. All
    are the caller's and stay where they are. How many positions the network sees follows from its
    planes; if it is one, ``past`` may be empty.

    nodes: int32[N, 16], edges: int32[E, 4], lane_records: int32[G * lanes, 4] (``layout``),
    records: int32[G, 32] (``record``), links: the pages of nodes and edges, ``arena``.
    """

    def __init__(
        self,
        config: TreeConfig,
        plan: ForestPlan,
        positions: NDArray[np.uint64],
        keys: NDArray[np.uint64],
        past: Pasts,
        requests: Requests,
        cache: EvaluationCache | None = None,
    ) -> None:
        """Trees without nodes. Raises ConfigError where memory is short."""
        num_trees = len(positions)
        self.limits = plan.limits
        self.words: NDArray[np.int64] = np.zeros(descriptor.NUM_WORDS, np.int64)
        self.num_trees = num_trees
        self.lanes = plan.lanes
        rows = num_trees * plan.lanes
        self.asked: NDArray[np.int32] = np.zeros(rows, np.int32)
        self.probes: NDArray[np.int32] = np.zeros(rows, np.int32)
        self.decision: NDArray[np.int32] = np.zeros(DECISION_WORDS, np.int32)
        self._requests = requests
        self._kept: list[Any] = [cache]
        self._point(descriptor.POSITIONS, positions)
        self._point(descriptor.KEYS, keys)
        self._point(descriptor.PAST, past)
        self._point_to_requests(requests)
        self._point(descriptor.ASKED_ROWS, self.asked)
        self._point(descriptor.PROBE_ROWS, self.probes)
        self._point(descriptor.DECISION, self.decision)
        self.lane_records = _lines(rows * LANE_BYTES).reshape(rows, -1)
        self._point(descriptor.LANES, self.lane_records)
        self.words[descriptor.TABLES] = tables.address()
        self.words[descriptor.CACHE] = cache.address if cache else 0
        self._lay_out_scratch()
        self._lay_out_arena()
        self._lay_out_trees(config)
        self._settle(config, plan)
        self._policy_temperature = config.policy_temperature
        self.take_scales(plan.policy_scale, plan.value_scale)

    @property
    def address(self) -> int:
        """Address of the descriptor, valid as long as this object lives."""
        return int(self.words.ctypes.data)

    @property
    def bytes_touched(self) -> int:
        """Bytes of all pages that were ever in use."""
        nodes = int(self.words[descriptor.NODE_FRESH]) * NODE_PAGE_BYTES
        return nodes + int(self.words[descriptor.EDGE_FRESH]) * EDGE_PAGE_BYTES

    @property
    def bytes_reserved(self) -> int:
        """Bytes that ``bytes_touched`` cannot exceed."""
        return self.limits.nbytes * (self.num_trees + 1)

    def take_scales(self, policy_scale: float, value_scale: float) -> None:
        """Read answers by other scales from now on: logits per accumulator unit and step.

        No tree may hold what a network with the old ones said.
        """
        reals = self.words.view(np.float64)
        reals[descriptor.POLICY_SCALE] = policy_scale * LOG2_E / self._policy_temperature
        reals[descriptor.VALUE_SCALE] = value_scale * LOG2_E

    def counters(self) -> dict[str, int]:
        """Sums since the start: what the forest did."""
        names = (
            "SIMULATIONS", "EVALUATIONS", "CACHE_PROBES", "CACHE_HITS", "TERMINALS", "SEARCHES",
            "UNEXPANDED", "DEPTH", "NODES_MADE", "EDGES_MADE",
        )  # fmt: skip
        return {name.lower(): int(self.words[getattr(descriptor, name)]) for name in names}

    def search(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """Carry the searches of ``rows`` on, see ``work.search_rows``; the trees now decided."""
        decided = np.empty(len(rows), np.int64)
        return decided[: search_rows(self.address, rows.astype(np.int32), decided)]

    def look_up(self, tablebase: Tablebase | None) -> NDArray[np.int32]:
        """Answer what waits for the tablebase; returns the rows that have an outcome.

        The others, unknown to it, ask the network.
        """
        probes = self._take(self.probes, descriptor.NUM_PROBES)
        if tablebase is None or not len(probes):
            return probes[:0]
        outcomes = tablebase.outcomes(self._requests.planes[probes, :POSITION_WORDS])
        answer_probes(self.address, probes, outcomes)
        known: NDArray[np.bool_] = self.lane_records[probes, LANE_STATE] == LANE_ANSWERED
        return probes[known]

    def take_asked(self) -> NDArray[np.int32]:
        """Rows with questions written since the last call."""
        return self._take(self.asked, descriptor.NUM_ASKED)

    def _take(self, rows: NDArray[np.int32], word: int) -> NDArray[np.int32]:
        taken = rows[: self.words[word]].copy()
        self.words[word] = 0
        return taken

    def _point(self, word: int, array: NDArray[Any]) -> None:
        """Let a word of the descriptor hold the address of an array, and keep the array."""
        if not array.flags.c_contiguous:
            raise ValueError("the arrays of a forest must be contiguous")
        self._kept.append(array)
        self.words[word] = array.ctypes.data

    def _point_to_requests(self, requests: Requests) -> None:
        self._point(descriptor.PLANES, requests.planes)
        self._point(descriptor.LEGAL, requests.legal)
        self._point(descriptor.NUM_LEGAL, requests.num_legal)
        self._point(descriptor.POLICY, requests.policy)
        self._point(descriptor.WDL, requests.wdl)
        self._point(descriptor.STEPS, requests.steps)
        self.words[descriptor.ROW_BYTES] = requests.planes.strides[0]
        self.words[descriptor.SEEN] = history_of(requests.planes.shape[1])

    def _lay_out_scratch(self) -> None:
        self._point(descriptor.BOARD, np.zeros(POSITION_WORDS, np.uint64))
        self._point(descriptor.HISTORY, np.zeros(KEY_HISTORY, np.uint64))
        self._point(descriptor.TRAIL, no_past(1))
        self._point(descriptor.MOVES, np.zeros(MOVE_BUFFER, np.uint16))
        self._point(descriptor.TRIAL_BOARD, np.zeros(POSITION_WORDS, np.uint64))
        self._point(descriptor.TRIAL_MOVES, np.zeros(MOVE_BUFFER, np.uint16))
        self._point(descriptor.WEIGHTS, np.zeros(MAX_MOVES, np.int32))
        self._point(descriptor.REALS, np.zeros(MAX_MOVES, np.float64))
        self._point(descriptor.ENTRY, np.zeros(-(-ENTRY_BYTES // 8), np.int64))

    def _lay_out_arena(self) -> None:
        """Pages for all trees at their limits, and one more while a tree is copied.

        The system commits memory as it is touched.
        """
        trees = self.num_trees + 1
        node_pages, edge_pages = trees * self.limits.node_pages, trees * self.limits.edge_pages
        self.nodes = _lines(node_pages * NODE_PAGE_BYTES).reshape(-1, NODE_BYTES // 4)
        self.edges = _lines(edge_pages * EDGE_PAGE_BYTES).reshape(-1, EDGE_BYTES // 4)
        self._point(descriptor.NODES, self.nodes)
        self._point(descriptor.EDGES, self.edges)
        self.links = {
            descriptor.NODE_FOLLOWING: np.empty(node_pages, np.int32),
            descriptor.EDGE_FOLLOWING: np.empty(edge_pages, np.int32),
        }
        for word, links in self.links.items():
            self._point(word, links)
        self.words[[descriptor.NODE_FREE, descriptor.EDGE_FREE]] = NO_PAGE

    def _lay_out_trees(self, config: TreeConfig) -> None:
        records = _lines(self.num_trees * record.TREE_BYTES).reshape(self.num_trees, -1)
        records[:, record.ROOT] = NO_NODE
        for word in ("FIRST_NODE_PAGE", "LAST_NODE_PAGE", "FIRST_EDGE_PAGE", "LAST_EDGE_PAGE"):
            records[:, getattr(record, word)] = NO_PAGE
        bases = np.zeros((self.num_trees, config.considered), np.float64)
        self._kept.append(bases)
        spots = bases.ctypes.data + np.arange(self.num_trees) * bases.itemsize * config.considered
        records.view(np.int64)[:, record.BASES] = spots
        self.records = records
        self._point(descriptor.TREES, records)

    def _settle(self, config: TreeConfig, plan: ForestPlan) -> None:
        """Write the settings down."""
        words, reals = self.words, self.words.view(np.float64)
        is_gumbel = config.search == "gumbel"
        words[descriptor.METHOD] = descriptor.GUMBEL if is_gumbel else descriptor.PUCT
        words[descriptor.SOLVE] = config.solve
        words[descriptor.SEE_MATES] = config.solve and config.see_mates
        words[descriptor.REUSE] = config.reuse and not is_gumbel and config.draw_score == 0
        words[descriptor.DRAW_SCORE] = round(config.draw_score * 65536)
        words[descriptor.CONSIDERED] = config.considered
        words[descriptor.MOST_NODES] = self.limits.nodes
        words[descriptor.MOST_EDGE_PAGES] = self.limits.edge_pages
        words[descriptor.TABLEBASE_MEN] = plan.tablebase_men
        words[descriptor.LANES_A_TREE] = plan.lanes
        words.view(np.uint64)[descriptor.SEED] = plan.seed
        words[descriptor.MOST_SIMS] = config.sims
        if is_gumbel:
            self._point(descriptor.HALVING, _halving_tables(config))
        for name in (
            "c_visit", "c_scale", "c_puct", "c_puct_base", "c_puct_factor", "fpu_reduction",
            "root_fpu_reduction", "noise_fraction", "noise_concentration", "forced_playouts",
        ):  # fmt: skip
            reals[getattr(descriptor, name.upper())] = getattr(config, name)


def _halving_tables(config: TreeConfig) -> NDArray[np.int32]:
    """Sequential halving of full and of fast searches, int32[2, considered + 1, sims]."""
    fast = config.fast_sims or config.sims
    kinds = (config.sims, fast)
    return np.stack([halving_table(config.considered, sims, config.sims) for sims in kinds])


def _lines(nbytes: int) -> NDArray[np.int32]:
    """int32 in so many bytes, on a cache line. Raises ConfigError without memory."""
    return aligned_zeros(nbytes, "trees").view(np.int32)
