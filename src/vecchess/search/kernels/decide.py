"""What a search found: the move, its probability, the policy target, the value of the root.

decision   int32 0 action   1 number of its edge   2 entries of the target   3 visits
                 4 win   5 draw (2**-24, mover)   6-7 time steps (int64)
           float32 8 probability of the move
           uint32 9.. target entries, probability << 16 | action; probability in 1/65535
"""

from math import floor
from typing import Any

import numpy as np

from vecchess.chess.bitboards.bits import (
    load_f64,
    load_i32,
    load_i64,
    load_u16,
    store,
    store_f32,
    store_f64,
    store_i32,
)
from vecchess.jit import part, paste
from vecchess.rng import random_u64
from vecchess.search.kernels.exact_math import exp, log
from vecchess.search.kernels.expand import action_of, place_next_edge, prior_of
from vecchess.search.kernels.gumbel import (
    best_candidate,
    most_edge_visits,
    write_improved_policy,
)
from vecchess.search.kernels.sampling import draw_index
from vecchess.search.kernels.target_pruning import prune_visits
from vecchess.search.tree import forest_layout as descriptor
from vecchess.search.tree import tree_layout as record
from vecchess.search.tree.node_layout import (
    CHILD,
    DISTANCE,
    DRAW_SUM,
    EDGE_BYTES,
    EDGE_LOST,
    EDGE_WON,
    NUM_EDGES,
    NUM_OPENED,
    PROVEN,
    UNIT,
    VALUE_SUM,
    VISITS,
    WON,
    edge_word,
    edges_of,
    node_at,
    state_of,
)
from vecchess.search.tree.node_pool import count_up
from vecchess.shapes import MAX_MOVES, TARGET_UNIT

ACTION, EDGE, NUM_TARGETS, ROOT_VISITS, WIN, DRAW = range(6)
THOUGHT = 3
"""In words of 8 bytes."""
PROB, TARGETS = 8, 9
DECISION_WORDS = TARGETS + MAX_MOVES + 1
COLD = 1e-3
"""Below this temperature the best move is played."""


@part
def decide_search(forest, tree):  # type: ignore[no-untyped-def]
    """Write the forest's decision for a tree (address of its record) whose search is over."""
    root = node_at(forest, load_i32(tree, record.ROOT))
    decision = load_i64(forest, descriptor.DECISION)
    count_up(forest, descriptor.SEARCHES, 1)
    store_i32(decision, ROOT_VISITS, load_i32(root, VISITS) - 1)
    store(decision, THOUGHT, load_i64(tree, record.THOUGHT))
    _write_value(forest, root, decision)
    if load_i64(forest, descriptor.METHOD) == descriptor.GUMBEL:
        edge, prob = _decide_gumbel(forest, tree, root)
    else:
        edge, prob = _decide_puct(forest, tree, root)
    state = state_of(root)
    if state & PROVEN:
        edge, prob = _proven_choice(forest, root, state & WON != 0), 1.0
        if state & WON:
            _put_all_on(forest, root, edge)
    _write_targets(forest, root, decision)
    store_i32(decision, EDGE, edge)
    store_f32(decision, PROB, prob)
    store_i32(decision, ACTION, action_of(edges_of(forest, root) + edge * EDGE_BYTES))


@paste
def _write_value(forest: Any, root: Any, decision: Any) -> None:
    """The mean of all simulations, with what a draw was worth taken out; or what is proven."""
    visits = load_i32(root, VISITS)
    draw = load_i64(root, DRAW_SUM) // visits
    value = load_i64(root, VALUE_SUM) // visits
    value -= (draw * load_i64(forest, descriptor.DRAW_SCORE)) >> 16
    win = min(max((UNIT - draw + value) >> 1, np.int64(0)), UNIT - draw)
    state = state_of(root)
    if state & PROVEN:
        win, draw = np.int64(UNIT if state & WON else 0), np.int64(0)
    store_i32(decision, WIN, win)
    store_i32(decision, DRAW, draw)


