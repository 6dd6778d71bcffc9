"""Visits as a policy target, without those that were only forced (Wu 2019, section 3.2)."""

from math import floor, sqrt
from typing import Any

import numpy as np

from vecchess.jit import part, paste
from vecchess.search.kernels.expand import place_next_edge
from vecchess.search.kernels.puct import exploration_weight, puct_score
from vecchess.search.tree.edge_word import EDGE_LOST, prior_of


@part
def prune_visits(forest, tree, root):  # type: ignore[no-untyped-def]
    """Write int32 visits of all edges to the forest's weights; returns the best edge's number.

    Moves proven lost count nothing unless all are. Edges that were not opened are put in the
    order of their priors.
    """
    visits, edges = forest.weights, forest.edges[root.first_edge]
    count, opened = root.num_edges, root.num_opened
    lost = np.int64(EDGE_LOST if root.num_lost < count else 0)
    for index in range(count):
        if index >= opened:
            place_next_edge(edges, index, count)
        visits[index] = edges[index].visits if edges[index].word & lost == 0 else np.int64(0)
    best = _most_visited(visits, edges, opened)
    if visits[best] == 0:  # every move that was tried is lost, and not all were
        best = _first_not_lost(edges, count)
        visits[best] = 1
    elif tree.explores and forest.forced_playouts > 0.0:
        _prune(forest, root, visits, edges, best)
    return np.int64(best)


@paste
def _first_not_lost(edges: Any, count: Any) -> Any:
    """The first edge that is not proven lost; there is one."""
    best = np.int64(0)
    while best < count - 1 and edges[best].word & EDGE_LOST != 0:
        best += 1
    return best


@paste
def _most_visited(visits: Any, edges: Any, opened: Any) -> Any:
    """The most visited edge, the more valuable one of two alike."""
    best = np.int64(0)
    for index in range(1, opened):
        more = visits[index] - visits[best]
        if more > 0 or (more == 0 and edges[index].value > edges[best].value):
            best = np.int64(index)
    return best


@paste
def _prune(forest: Any, root: Any, visits: Any, edges: Any, best: Any) -> None:
    """Take forced visits off all other edges as long as PUCT would still prefer the best one."""
    weight, forced = exploration_weight(forest, root.visits), forest.forced_playouts
    below = np.float64(root.visits - 1)
    goal = puct_score(weight, edges[best], visits[best])
    for index in range(root.num_opened):
        before = visits[index]
        if index == best or before == 0:
            continue
        edge, left = edges[index], before
        least = max(np.int64(0), before - np.int64(floor(sqrt(forced * prior_of(edge) * below))))
        while left > least and puct_score(weight, edge, left - 1) < goal:
            left -= 1
        if left < before and left <= 1:
            left = np.int64(0)
        visits[index] = left
