"""PUCT: value plus a bonus for moves that the policy prefers and the search visited seldom.

The form is lc0's: the weight of the bonus grows with the visits of the node, a move that was not
visited counts as the node less a reduction. The weight is smaller where the node is nearly won or
lost (decision 347). Forced playouts at the root are KataGo's (Wu 2019, section 3.2).
"""

from math import sqrt
from typing import Any

import numpy as np

from vecchess.jit import inline, part, paste
from vecchess.search.kernels.exact_math import log
from vecchess.search.kernels.expand import place_next_edge
from vecchess.search.kernels.noise import draw_gamma, search_counter
from vecchess.search.tree.edge_word import (
    EDGE_LOST,
    WITHOUT_PROOF,
    action_of,
    encode_prior,
    prior_of,
)
from vecchess.search.tree.layout import UNIT

NO_SCORE = -1e300
"""Below every score of a move."""
LEAST_VARIANCE = 0.04
"""Of a result, for the weight of exploration."""


@inline
def exploration_weight(forest: Any, node: Any, visits: Any) -> Any:
    """The bonus at ``node`` with so many visits, for prior 1 and an unvisited move.

    It is in proportion to the standard deviation of a result that is won or lost, and whose mean is
    the node's value.
    """
    base = forest.c_puct_base
    growth = log((np.float64(visits) + base) / base)
    weight = forest.c_puct + forest.c_puct_factor * growth
    mean = _mean(node)
    variance = max(LEAST_VARIANCE, 1.0 - mean * mean)
    return weight * sqrt(variance) * sqrt(np.float64(max(np.int64(1), visits - 1)))


@inline
def puct_score(weight: Any, edge: Any, visits: Any) -> Any:
    """PUCT score of an edge with so many visits, by ``exploration_weight``."""
    return edge.value + weight * prior_of(edge) / np.float64(1 + visits)


@part
def select_puct(forest, node, forced, reduction):  # type: ignore[no-untyped-def]
    """Number of the edge to follow from a node.

    ``forced``: k of forced playouts, 0 for none; ``reduction``: of a first visit.
    """
    visits = node.visits + node.pending
    weight = exploration_weight(forest, node, visits)
    below = np.float64(visits - 1)
    opened, edges = node.num_opened, forest.edges[node.first_edge]
    best, best_score = np.int64(0), NO_SCORE
    for index in range(opened):
        edge = edges[index]
        if edge.word & EDGE_LOST != 0:
            continue
        if forced > 0.0 and np.float64(edge.visits) < sqrt(forced * prior_of(edge) * below):
            return np.int64(index)
        score = puct_score(weight, edge, edge.visits)
        if score > best_score:
            best, best_score = np.int64(index), score
    if opened < node.num_edges:
        score = _first_visit_value(node, reduction) + weight * prior_of(edges[opened])
        if score > best_score:
            best = np.int64(opened)
    return best


@inline
def _mean(node: Any) -> Any:
    """The value of ``node``, which was visited, from -1 to 1."""
    return np.float64(node.value_sum) / (np.float64(node.visits) * np.float64(UNIT))


@paste
def _first_visit_value(node: Any, reduction: Any) -> Any:
    """The value that a move without a visit counts as."""
    return _mean(node) - reduction * sqrt(max(0.0, 1.0 - node.unopened_mass))


@part
def add_noise(forest, tree, root):  # type: ignore[no-untyped-def]
    """Mix Dirichlet noise into the priors of the root, as AlphaZero does.

    The concentration of a move is inversely proportional to the number of moves.
    """
    fraction = forest.noise_fraction
    total = _draw_noise(forest, tree, root)
    if total <= 0.0:
        return
    edges, unopened = forest.edges[root.first_edge], 0.0
    for index in range(root.num_edges):
        edge, noise = edges[index], forest.reals[index] / total
        mixed = encode_prior(np.float32((1.0 - fraction) * prior_of(edge) + fraction * noise))
        edge.word = mixed << 16 | (edge.word & 0xFFFF)
        if index >= root.num_opened:
            unopened += prior_of(edge)
    root.unopened_mass = unopened
    place_next_edge(edges, root.num_opened, root.num_edges)


@paste
def _draw_noise(forest: Any, tree: Any, root: Any) -> Any:
    """Write a gamma variate for each edge; returns their sum, taken by descending prior.

    The order of the sum must not depend on the order in which edges were opened.
    """
    edges, count = forest.edges[root.first_edge], root.num_edges
    alpha = forest.noise_concentration / np.float64(count)
    total, last = 0.0, np.int64(1) << 32
    for _ in range(count):
        index, word = np.int64(0), np.int64(-1)
        for other in range(count):
            other_word = edges[other].word & WITHOUT_PROOF
            if word < other_word < last:
                index, word = np.int64(other), other_word
        counter = search_counter(tree.ply, action_of(edges[index]))
        gamma = draw_gamma(alpha, forest.seed, tree.number, counter)
        forest.reals[index] = gamma
        total += gamma
        last = word
    return total
