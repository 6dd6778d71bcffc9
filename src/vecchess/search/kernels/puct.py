"""PUCT: value plus a bonus for moves the policy likes and the search visited seldom.

The form is lc0's: the weight of the bonus grows with the visits of the node, a move that was not
visited counts as the node less a reduction. Forced playouts at the root are KataGo's (Wu 2019,
section 3.2).
"""

from math import sqrt
from typing import Any

import numpy as np

from vecchess.chess.bitboards.bits import (
    load_f32,
    load_f64,
    load_i32,
    load_i64,
    load_u16,
    store_f64,
    store_i32,
)
from vecchess.jit import inline, part, paste
from vecchess.search.kernels.exact_math import log
from vecchess.search.kernels.expand import action_of, place_next_edge, prior_of
from vecchess.search.kernels.noise import draw_gamma, search_counter
from vecchess.search.kernels.priors import encode_prior
from vecchess.search.tree import forest_layout as descriptor
from vecchess.search.tree import tree_layout as record
from vecchess.search.tree.node_layout import (
    EDGE_BYTES,
    EDGE_LOST,
    EDGE_VALUE,
    EDGE_VISITS,
    NUM_EDGES,
    NUM_OPENED,
    PENDING,
    PRIOR_ACTION,
    UNIT,
    UNOPENED_MASS,
    VALUE_SUM,
    VISITS,
    edge_word,
    edges_of,
)

_NO_SCORE = -1e300
_PLAIN = 0xFFFF1FFF
"""Prior and action of an edge's word, without what is proven."""


@inline
def exploration_weight(forest: Any, visits: Any) -> Any:
    """The exploration term at a node with so many visits, for prior 1 and an unvisited move."""
    base = load_f64(forest, descriptor.C_PUCT_BASE)
    growth = log((np.float64(visits) + base) / base)
    weight = load_f64(forest, descriptor.C_PUCT)
    weight += load_f64(forest, descriptor.C_PUCT_FACTOR) * growth
    return weight * sqrt(np.float64(max(np.int64(1), visits - 1)))


@part
def select_puct(forest, node, forced, reduction):  # type: ignore[no-untyped-def]
    """Number of the edge to follow from the node at address ``node``.

    ``forced``: k of forced playouts, 0 for none; ``reduction``: of a first visit.
    """
    visits = load_i32(node, VISITS) + load_i32(node, PENDING)
    bonus = exploration_weight(forest, visits)
    below = np.float64(visits - 1)
    opened = load_u16(node, NUM_OPENED)
    edge = edges_of(forest, node)
    best, best_score = np.int64(0), _NO_SCORE
    for index in range(opened):
        if edge_word(edge) & EDGE_LOST == 0:
            prior, edge_visits = prior_of(edge), load_i32(edge, EDGE_VISITS)
            if forced > 0.0 and np.float64(edge_visits) < sqrt(forced * prior * below):
                return np.int64(index)
            score = load_f32(edge, EDGE_VALUE) + bonus * prior / np.float64(1 + edge_visits)
            if score > best_score:
                best, best_score = np.int64(index), score
        edge += EDGE_BYTES
    if opened < load_u16(node, NUM_EDGES):
        score = _first_visit(node, reduction) + bonus * prior_of(edge)
        if score > best_score:
            best = np.int64(opened)
    return best


@paste
def _first_visit(node: Any, reduction: Any) -> Any:
    """What a move without a visit counts as."""
    value = np.float64(load_i64(node, VALUE_SUM))
    value /= np.float64(load_i32(node, VISITS)) * np.float64(UNIT)
    visited = 1.0 - load_f64(node, UNOPENED_MASS)
    return value - reduction * sqrt(max(0.0, visited))


@part
def add_noise(forest, tree, root):  # type: ignore[no-untyped-def]
    """Mix Dirichlet noise into the priors of the root at address ``root``, as AlphaZero does.

    The concentration of a move is inversely proportional to the number of moves.
    """
    fraction = load_f64(forest, descriptor.NOISE_FRACTION)
    total = _draw_noise(forest, tree, root)
    if total <= 0.0:
        return
    gammas = load_i64(forest, descriptor.REALS)
    count, opened = load_u16(root, NUM_EDGES), load_u16(root, NUM_OPENED)
    edges = edges_of(forest, root)
    unopened = 0.0
    for index in range(count):
        edge = edges + index * EDGE_BYTES
        noise = load_f64(gammas, index) / total
        mixed = encode_prior(np.float32((1.0 - fraction) * prior_of(edge) + fraction * noise))
        store_i32(edge, PRIOR_ACTION, mixed << 16 | (edge_word(edge) & 0xFFFF))
        if index >= opened:
            unopened += prior_of(edge)
    store_f64(root, UNOPENED_MASS, unopened)
    place_next_edge(edges, opened, count)


@paste
def _draw_noise(forest: Any, tree: Any, root: Any) -> Any:
    """Write a gamma variate for each edge; returns their sum, taken by descending prior.

    The order of the sum must not depend on the order in which edges were opened.
    """
    gammas, edges = load_i64(forest, descriptor.REALS), edges_of(forest, root)
    count, ply = load_u16(root, NUM_EDGES), load_i32(tree, record.PLY)
    alpha = load_f64(forest, descriptor.NOISE_CONCENTRATION) / np.float64(count)
    seed, number = load_i64(forest, descriptor.SEED), load_i64(tree, record.NUMBER)
    total, last = 0.0, np.int64(1) << 32
    for _ in range(count):
        index, word = np.int64(0), np.int64(-1)
        for other in range(count):
            found = edge_word(edges + other * EDGE_BYTES) & _PLAIN
            if word < found < last:
                index, word = np.int64(other), found
        counter = search_counter(ply, action_of(edges + index * EDGE_BYTES))
        gamma = draw_gamma(alpha, seed, number, counter)
        store_f64(gammas, index, gamma)
        total += gamma
        last = word
    return total
