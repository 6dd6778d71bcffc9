"""The decision of a search: the move, its probability, the policy target, the root's value."""

from math import floor, sqrt
from typing import Any

import numpy as np

from vecchess.jit import part, paste
from vecchess.rng import random_u64
from vecchess.search.kernels.exact_math import exp, log
from vecchess.search.kernels.expand import place_next_edge
from vecchess.search.kernels.gumbel import (
    best_candidate,
    expect_value,
    most_edge_visits,
    write_improved_policy,
)
from vecchess.search.kernels.puct import exploration_weight, puct_score
from vecchess.search.kernels.sampling import draw_index
from vecchess.search.tree.edge_word import EDGE_LOST, EDGE_WON, action_of, prior_of
from vecchess.search.tree.layout import GUMBEL, PROVEN, UNIT, WON
from vecchess.shapes import TARGET_UNIT

COLD = 1e-3
"""Below this temperature the best move is played."""


@part
def decide_search(forest, tree, decision):  # type: ignore[no-untyped-def]
    """Write the decision for a tree whose search is over."""
    root = forest.nodes[tree.root]
    edges = forest.edges[root.first_edge]
    forest.searches += 1
    decision.visits = root.visits - 1
    decision.num_steps = tree.num_steps
    write_value(forest, root, decision)
    if forest.method == GUMBEL:
        edge, prob = _decide_gumbel(forest, tree, root, edges)
    else:
        edge, prob = _decide_puct(forest, tree, root)
    if root.state & PROVEN:
        is_won = root.state & WON != 0
        edge, prob = _proven_choice(forest, root, edges, is_won), 1.0
        if is_won:
            _put_all_on(forest, root, edge)
    _write_targets(forest, root, edges, decision)
    decision.edge = edge
    decision.prob = prob
    decision.action = action_of(edges[edge])


@part
def write_value(forest, root, decision):  # type: ignore[no-untyped-def]
    """Write the root's win and draw: what is proven, or what the search found.

    PUCT's visits go where the values are, so it is the mean of all simulations. Gumbel visits all
    candidates: it is what the improved policy expects. What a draw was worth is taken out.
    """
    if forest.method == GUMBEL:
        expected_value, expected_draw = expect_value(forest, root)
        value, draw = np.int64(floor(expected_value + 0.5)), np.int64(floor(expected_draw + 0.5))
    else:
        value, draw = root.value_sum // root.visits, root.draw_sum // root.visits
    value -= (draw * forest.draw_score) >> 16
    win = min(max((UNIT - draw + value) >> 1, np.int64(0)), UNIT - draw)
    if root.state & PROVEN:
        win, draw = np.int64(UNIT if root.state & WON else 0), np.int64(0)
    decision.win = win
    decision.draw = draw


@paste
def _decide_gumbel(forest: Any, tree: Any, root: Any, edges: Any) -> Any:
    """The best of the most visited candidates, and the improved policy's probability of it.

    Where that one is proven lost and not all moves are, the likeliest of the others.
    """
    _improve(forest, root, edges)
    edge = best_candidate(forest, tree, root, most_edge_visits(forest, root))
    if edges[edge].word & EDGE_LOST != 0:
        edge = _likeliest_not_lost(forest, root, edges)
    return edge, forest.reals[edge]


@paste
def _likeliest_not_lost(forest: Any, root: Any, edges: Any) -> Any:
    """The edge that the policy in the forest's reals likes best of those not proven lost."""
    best = _first_not_lost(edges, root.num_edges)
    for index in range(best + 1, root.num_edges):
        is_lost = edges[index].word & EDGE_LOST != 0
        if not is_lost and forest.reals[index] > forest.reals[best]:
            best = np.int64(index)
    return best


@paste
def _improve(forest: Any, root: Any, edges: Any) -> None:
    """Write the improved policy of all edges to the forest's reals.

    Edges that were not opened are put in the order of their priors first.
    """
    factor, total = write_improved_policy(forest, root)
    policy, opened, count = forest.reals, root.num_opened, root.num_edges
    for index in range(opened):
        policy[index] = policy[index] / total
    for index in range(opened, count):
        place_next_edge(edges, index, count)
        policy[index] = prior_of(edges[index]) * factor / total


@paste
def _decide_puct(forest: Any, tree: Any, root: Any) -> Any:
    """A move drawn by visits at the tree's temperature, and the probability it was drawn with."""
    visits, policy, count = forest.weights, forest.reals, root.num_edges
    best = prune_visits(forest, tree, root)
    total = np.int64(0)
    for index in range(count):
        total += visits[index]
    for index in range(count):
        policy[index] = np.float64(visits[index]) / np.float64(total)
    if tree.temperature < COLD:
        return best, 1.0
    return _draw(forest, tree, count, visits[best], tree.temperature)


@paste
def _draw(forest: Any, tree: Any, count: Any, most: Any, temperature: Any) -> Any:
    """An edge drawn in proportion to visits ** (1 / temperature)."""
    weights, total = forest.weights, np.int64(0)
    for index in range(count):
        visits, weight = weights[index], np.int64(0)
        if visits > 0:
            power = log(np.float64(visits) / np.float64(most)) / temperature
            weight = np.int64(floor(exp(power) * 16777216.0 + 0.5))
        weights[index] = weight
        total += weight
    random = random_u64(forest.seed, tree.number, tree.ply)
    edge = np.int64(draw_index(weights.address, count, total, random))
    return edge, np.float64(weights[edge]) / np.float64(total)


@paste
def _proven_choice(forest: Any, root: Any, edges: Any, is_won: Any) -> Any:
    """The shortest way to a proven win, or the longest to a proven loss (decision 60)."""
    flag, best, best_distance = EDGE_WON if is_won else EDGE_LOST, np.int64(0), np.int64(-1)
    for index in range(root.num_opened):
        if edges[index].word & flag != 0:
            distance = forest.nodes[edges[index].child].distance
            is_better = distance < best_distance if is_won else distance > best_distance
            if best_distance < 0 or is_better:
                best, best_distance = np.int64(index), distance
    return best


@paste
def _put_all_on(forest: Any, root: Any, edge: Any) -> None:
    """A policy that is certain."""
    for index in range(root.num_edges):
        forest.reals[index] = 1.0 if index == edge else 0.0


@paste
def _write_targets(forest: Any, root: Any, edges: Any, decision: Any) -> None:
    """The policy in the forest's reals as targets, without those that round to nothing."""
    num_targets = np.int64(0)
    for index in range(root.num_edges):
        prob = np.int64(floor(forest.reals[index] * TARGET_UNIT + 0.5))
        if prob > 0:
            decision.targets[num_targets] = prob << 16 | action_of(edges[index])
            num_targets += 1
    decision.num_targets = num_targets


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
    weight, forced = exploration_weight(forest, root, root.visits), forest.forced_playouts
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
