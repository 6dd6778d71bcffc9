"""Gumbel AlphaZero: a few moves drawn without replacement, halved again and again by value.

Danihelka, Guez, Schrittwieser, Silver: Policy improvement by planning with Gumbel (ICLR 2022);
behaviour as in mctx, with values scaled by their range in chess, not by those of the siblings.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards.bits import (
    load_f32,
    load_f64,
    load_i32,
    load_i64,
    load_u16,
    store_f64,
)
from vecchess.jit import inline, part, paste
from vecchess.search.kernels.exact_math import exp, log
from vecchess.search.kernels.expand import action_of, prior_of, swap_edges
from vecchess.search.kernels.noise import draw_gumbel, search_counter
from vecchess.search.tree import forest_layout as descriptor
from vecchess.search.tree import tree_layout as record
from vecchess.search.tree.node_layout import (
    EDGE_BYTES,
    EDGE_VALUE,
    EDGE_VISITS,
    NUM_EDGES,
    NUM_OPENED,
    PENDING,
    RAW_VALUE,
    UNIT,
    UNOPENED_MASS,
    VISITS,
    edge_word,
    edges_of,
)

_NO_SCORE = -1e300


@part
def draw_candidates(forest, tree, root):  # type: ignore[no-untyped-def]
    """Put the moves to be considered first among the root's edges, best first."""
    count, edges = load_u16(root, NUM_EDGES), edges_of(forest, root)
    scores, bases = load_i64(forest, descriptor.REALS), load_i64(tree, record.BASES)
    _score_moves(forest, tree, edges, count, scores)
    for place in range(load_i32(tree, record.CANDIDATES)):
        best = np.int64(place)
        for index in range(place + 1, count):
            score, best_score = load_f64(scores, index), load_f64(scores, best)
            later = edge_word(edges + index * EDGE_BYTES) > edge_word(edges + best * EDGE_BYTES)
            if score > best_score or (score == best_score and later):
                best = np.int64(index)
        store_f64(bases, place, load_f64(scores, best))
        store_f64(scores, best, load_f64(scores, place))
        swap_edges(edges, place, best)


@paste
def _score_moves(forest: Any, tree: Any, edges: Any, count: Any, scores: Any) -> None:
    """Log prior and Gumbel noise of each edge."""
    seed, number = load_i64(forest, descriptor.SEED), load_i64(tree, record.NUMBER)
    ply, scale = load_i32(tree, record.PLY), load_f64(tree, record.TEMPERATURE)
    for index in range(count):
        edge = edges + index * EDGE_BYTES
        score = log(prior_of(edge))
        if scale > 0.0:
            counter = search_counter(ply, action_of(edge))
            score = scale * draw_gumbel(seed, number, counter) + score
        store_f64(scores, index, score)


@part
def select_candidate(forest, tree, root):  # type: ignore[no-untyped-def]
    """Number of the edge to follow from the root: sequential halving."""
    done = load_i32(root, VISITS) + load_i32(root, PENDING) - 1
    considered = _considered_visits(forest, tree, done)
    if considered == 0:
        return np.int64(load_u16(root, NUM_OPENED))
    return best_candidate(forest, tree, root, considered)


@paste
def _considered_visits(forest: Any, tree: Any, done: Any) -> Any:
    """How often a candidate must have been visited to be taken now."""
    kind = np.int64(1) - load_i32(tree, record.FULL)
    row = kind * (load_i64(forest, descriptor.CONSIDERED) + 1) + load_i32(tree, record.CANDIDATES)
    place = row * load_i64(forest, descriptor.MOST_SIMS) + done
    return load_i32(load_i64(forest, descriptor.HALVING), place)


@part
def best_candidate(forest, tree, root, visits):  # type: ignore[no-untyped-def]
    """Number of the best edge among those with so many visits, by noise, prior and value."""
    scale = value_scale_of(forest, root)
    bases, edge = load_i64(tree, record.BASES), edges_of(forest, root)
    best, best_score = np.int64(0), _NO_SCORE
    for index in range(load_u16(root, NUM_OPENED)):
        if load_i32(edge, EDGE_VISITS) == visits:
            score = load_f64(bases, index) + scale * load_f32(edge, EDGE_VALUE)
            if score > best_score:
                best, best_score = np.int64(index), score
        edge += EDGE_BYTES
    return best


