"""Gumbel AlphaZero: a few moves drawn without replacement, halved again and again by value.

Danihelka, Guez, Schrittwieser, Silver: Policy improvement by planning with Gumbel (ICLR 2022);
behaviour as in mctx, with values scaled by their range in chess, not by those of the siblings
(decision 55), and noise multiplied by the temperature (decision 56).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.jit import inline, part, paste
from vecchess.search.kernels.exact_math import exp, log
from vecchess.search.kernels.expand import swap_edges
from vecchess.search.kernels.noise import draw_gumbel, search_counter
from vecchess.search.kernels.puct import NO_SCORE
from vecchess.search.tree.edge_word import action_of, prior_of
from vecchess.search.tree.layout import PROVEN, UNIT, WON


@part
def draw_candidates(forest, tree, root):  # type: ignore[no-untyped-def]
    """Put the moves to be considered first among the root's edges, best first."""
    count, edges, scores = root.num_edges, forest.edges[root.first_edge], forest.reals
    _score_moves(forest, tree, edges, count, scores)
    drawn = tree.candidate_scores
    for place in range(tree.num_candidates):
        best = np.int64(place)
        for index in range(place + 1, count):
            is_first = edges[index].word > edges[best].word
            if scores[index] > scores[best] or (scores[index] == scores[best] and is_first):
                best = np.int64(index)
        drawn[place] = scores[best]
        scores[best] = scores[place]
        swap_edges(edges, place, best)


@paste
def _score_moves(forest: Any, tree: Any, edges: Any, count: Any, scores: Any) -> None:
    """Log prior and Gumbel noise of each edge."""
    scale = tree.temperature
    for index in range(count):
        edge = edges[index]
        score = log(prior_of(edge))
        if scale > 0.0:
            counter = search_counter(tree.ply, action_of(edge))
            score = scale * draw_gumbel(forest.seed, tree.number, counter) + score
        scores[index] = score


@part
def select_candidate(forest, tree, root):  # type: ignore[no-untyped-def]
    """Number of the edge to follow from the root: sequential halving."""
    considered = _considered_visits(forest, tree, root.visits + root.pending - 1)
    if considered == 0:
        return np.int64(root.num_opened)
    return best_candidate(forest, tree, root, considered)


@paste
def _considered_visits(forest: Any, tree: Any, simulations: Any) -> Any:
    """Visits of a candidate that may be selected now, after so many simulations."""
    kind = np.int64(1) - tree.is_full
    row = kind * (forest.considered + 1) + tree.num_candidates
    return forest.considered_visits[row * forest.max_sims + simulations]


@part
def best_candidate(forest, tree, root, visits):  # type: ignore[no-untyped-def]
    """Number of the best edge among those with so many visits, by noise, prior and value."""
    scale, edges = value_scale_of(forest, root), forest.edges[root.first_edge]
    drawn, best, best_score = tree.candidate_scores, np.int64(0), NO_SCORE
    for index in range(root.num_opened):
        if edges[index].visits == visits:
            score = drawn[index] + scale * edges[index].value
            if score > best_score:
                best, best_score = np.int64(index), score
    return best


@inline
def most_edge_visits(forest: Any, node: Any) -> Any:
    """Visits of the most visited edge."""
    edges, most = forest.edges[node.first_edge], np.int64(0)
    for index in range(node.num_opened):
        most = max(most, edges[index].visits)
    return most


@inline
def value_scale_of(forest: Any, node: Any) -> Any:
    """The factor from a value in -1 .. 1 to a logit: the paper's sigma, of values in 0 .. 1."""
    visits = forest.c_visit + np.float64(most_edge_visits(forest, node))
    return visits * forest.c_scale * 0.5


@part
def write_improved_policy(forest, node):  # type: ignore[no-untyped-def]
    """The improved policy, unnormalised: softmax of log prior + sigma(completed value).

    Writes a weight for each opened edge to the forest's reals; returns the factor that takes the
    prior of an unopened edge to its weight (0 where all are opened), and the sum of all weights.
    """
    weights, edges, opened = forest.reals, forest.edges[node.first_edge], node.num_opened
    scale = value_scale_of(forest, node)
    mixed, highest = _mixed_value(node, edges, opened)
    has_unopened = opened < node.num_edges
    if has_unopened:
        highest = max(highest, mixed)
    total = 0.0
    for index in range(opened):
        edge = edges[index]
        weight = prior_of(edge) * exp(scale * (edge.value - highest))
        weights[index] = weight
        total += weight
    factor = 0.0
    if has_unopened:
        factor = exp(scale * (mixed - highest))
        total += node.unopened_mass * factor
    return factor, total


