"""Visits as a policy target, without those that were only forced (Wu 2019, section 3.2)."""

from math import floor, sqrt
from typing import Any

import numpy as np

from vecchess.chess.bitboards.bits import (
    load_f32,
    load_f64,
    load_i32,
    load_i64,
    load_u16,
    store_i32,
)
from vecchess.jit import inline, part, paste
from vecchess.search.kernels.expand import place_next_edge, prior_of
from vecchess.search.kernels.puct import exploration_weight
from vecchess.search.tree import forest_layout as descriptor
from vecchess.search.tree import tree_layout as record
from vecchess.search.tree.node_layout import (
    EDGE_BYTES,
    EDGE_LOST,
    EDGE_VALUE,
    EDGE_VISITS,
    NUM_EDGES,
    NUM_LOST,
    NUM_OPENED,
    VISITS,
    edge_word,
    edges_of,
)


@part
def prune_visits(forest, tree, root):  # type: ignore[no-untyped-def]
    """Write int32 visits of all edges to the forest's weights; returns the best edge's number.

    Moves proven lost count nothing unless all are. Edges that were not opened are put in the
    order of their priors.
    """
    visits, edges = load_i64(forest, descriptor.WEIGHTS), edges_of(forest, root)
    count, opened = load_u16(root, NUM_EDGES), load_u16(root, NUM_OPENED)
    lost = np.int64(EDGE_LOST if load_u16(root, NUM_LOST) < count else 0)
    for index in range(count):
        if index >= opened:
            place_next_edge(edges, index, count)
        edge = edges + index * EDGE_BYTES
        keeps = edge_word(edge) & lost == 0
        store_i32(visits, index, load_i32(edge, EDGE_VISITS) if keeps else np.int64(0))
    best = _best(visits, edges, opened)
    if load_i32(visits, best) == 0:  # every move that was tried is lost, and not all were
        best = _first_not_lost(edges, count)
        store_i32(visits, best, 1)
    elif load_i32(tree, record.EXPLORE) and load_f64(forest, descriptor.FORCED_PLAYOUTS) > 0.0:
        _prune(forest, root, visits, edges, best)
    return np.int64(best)


@paste
def _first_not_lost(edges: Any, count: Any) -> Any:
    """The first edge that is not proven lost; there is one."""
    best = np.int64(0)
    while best < count - 1 and edge_word(edges + best * EDGE_BYTES) & EDGE_LOST != 0:
        best += 1
    return best


@paste
def _best(visits: Any, edges: Any, opened: Any) -> Any:
    """The most visited edge, the more valuable one of two alike."""
    best = np.int64(0)
    for index in range(1, opened):
        more = load_i32(visits, index) - load_i32(visits, best)
        value = load_f32(edges + index * EDGE_BYTES, EDGE_VALUE)
        if more > 0 or (more == 0 and value > load_f32(edges + best * EDGE_BYTES, EDGE_VALUE)):
            best = np.int64(index)
    return best


@paste
def _prune(forest: Any, root: Any, visits: Any, edges: Any, best: Any) -> None:
    """Take forced visits off all other edges as long as PUCT would still prefer the best one."""
    bonus = exploration_weight(forest, load_i32(root, VISITS))
    forced = load_f64(forest, descriptor.FORCED_PLAYOUTS)
    below = np.float64(load_i32(root, VISITS) - 1)
    goal = _score(bonus, edges + best * EDGE_BYTES, load_i32(visits, best))
    for index in range(load_u16(root, NUM_OPENED)):
        before = load_i32(visits, index)
        if index == best or before == 0:
            continue
        edge, left = edges + index * EDGE_BYTES, before
        least = max(np.int64(0), before - np.int64(floor(sqrt(forced * prior_of(edge) * below))))
        while left > least and _score(bonus, edge, left - 1) < goal:
            left -= 1
        if left < before and left <= 1:
            left = np.int64(0)
        store_i32(visits, index, left)


@inline
def _score(bonus: Any, edge: Any, visits: Any) -> Any:
    """PUCT score of the edge at address ``edge`` with so many visits."""
    return load_f32(edge, EDGE_VALUE) + bonus * prior_of(edge) / np.float64(1 + visits)
