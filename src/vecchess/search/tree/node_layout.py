"""Where everything lies in the memory of a forest: the trees of many searches, in one arena.

Kernels get one address, of the forest's descriptor, and find everything from there. No Python
object stands for a node; a node is 64 bytes, one cache line, an edge 16:

    node    int32   0 visits    1 pending    2-3 value sum    4-5 draw sum    6 parent    7 its edge
                    8 first edge, or the mating move of a leaf that has one
            uint16  18 edges    19 opened    20 lost    21 state    22 distance    23 cycle
            int32   12 raw value    13 raw draw
            float64 7 prior mass of the edges that were not opened yet

    edge    uint32  0 prior (16 bits) | won 15 | lost 14 | action (13 bits)
            int32   1 child    2 visits
            float32 3 mean value of the child, for the mover who chooses the edge

Edges of a node lie side by side. Opened ones, whose child was visited, come first, in the order
of opening; the next after them is the one that may open next. An edge counts visits with those
pending. ``distance`` is plies to a proven end, ``cycle`` plies since the position occurred, where
that makes the node a draw. Values are in 2**-24 (``UNIT``), for the mover of the node.
"""

from typing import Any

from vecchess.chess.bitboards.bits import load_i32, load_i64, load_u16
from vecchess.jit import inline
from vecchess.search.tree import forest_layout as descriptor
from vecchess.search.tree import tree_layout as record

UNIT = 1 << 24
"""A won game, in the unit of values."""
NODE_BYTES = 64
EDGE_BYTES = 16
NODES_A_PAGE = 32
EDGES_A_PAGE = 512
NO_NODE = -1
NO_PAGE = -1
NO_EDGE = -1

# words of a node
VISITS, PENDING, PARENT, PARENT_EDGE, FIRST_EDGE, RAW_VALUE, RAW_DRAW = 0, 1, 6, 7, 8, 12, 13
VALUE_SUM, DRAW_SUM, UNOPENED_MASS = 1, 2, 7
MATING_ACTION = FIRST_EDGE
"""In a leaf won by a mate in one, which has no edges."""
NUM_EDGES, NUM_OPENED, NUM_LOST, STATE, DISTANCE, CYCLE = 18, 19, 20, 21, 22, 23

# bits of a node's state
WON, LOST, TERMINAL, EXPANDED, ASKED, BLACK = 1, 2, 4, 8, 16, 32
PROVEN = WON | LOST
OVER = PROVEN | TERMINAL
"""Nothing is searched below such a node: it gives its value again."""

# words of an edge
PRIOR_ACTION, CHILD, EDGE_VISITS, EDGE_VALUE = range(4)
ACTION_MASK = 0x1FFF
EDGE_WON, EDGE_LOST = 1 << 15, 1 << 14
"""The move wins, or loses: proven."""


# words of a lane, 16 bytes: a question on its way, one lane a request row
LANE_LEAF, LANE_STATE, LANE_KEY = 0, 1, 1
LANE_BYTES = 16
LANE_FREE, LANE_ASKED, LANE_PROBED, LANE_ANSWERED = range(4)


@inline
def tree_at(forest: Any, tree: Any) -> Any:
    """Address of a tree's record."""
    return load_i64(forest, descriptor.TREES) + tree * record.TREE_BYTES


@inline
def node_at(forest: Any, node: Any) -> Any:
    """Address of a node."""
    return load_i64(forest, descriptor.NODES) + node * NODE_BYTES


@inline
def edge_at(forest: Any, edge: Any) -> Any:
    """Address of an edge."""
    return load_i64(forest, descriptor.EDGES) + edge * EDGE_BYTES


@inline
def lane_at(forest: Any, row: Any) -> Any:
    """Address of the lane of a request row."""
    return load_i64(forest, descriptor.LANES) + row * LANE_BYTES


@inline
def edges_of(forest: Any, node: Any) -> Any:
    """Address of the first edge of the node at address ``node``."""
    return edge_at(forest, load_i32(node, FIRST_EDGE))


@inline
def state_of(node: Any) -> Any:
    """State bits of the node at address ``node``."""
    return load_u16(node, STATE)


@inline
def edge_word(edge: Any) -> Any:
    """Prior, flags and action of the edge at address ``edge``, int64 in 0 .. 2**32 - 1."""
    return load_i32(edge, PRIOR_ACTION) & 0xFFFFFFFF
