"""Values go up the tree: sums in integers, so that their order never matters (decision 49); and
proofs of wins and losses (decision 58)."""

from typing import Any

import numpy as np

from vecchess.jit import inline, part, paste
from vecchess.search.tree.edge_word import EDGE_LOST, EDGE_WON
from vecchess.search.tree.layout import BLACK, LOST, NO_EDGE, PROVEN, UNIT, WON


@inline
def utility_of(forest: Any, tree: Any, node: Any, value: Any, draw: Any) -> Any:
    """A value with what a draw is worth to the side that searches, for the mover of the node."""
    worth = (draw * forest.draw_score) >> 16
    is_same_side = (node.state ^ forest.nodes[tree.root].state) & BLACK == 0
    return value + worth if is_same_side else value - worth


@part
def back_up(forest, leaf):  # type: ignore[no-untyped-def]
    """Add the leaf's own value to every node from the leaf to the root."""
    value, draw = leaf.raw_value, leaf.raw_draw
    if leaf.state & PROVEN:
        value, draw = np.int64(UNIT if leaf.state & WON else -UNIT), np.int64(0)
    node = leaf
    while True:
        node.visits += 1
        node.value_sum += value
        node.draw_sum += draw
        if node.parent_edge == NO_EDGE:
            return
        update_edge(forest.edges[node.parent_edge], node)
        node = forest.nodes[node.parent]
        value = -value


@inline
def update_edge(edge: Any, child: Any) -> None:
    """Bring visits and mean value of an edge up to date with its child.

    A pending visit counts as a loss for the side that chose the move (virtual loss), so that
    simulations under way at the same time take different paths.
    """
    visits, pending = child.visits, child.pending
    edge.visits = visits + pending
    if child.state & PROVEN:
        edge.value = -1.0 if child.state & WON else 1.0
    else:
        total = np.float64(child.value_sum + pending * UNIT)
        edge.value = -total / (np.float64(visits + pending) * np.float64(UNIT))


@part
def propagate_proof(forest, node):  # type: ignore[no-untyped-def]
    """Pass the proven outcome of a node up as far as it decides anything."""
    while node.parent_edge != NO_EDGE:
        edge, parent = forest.edges[node.parent_edge], forest.nodes[node.parent]
        is_won = node.state & LOST != 0
        flag = np.int64(EDGE_WON if is_won else EDGE_LOST)
        if edge.word & flag or parent.state & PROVEN:
            return
        edge.word |= flag
        edge.value = 1.0 if is_won else -1.0
        if is_won:
            _set_proven(parent, WON, node.distance + 1)
        else:
            parent.num_lost += 1
            if parent.num_lost < parent.num_edges:
                return
            _set_proven(parent, LOST, _longest_distance(forest, parent) + 1)
        node = parent


@inline
def _set_proven(node: Any, outcome: Any, distance: Any) -> None:
    """Set a proven outcome, WON or LOST, and the plies to it."""
    node.state |= outcome
    node.distance = distance


@paste
def _longest_distance(forest: Any, node: Any) -> Any:
    """The most plies that any move holds out, all being lost."""
    longest = np.int64(0)
    edges = forest.edges[node.first_edge]
    for index in range(node.num_edges):
        longest = max(longest, forest.nodes[edges[index].child].distance)
    return longest


@part
def mark_pending(forest, leaf, by):  # type: ignore[no-untyped-def]
    """Add ``by`` pending visits to every node from the leaf to the root."""
    node = leaf
    while True:
        node.pending += by
        if node.parent_edge == NO_EDGE:
            return
        update_edge(forest.edges[node.parent_edge], node)
        node = forest.nodes[node.parent]