@paste
def _decide_gumbel(forest: Any, tree: Any, root: Any) -> Any:
    """The best of the most visited candidates, and the improved policy's probability of it."""
    _improve(forest, root)
    edge = best_candidate(forest, tree, root, most_edge_visits(forest, root))
    return edge, load_f64(load_i64(forest, descriptor.REALS), edge)


@paste
def _improve(forest: Any, root: Any) -> None:
    """Write the improved policy of all edges to the forest's reals.

    Edges that were not opened are put in the order of their priors first.
    """
    factor, total = write_improved_policy(forest, root)
    policy, edges = load_i64(forest, descriptor.REALS), edges_of(forest, root)
    opened, count = load_u16(root, NUM_OPENED), load_u16(root, NUM_EDGES)
    for index in range(opened):
        store_f64(policy, index, load_f64(policy, index) / total)
    for index in range(opened, count):
        place_next_edge(edges, index, count)
        store_f64(policy, index, prior_of(edges + index * EDGE_BYTES) * factor / total)


@paste
def _decide_puct(forest: Any, tree: Any, root: Any) -> Any:
    """A move drawn by visits at the tree's temperature, and the probability it was drawn with."""
    visits = load_i64(forest, descriptor.WEIGHTS)
    best = prune_visits(forest, tree, root)
    count, total = load_u16(root, NUM_EDGES), np.int64(0)
    for index in range(count):
        total += load_i32(visits, index)
    policy = load_i64(forest, descriptor.REALS)
    for index in range(count):
        store_f64(policy, index, np.float64(load_i32(visits, index)) / np.float64(total))
    temperature = load_f64(tree, record.TEMPERATURE)
    if temperature < COLD:
        return best, 1.0
    return _draw(forest, tree, count, load_i32(visits, best), temperature)


@paste
def _draw(forest: Any, tree: Any, count: Any, most: Any, temperature: Any) -> Any:
    """An edge drawn in proportion to visits ** (1 / temperature)."""
    weights, total = load_i64(forest, descriptor.WEIGHTS), np.int64(0)
    for index in range(count):
        visits, weight = load_i32(weights, index), np.int64(0)
        if visits > 0:
            power = log(np.float64(visits) / np.float64(most)) / temperature
            weight = np.int64(floor(exp(power) * 16777216.0 + 0.5))
        store_i32(weights, index, weight)
        total += weight
    seed = load_i64(forest, descriptor.SEED)
    random = random_u64(seed, load_i64(tree, record.NUMBER), load_i32(tree, record.PLY))
    edge = np.int64(draw_index(weights, total, random))
    return edge, np.float64(load_i32(weights, edge)) / np.float64(total)


@paste
def _proven_choice(forest: Any, root: Any, won: Any) -> Any:
    """The shortest way to a proven win, or the longest to a proven loss."""
    edge, best, best_distance = edges_of(forest, root), np.int64(0), np.int64(-1)
    for index in range(load_u16(root, NUM_OPENED)):
        flagged = edge_word(edge) & (EDGE_WON if won else EDGE_LOST)
        if flagged != 0:
            distance = load_u16(node_at(forest, load_i32(edge, CHILD)), DISTANCE)
            closer = distance < best_distance if won else distance > best_distance
            if best_distance < 0 or closer:
                best, best_distance = np.int64(index), distance
        edge += EDGE_BYTES
    return best


@paste
def _put_all_on(forest: Any, root: Any, edge: Any) -> None:
    """A policy that is certain."""
    policy = load_i64(forest, descriptor.REALS)
    for index in range(load_u16(root, NUM_EDGES)):
        store_f64(policy, index, 1.0 if index == edge else 0.0)


@paste
def _write_targets(forest: Any, root: Any, decision: Any) -> None:
    """The policy in the forest's reals as entries; what rounds to nothing is left out."""
    policy, edge, entries = load_i64(forest, descriptor.REALS), edges_of(forest, root), np.int64(0)
    for index in range(load_u16(root, NUM_EDGES)):
        prob = np.int64(floor(load_f64(policy, index) * TARGET_UNIT + 0.5))
        if prob > 0:
            store_i32(decision, TARGETS + entries, prob << 16 | action_of(edge))
            entries += 1
        edge += EDGE_BYTES
    store_i32(decision, NUM_TARGETS, entries)