@inline
def most_edge_visits(forest: Any, node: Any) -> Any:
    """Visits of the most visited edge."""
    edge, most = edges_of(forest, node), np.int64(0)
    for _ in range(load_u16(node, NUM_OPENED)):
        most = max(most, load_i32(edge, EDGE_VISITS))
        edge += EDGE_BYTES
    return most


@inline
def value_scale_of(forest: Any, node: Any) -> Any:
    """What takes a value in -1 .. 1 to a logit: the paper's sigma, which has values in 0 .. 1."""
    visits = load_f64(forest, descriptor.C_VISIT)
    visits += np.float64(most_edge_visits(forest, node))
    return visits * load_f64(forest, descriptor.C_SCALE) * 0.5


@part
def write_improved_policy(forest, node):  # type: ignore[no-untyped-def]
    """The improved policy, unnormalised: softmax of log prior + sigma(completed value).

    Writes a weight for each opened edge to the forest's reals; returns the factor that takes the
    prior of an unopened edge to its weight (0 where all are opened), and the sum of all weights.
    """
    weights, edges = load_i64(forest, descriptor.REALS), edges_of(forest, node)
    opened = load_u16(node, NUM_OPENED)
    scale = value_scale_of(forest, node)
    mixed, highest = _mixed_value(node, edges, opened)
    some_left = opened < load_u16(node, NUM_EDGES)
    if some_left:
        highest = max(highest, mixed)
    total, edge = 0.0, edges
    for index in range(opened):
        weight = prior_of(edge) * exp(scale * (load_f32(edge, EDGE_VALUE) - highest))
        store_f64(weights, index, weight)
        total += weight
        edge += EDGE_BYTES
    factor = 0.0
    if some_left:
        factor = exp(scale * (mixed - highest))
        total += load_f64(node, UNOPENED_MASS) * factor
    return factor, total


@paste
def _mixed_value(node: Any, edges: Any, opened: Any) -> Any:
    """The value that moves without a visit are given, and the highest of those visited."""
    mass, weighted, highest, edge = 0.0, 0.0, -1.0, edges
    for _ in range(opened):
        prior, value = prior_of(edge), load_f32(edge, EDGE_VALUE)
        mass += prior
        weighted += prior * value
        highest = max(highest, value)
        edge += EDGE_BYTES
    mean = weighted / mass if opened > 0 else 0.0
    below = np.float64(load_i32(node, VISITS) + load_i32(node, PENDING) - 1)
    raw = np.float64(load_i32(node, RAW_VALUE)) / np.float64(UNIT)
    return (raw + below * mean) / (below + 1.0), highest


@part
def select_improved(forest, node):  # type: ignore[no-untyped-def]
    """Number of the edge to follow below the root: the one most short of the improved policy."""
    opened = load_u16(node, NUM_OPENED)
    if opened == 0:
        return np.int64(0)
    factor, total = write_improved_policy(forest, node)
    weights, edge = load_i64(forest, descriptor.REALS), edges_of(forest, node)
    visits = np.float64(load_i32(node, VISITS) + load_i32(node, PENDING))
    best, best_score = np.int64(0), _NO_SCORE
    for index in range(opened):
        score = load_f64(weights, index) / total - np.float64(load_i32(edge, EDGE_VISITS)) / visits
        if score > best_score:
            best, best_score = np.int64(index), score
        edge += EDGE_BYTES
    if opened < load_u16(node, NUM_EDGES) and prior_of(edge) * factor / total > best_score:
        best = np.int64(opened)
    return best


def halving_table(considered: int, sims: int, width: int) -> NDArray[np.int32]:
    """Considered visits by number of candidates and simulation, int32[considered + 1, width].

    Each round gives every candidate as many visits, then the better half goes on; two go on to
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
