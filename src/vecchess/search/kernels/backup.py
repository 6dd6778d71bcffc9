"""Values go up the tree: sums in integers, so that their order never matters; and proofs."""

from typing import Any

import numpy as np

from vecchess.chess.bitboards.bits import (
    load_i32,
    load_i64,
    load_u16,
    store,
    store16,
    store_f32,
    store_i32,
)
from vecchess.jit import inline, part, paste
from vecchess.search.tree import forest_layout as descriptor
from vecchess.search.tree import tree_layout as record
from vecchess.search.tree.node_layout import (
    BLACK,
    CHILD,
    DISTANCE,
    DRAW_SUM,
    EDGE_BYTES,
    EDGE_LOST,
    EDGE_VALUE,
    EDGE_VISITS,
    EDGE_WON,
    LOST,
    NO_EDGE,
    NUM_EDGES,
    NUM_LOST,
    PARENT,
    PARENT_EDGE,
    PENDING,
    PRIOR_ACTION,
    PROVEN,
    RAW_DRAW,
    RAW_VALUE,
    STATE,
    UNIT,
    VALUE_SUM,
    VISITS,
    WON,
    edge_at,
    edge_word,
    edges_of,
    node_at,
    state_of,
)


@inline
def utility_of(forest: Any, tree: Any, node: Any, value: Any, draw: Any) -> Any:
    """A value with what a draw is worth to the side that searches, for the mover of the node."""
    root = node_at(forest, load_i32(tree, record.ROOT))
    worth = (draw * load_i64(forest, descriptor.DRAW_SCORE)) >> 16
    same = (state_of(node) ^ state_of(root)) & BLACK == 0
    return value + worth if same else value - worth


@part
def back_up(forest, leaf):  # type: ignore[no-untyped-def]
    """Add the leaf's own value to every node from the leaf (an address) to the root."""
    state = state_of(leaf)
    value, draw = load_i32(leaf, RAW_VALUE), load_i32(leaf, RAW_DRAW)
    if state & PROVEN:
        value, draw = np.int64(UNIT if state & WON else -UNIT), np.int64(0)
    node = leaf
    while True:
        visits = load_i32(node, VISITS) + 1
        store_i32(node, VISITS, visits)
        store(node, VALUE_SUM, load_i64(node, VALUE_SUM) + value)
        store(node, DRAW_SUM, load_i64(node, DRAW_SUM) + draw)
        edge = load_i32(node, PARENT_EDGE)
        if edge == NO_EDGE:
            return
        write_edge(edge_at(forest, edge), node)
        node = node_at(forest, load_i32(node, PARENT))
        value = -value


@inline
def write_edge(edge: Any, child: Any) -> None:
    """Bring visits and mean of an edge up to date with its child (both addresses).

    A pending visit counts as a loss for the side that chose the move (virtual loss), so that
    simulations under way at the same time take different ways.
    """
    visits, pending = load_i32(child, VISITS), load_i32(child, PENDING)
    state = state_of(child)
    store_i32(edge, EDGE_VISITS, visits + pending)
    if state & PROVEN:
        store_f32(edge, EDGE_VALUE, -1.0 if state & WON else 1.0)
    else:
        total = np.float64(load_i64(child, VALUE_SUM) + pending * UNIT)
        store_f32(edge, EDGE_VALUE, -total / (np.float64(visits + pending) * np.float64(UNIT)))


@part
def propagate_proof(forest, node):  # type: ignore[no-untyped-def]
    """Pass the proven outcome of the node (an address) up as far as it decides anything."""
    while load_i32(node, PARENT_EDGE) != NO_EDGE:
        edge = edge_at(forest, load_i32(node, PARENT_EDGE))
        parent = node_at(forest, load_i32(node, PARENT))
        won = state_of(node) & LOST != 0
        flag = np.int64(EDGE_WON if won else EDGE_LOST)
        if edge_word(edge) & flag or state_of(parent) & PROVEN:
            return
        store_i32(edge, PRIOR_ACTION, edge_word(edge) | flag)
        store_f32(edge, EDGE_VALUE, 1.0 if won else -1.0)
        if won:
            _settle(parent, WON, load_u16(node, DISTANCE) + 1)
        else:
            lost = load_u16(parent, NUM_LOST) + 1
            store16(parent, NUM_LOST, lost)
            if lost < load_u16(parent, NUM_EDGES):
                return
            _settle(parent, LOST, _longest(forest, parent) + 1)
        node = parent


@inline
def _settle(node: Any, outcome: Any, distance: Any) -> None:
    """Note a proven outcome and the plies to it."""
    store16(node, STATE, state_of(node) | outcome)
    store16(node, DISTANCE, distance)


@paste
def _longest(forest: Any, node: Any) -> Any:
    """The most plies any move holds out, all being lost."""
    edge, longest = edges_of(forest, node), np.int64(0)
    for _ in range(load_u16(node, NUM_EDGES)):
        child = node_at(forest, load_i32(edge, CHILD))
        longest = max(longest, load_u16(child, DISTANCE))
        edge += EDGE_BYTES
    return longest


@part
def mark_pending(forest, leaf, by):  # type: ignore[no-untyped-def]
    """Add ``by`` pending visits to every node from the leaf (an address) to the root."""
    node = leaf
    while True:
        store_i32(node, PENDING, load_i32(node, PENDING) + by)
        edge = load_i32(node, PARENT_EDGE)
        if edge == NO_EDGE:
            return
        write_edge(edge_at(forest, edge), node)
        node = node_at(forest, load_i32(node, PARENT))
