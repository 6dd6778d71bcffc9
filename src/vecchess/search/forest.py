"""The memory of many searches that one thread runs: trees, node pool, lanes, scratch, settings."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards import tables
from vecchess.chess.history import Pasts, no_past
from vecchess.chess.movegen import MOVE_BUFFER
from vecchess.chess.planes import positions_seen
from vecchess.chess.rules import KEY_HISTORY
from vecchess.config import TreeConfig
from vecchess.inference.requests import Requests
from vecchess.memory_layout import HoldsAddresses, Record
from vecchess.search.kernels.entry_points import receive_outcomes, search_rows
from vecchess.search.kernels.evaluation_cache import EvaluationCache
from vecchess.search.kernels.gumbel import halving_table
from vecchess.search.kernels.sampling import LOG2_E
from vecchess.search.tablebase import Tablebase
from vecchess.search.tree import layout
from vecchess.search.tree.layout import EdgeRecord, ForestRecord, LaneRecord, NodeRecord, TreeRecord
from vecchess.search.tree_memory import EDGE_PAGE_BYTES, NODE_PAGE_BYTES, TreeLimits, aligned_zeros
from vecchess.shapes import MAX_MOVES, POSITION_WORDS

Boards = tuple[NDArray[np.uint64], NDArray[np.uint64], Pasts]
Records = NDArray[np.void]
"""Records of ``search.tree.layout``, as numpy sees them: fields by name."""
_REQUEST_ARRAYS = ("planes", "legal", "num_legal", "policy", "wdl", "steps")


class Forest(HoldsAddresses):
    """G trees over G boards. One thread at a time; kernels get ``address``.

    boards: positions uint64[G, 8], keys uint64[G, 102] and past uint64[G, 8, 8], the boards to be
    searched, their histories and the positions before them. ``requests`` has G * lanes rows. All
    are the caller's and stay where they are. How many positions the network sees follows from its
    planes; if it is one, ``past`` may be empty.

    The memory as numpy sees it, records of ``search.tree.layout``: header: ForestRecord,
    nodes: NodeRecord[N], edges: EdgeRecord[E], trees: TreeRecord[G], lanes: LaneRecord[G * lanes].
    """

    def __init__(
        self,
        config: TreeConfig,
        limits: TreeLimits,
        boards: Boards,
        requests: Requests,
        scales: tuple[float, float],
        seed: int,
        lanes: int = 1,
        cache: EvaluationCache | None = None,
        tablebase: Tablebase | None = None,
    ) -> None:
        """Trees without nodes; each may have ``lanes`` simulations in flight.

        scales: of the network's policy and value, logits per accumulator unit and step. seed: of
        the random numbers. Raises ConfigError where memory is short.
        """
        self.limits = limits
        self.header: Records = np.zeros((), ForestRecord.dtype)
        self.address = int(self.header.ctypes.data)
        """Address of the header for kernels, valid as long as this object lives."""
        self.num_trees = len(boards[0])
        self.lanes_a_tree = lanes
        self.tablebase_hits = 0
        """Positions of searches that the tablebase answered."""
        self._tablebase = tablebase
        self._requests = requests
        self._kept: list[Any] = [cache]
        self._point(**dict(zip(("positions", "keys", "past"), boards, strict=True)))
        self._point(**{name: getattr(requests, name) for name in _REQUEST_ARRAYS})
        self.header["row_bytes"] = requests.planes.strides[0]
        self.header["seen"] = positions_seen(requests.planes.shape[1])
        self.header["tables"] = tables.address()
        self.header["cache"] = cache.address if cache else 0
        self._allocate_scratch()
        self._allocate_rows()
        self._allocate_pool()
        self._allocate_trees(config)
        self._write_settings(config)
        self.header["seed"] = seed
        self._temperature = config.prior_temperature
        self.set_scales(*scales)

    @property
    def bytes_touched(self) -> int:
        """Bytes of all pages that were ever in use."""
        nodes = int(self.header["node_pages"]["first_unused"]) * NODE_PAGE_BYTES
        return nodes + int(self.header["edge_pages"]["first_unused"]) * EDGE_PAGE_BYTES

    @property
    def bytes_reserved(self) -> int:
        """Bytes that ``bytes_touched`` cannot exceed."""
        return self.limits.nbytes * (self.num_trees + 1)

    def memory(self) -> Iterator[tuple[NDArray[Any], bool]]:
        """All arrays that kernels reach from ``address``, but lookup tables and cache; and whether
        they hold addresses of others."""
        yield self.header, True
        for array in self._kept:
            if isinstance(array, np.ndarray):
                yield array, array is self.trees

    def root(self, tree: int) -> Any:
        """The NodeRecord of a tree's root; changes to it are changes to the tree."""
        return self.nodes[self.trees["root"][tree]]

    def root_edges(self, tree: int) -> Records:
        """EdgeRecord[L] of a tree's root, opened ones first; changes are changes to the tree."""
        root = self.root(tree)
        first = int(root["first_edge"])
        return self.edges[first : first + int(root["num_edges"])]

    def set_scales(self, policy_scale: float, value_scale: float) -> None:
        """Read answers by other scales from now on: logits per accumulator unit and step.

        No tree may hold evaluations of a network with the old ones.
        """
        self.header["policy_scale"] = policy_scale * LOG2_E / self._temperature
        self.header["value_scale"] = value_scale * LOG2_E

    def counters(self) -> dict[str, int]:
        """Sums since the start, by name."""
        return {name: int(self.header[name]) for name in layout.COUNTERS}

    def search(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """Advance the searches of ``rows``, see ``search_rows``, with what the tablebase knows.

        Returns the trees now decided, and those for whose game's own position the tablebase has an
        outcome (``probe_game_position``).
        """
        over = []
        while True:
            decided = np.empty(len(rows), np.int64)
            num_decided = search_rows(self.address, np.asarray(rows, np.int32), decided)
            over.append(decided[:num_decided])
            known = rows[:0] if self._tablebase is None else self._probe_tablebase()
            if not len(known):
                return over[0] if len(over) == 1 else np.concatenate(over)
            is_game = self.lanes["leaf"][known] == layout.NO_NODE
            over.append(known[is_game].astype(np.int64) // self.lanes_a_tree)
            rows = known[~is_game]
            self.tablebase_hits += len(rows)

    def _probe_tablebase(self) -> NDArray[np.int32]:
        """Answer the rows that wait for the tablebase; returns those that have an outcome.

        The others request the network's evaluation.
        """
        rows = self._take(self._probed_rows, "num_probed")
        if not len(rows):
            return rows
        assert self._tablebase is not None, "without one no row waits for it"
        outcomes = self._tablebase.outcomes(self._requests.planes[rows, :POSITION_WORDS])
        receive_outcomes(self.address, rows, outcomes)
        has_outcome: NDArray[np.bool_] = self.lanes["state"][rows] == layout.LANE_ANSWERED
        return rows[has_outcome]

    def take_requests(self) -> NDArray[np.int32]:
        """Rows with requests written since the last call."""
        return self._take(self._requested_rows, "num_requested")

    def _take(self, rows: NDArray[np.int32], count: str) -> NDArray[np.int32]:
        taken = rows[: int(self.header[count])].copy()
        self.header[count] = 0
        return taken

    def _point(self, **arrays: NDArray[Any]) -> None:
        """Let fields of the header hold the addresses of arrays, and keep the arrays."""
        for name, array in arrays.items():
            if not array.flags.c_contiguous:
                raise ValueError("the arrays of a forest must be contiguous")
            self._kept.append(array)
            self.header[name] = array.ctypes.data

    def _allocate_scratch(self) -> None:
        self._point(
            board=np.zeros(POSITION_WORDS, np.uint64),
            path_keys=np.zeros(KEY_HISTORY, np.uint64),
            path_past=no_past(1),
            moves=np.zeros(MOVE_BUFFER, np.uint16),
            trial_board=np.zeros(POSITION_WORDS, np.uint64),
            trial_moves=np.zeros(MOVE_BUFFER, np.uint16),
            weights=np.zeros(MAX_MOVES, np.int32),
            reals=np.zeros(MAX_MOVES, np.float64),
        )

    def _allocate_rows(self) -> None:
        """Lanes, and room for lists of all request rows."""
        num_rows = self.num_trees * self.lanes_a_tree
        self.lanes = _records(LaneRecord, num_rows)
        self._requested_rows, self._probed_rows = np.zeros((2, num_rows), np.int32)
        self._point(lanes=self.lanes)
        self._point(requested_rows=self._requested_rows, probed_rows=self._probed_rows)

    def _allocate_pool(self) -> None:
        """Pages for all trees at their limits, and one more while a tree is copied.

        The system commits memory as it is touched.
        """
        trees = self.num_trees + 1
        node_pages, edge_pages = trees * self.limits.node_pages, trees * self.limits.edge_pages
        self.nodes = _records(NodeRecord, node_pages * layout.NODES_A_PAGE)
        self.edges = _records(EdgeRecord, edge_pages * layout.EDGES_A_PAGE)
        self._point(nodes=self.nodes, edges=self.edges)
        for kind, num_pages in (("node_pages", node_pages), ("edge_pages", edge_pages)):
            following = np.zeros(num_pages, np.int32)
            self._kept.append(following)
            self.header[kind]["following"] = following.ctypes.data
            self.header[kind]["first_free"] = layout.NO_PAGE

    def _allocate_trees(self, config: TreeConfig) -> None:
        self.trees = _records(TreeRecord, self.num_trees)
        self.trees["root"] = layout.NO_NODE
        for kind in ("node_pages", "edge_pages"):
            self.trees[kind]["first"] = self.trees[kind]["last"] = layout.NO_PAGE
        scores = np.zeros((self.num_trees, _most_considered(config)), np.float64)
        self._kept.append(scores)
        addresses = scores.ctypes.data + np.arange(self.num_trees) * scores.strides[0]
        self.trees["candidate_scores"] = addresses
        self._point(trees=self.trees)

    def _write_settings(self, config: TreeConfig) -> None:
        header, is_gumbel = self.header, config.search == "gumbel"
        header["method"] = layout.GUMBEL if is_gumbel else layout.PUCT
        header["solve"] = config.solve
        header["see_mates"] = config.solve and config.see_mates
        # Gumbel searches begin with an empty tree (decision 54)
        header["reuse"] = config.reuse and not is_gumbel and config.draw_score == 0
        header["draw_score"] = round(config.draw_score * 65536)
        header["considered"] = _most_considered(config)
        header["max_nodes"] = self.limits.nodes
        header["max_edge_pages"] = self.limits.edge_pages
        header["tablebase_men"] = self._tablebase.most_men if self._tablebase else 0
        header["lanes_a_tree"] = self.lanes_a_tree
        header["max_sims"] = config.sims
        if is_gumbel:
            self._point(considered_visits=halving_tables(config))
        for name in (
            "c_visit", "c_scale", "c_puct", "c_puct_base", "c_puct_factor", "fpu_reduction",
            "root_fpu_reduction", "noise_fraction", "noise_concentration", "forced_playouts",
        ):  # fmt: skip
            header[name] = getattr(config, name)


def _kinds(config: TreeConfig) -> tuple[int, int]:
    """Simulations of full and of fast searches."""
    return config.sims, config.fast_sims or config.sims


def _most_considered(config: TreeConfig) -> int:
    """Moves that any kind of search considers, at most."""
    return max(config.num_considered(sims) for sims in _kinds(config))


def halving_tables(config: TreeConfig) -> NDArray[np.int32]:
    """Sequential halving of full and of fast searches, int32[2, considered + 1, sims].

    A kind that considers fewer moves than the other leaves the rest of the candidates alone.
    """
    candidates = np.arange(_most_considered(config) + 1)
    tables = []
    for sims in _kinds(config):
        considered = config.num_considered(sims)
        table = halving_table(considered, sims, config.sims)
        tables.append(table[np.minimum(candidates, considered)])
    return np.stack(tables)


def _records(kind: type[Record], count: int) -> Records:
    """So many records, zero, on a cache line. Raises ConfigError without memory."""
    records: Records = aligned_zeros(count * kind.dtype.itemsize, "trees").view(kind.dtype)
    return records
