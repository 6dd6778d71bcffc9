"""Memory for trees and caches: limits of a tree, and arrays that are committed as touched."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vecchess.config import SearchConfig
from vecchess.errors import ConfigError
from vecchess.machine_limits import MEGABYTE, machine_limits, memory_text
from vecchess.search.tree.layout import EDGES_A_PAGE, NODES_A_PAGE, EdgeRecord, NodeRecord
from vecchess.shapes import MAX_MOVES

LINE_BYTES = 64
ALLOWED_EDGES = 64
"""Room for so many edges a node, twice those of middlegames; beyond it nodes stay leaves."""
USUAL_EDGES = 40
"""Edges of a node on average, with the unused ends of pages: nodes and edges then run out at about
the same time."""
NODE_BYTES, EDGE_BYTES = NodeRecord.dtype.itemsize, EdgeRecord.dtype.itemsize
NODE_PAGE_BYTES = NODE_BYTES * NODES_A_PAGE
EDGE_PAGE_BYTES = EDGE_BYTES * EDGES_A_PAGE
MOST_EDGES = 2**31
"""Edges of a forest have indices in int32."""


@dataclass(frozen=True)
class TreeLimits:
    """Limits of one tree. They follow from the settings alone, so that games are independent."""

    nodes: int
    edge_pages: int

    @classmethod
    def of(cls, config: SearchConfig) -> "TreeLimits":
        """Enough for the simulations of the configuration."""
        nodes = config.sims + 2  # the root, and one that is pending
        pages = -(-nodes * ALLOWED_EDGES // (EDGES_A_PAGE - MAX_MOVES)) + 1
        return cls(nodes, pages)

    @classmethod
    def of_analysis(cls, config: SearchConfig, num_trees: int) -> "TreeLimits":
        """The same; with ``tree_mb`` cut to the share of each of so many trees, and to the edges
        that their forest can number.

        Raises ConfigError where that is too little to search, or more than the machine has.
        """
        limits = cls.of(config)
        if config.tree_mb:
            share = config.tree_mb * MEGABYTE // (num_trees + 1)
            pages = min(limits.edge_pages, (share - limits.node_bytes) // EDGE_PAGE_BYTES)
            least = replace(limits, edge_pages=-(-limits.nodes // NODES_A_PAGE))
            if pages < least.edge_pages:
                raise ConfigError(
                    f"tree_mb: {config.tree_mb} MB is too little for {_trees(config, num_trees)}: "
                    f"give at least {-(-least.nbytes * (num_trees + 1) // MEGABYTE)}"
                )
            numbered = (MOST_EDGES - 1) // (EDGES_A_PAGE * (num_trees + 1))
            limits = replace(limits, edge_pages=max(min(pages, numbered), least.edge_pages))
        limits.check(config, num_trees, num_trees)
        return limits

    @classmethod
    def of_memory(cls, nbytes: int) -> "TreeLimits":
        """Limits as large as ``nbytes`` and the indices of nodes and edges allow.

        Half of it is room for the part that is kept from one move to the next, while it is copied.
        """
        share = nbytes // 2
        nodes = share // (NODE_BYTES + USUAL_EDGES * EDGE_BYTES)
        nodes = min(nodes, MOST_EDGES // (2 * USUAL_EDGES) - NODES_A_PAGE)
        limits = cls(nodes, 0)
        pages = (share - limits.node_bytes) // EDGE_PAGE_BYTES
        return cls(nodes, min(pages, MOST_EDGES // (2 * EDGES_A_PAGE) - 1))

    def check(self, config: SearchConfig, num_trees: int, most_in_forest: int) -> None:
        """Raise ConfigError where so many trees may exceed ``tree_mb`` or the memory.

        ``most_in_forest`` of them lie in one forest, which has room for one more.
        """
        needed = self.forests_nbytes(num_trees, most_in_forest)
        what = f"{_trees(config, num_trees)} may take {-(-needed // MEGABYTE):,} MB"
        how = "fewer simulations or games at a time"
        if config.tree_mb and needed > config.tree_mb * MEGABYTE:
            raise ConfigError(f"{what}, tree_mb allows {config.tree_mb:,}: {how}, or more memory")
        if needed > machine_limits().memory.amount:
            raise ConfigError(f"{what}, more than the memory, {memory_text()}: {how}")
        if self.edge_pages * EDGES_A_PAGE * (most_in_forest + 1) >= MOST_EDGES:
            raise ConfigError(f"{what}, more than one mover can number: {how}, or more movers")

    @property
    def node_pages(self) -> int:
        """Pages of nodes."""
        return -(-self.nodes // NODES_A_PAGE)

    @property
    def node_bytes(self) -> int:
        """Bytes of the pages of nodes."""
        return self.node_pages * NODE_PAGE_BYTES

    @property
    def nbytes(self) -> int:
        """Bytes of a tree at its limits."""
        return self.node_bytes + self.edge_pages * EDGE_PAGE_BYTES

    def forests_nbytes(self, num_trees: int, most_in_forest: int) -> int:
        """Bytes of so many trees at their limits, in forests of at most ``most_in_forest``, each of
        which has room for one more."""
        return self.nbytes * (num_trees + -(-num_trees // most_in_forest))


def _trees(config: SearchConfig, num_trees: int) -> str:
    return f"{num_trees:,} tree{'s' if num_trees > 1 else ''} of {config.sims:,} simulations"


def aligned_zeros(nbytes: int, purpose: str) -> NDArray[np.uint64]:
    """uint64 in so many bytes, a multiple of 8, beginning on a cache line.

    Raises ConfigError, naming the ``purpose``, where the system does not give as much.
    """
    try:
        room = np.zeros((nbytes + LINE_BYTES) // 8, np.uint64)
    except MemoryError:
        raise ConfigError(
            f"no memory for {purpose} of {nbytes // MEGABYTE:,} MB: choose a smaller one"
        ) from None
    start = (-room.ctypes.data // 8) % (LINE_BYTES // 8)
    return room[start : start + nbytes // 8]