@paste
def _mixed_value(node: Any, edges: Any, opened: Any) -> Any:
    """The value given to moves without a visit, and the highest of those visited."""
    mass, weighted, highest = 0.0, 0.0, -1.0
    for index in range(opened):
        prior, value = prior_of(edges[index]), edges[index].value
        mass += prior
        weighted += prior * value
        highest = max(highest, value)
    mean = weighted / mass if opened > 0 else 0.0
    below = np.float64(node.visits + node.pending - 1)
    raw = np.float64(node.raw_value) / np.float64(UNIT)
    return (raw + below * mean) / (below + 1.0), highest


@part
def expect_value(forest, root):  # type: ignore[no-untyped-def]
    """Value and draw that the improved policy expects at the root, float64 in 2**-24.

    A move without a visit counts as the mixed value. The mean of all simulations would also count
    what the moves that were tried and dropped are worth, which are not played (decision 221).
    """
    _, total = write_improved_policy(forest, root)
    weights, edges = forest.reals, forest.edges[root.first_edge]
    rest, mass = total, 0.0
    value, draw, mixed_value, mixed_draw = 0.0, 0.0, 0.0, 0.0
    for index in range(root.num_opened):
        edge, weight = edges[index], weights[index]
        child, prior = forest.nodes[edge.child], prior_of(edge)
        if child.visits > 0:
            q, d = _mean_outcome(child)
            rest, mass = rest - weight, mass + prior
            value, mixed_value = value + weight * q, mixed_value + prior * q
            draw, mixed_draw = draw + weight * d, mixed_draw + prior * d
    trust = np.float64(root.visits - 1) / mass if mass > 0.0 else 0.0
    rest /= np.float64(root.visits)
    value += rest * (np.float64(root.raw_value) + trust * mixed_value)
    draw += rest * (np.float64(root.raw_draw) + trust * mixed_draw)
    return value / total, draw / total


@inline
def _mean_outcome(child: Any) -> Any:
    """Mean value, for the parent's mover, and draw of a node with visits; or what is proven."""
    if child.state & PROVEN:
        return np.float64(-UNIT if child.state & WON else UNIT), 0.0
    visits = np.float64(child.visits)
    return -np.float64(child.value_sum) / visits, np.float64(child.draw_sum) / visits


@part
def select_improved(forest, node):  # type: ignore[no-untyped-def]
    """Number of the edge to follow below the root: the one most short of the improved policy."""
    opened = node.num_opened
    if opened == 0:
        return np.int64(0)
    factor, total = write_improved_policy(forest, node)
    weights, edges = forest.reals, forest.edges[node.first_edge]
    visits = np.float64(node.visits + node.pending)
    best, best_score = np.int64(0), NO_SCORE
    for index in range(opened):
        score = weights[index] / total - np.float64(edges[index].visits) / visits
        if score > best_score:
            best, best_score = np.int64(index), score
    if opened < node.num_edges and prior_of(edges[opened]) * factor / total > best_score:
        best = np.int64(opened)
    return best


def halving_table(considered: int, sims: int, width: int) -> NDArray[np.int32]:
    """Considered visits by number of candidates and simulation, int32[considered + 1, width].

    Each round gives every candidate as many visits, then the better half remains; two remain to
    the end. The sequence is mctx's.
    """
    table = np.zeros((considered + 1, width), np.int32)
    for candidates in range(1, considered + 1):
        table[candidates, :sims] = _halving_row(candidates, sims)
    return table


def _halving_row(candidates: int, sims: int) -> NDArray[np.int64]:
    if candidates == 1:
        return np.arange(sims)
    rounds = (candidates - 1).bit_length()
    parts: list[NDArray[np.int64]] = []
    left, visits, length = candidates, 0, 0
    while length < sims:
        extra = max(1, sims // (rounds * left))
        parts.append(np.repeat(np.arange(visits, visits + extra), left))
        visits, length = visits + extra, length + extra * left
        left = max(2, left // 2)
    return np.concatenate(parts)[:sims]
