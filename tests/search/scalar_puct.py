"""PUCT for one position, in plain Python: what the batched search has to reproduce.

Selection as in lc0 (growing c_puct, first-play urgency), Dirichlet noise scaled by the number of
moves, forced playouts and pruned targets as in KataGo (Wu 2019).
"""

from math import floor, sqrt

import numpy as np

from tests.search.exact_numbers import exp_of, gamma_number, log_of
from tests.search.scalar_tree import (
    LOST,
    UNIT,
    Edge,
    Node,
    Question,
    Result,
    Tree,
    add_up,
    encode_prior,
)
from vecchess.rng import random_word


def search(question: Question) -> Result:
    """Search one move."""
    tree, config = Tree(question), question.config
    root = tree.root
    if question.explore and config.noise_fraction > 0:
        _add_noise(root, question)
    forced = config.forced_playouts if question.explore else 0.0
    while root.visits - 1 < config.sims and not root.proof:
        tree.simulate(lambda node: _forced(node, forced) or _select(node, question))
    hopeful = [edge for edge in root.opened if edge.proof != LOST] or root.opened
    visits = {edge.action: edge.visits if edge in hopeful else 0 for edge in root.opened}
    if forced > 0:
        visits |= _pruned(hopeful, root, question)
    total = sum(visits.values())
    shares = [(edge, visits[edge.action] / total) for edge in root.opened]
    certain = tree.proven_move()
    if root.unopened and all(edge.proof == LOST for edge in root.opened):
        certain = root.unopened[0]  # anything but what is known to lose
    best, prob = (certain, 1.0) if certain else _draw(root, visits, question)
    only = certain and root.proof != LOST
    return tree.result(best, prob, [(best, 1.0)] if only else shares, tree.mean())


def _factor(node: Node, question: Question) -> float:
    """What a prior is multiplied with for an unvisited move."""
    config, n = question.config, node.visits
    growth = log_of((n + config.c_puct_base) / config.c_puct_base)
    mean = node.value_sum / (n * UNIT)
    variance = max(0.04, 1 - mean * mean)
    weight = config.c_puct + config.c_puct_factor * growth
    return weight * sqrt(variance) * sqrt(max(1, n - 1))


def _select(node: Node, question: Question) -> Edge:
    """The move with the largest score: an opened one that is not lost, or the next."""
    u, config = _factor(node, question), question.config
    scores = [(edge, _score(edge, u, edge.visits)) for edge in node.opened if edge.proof != LOST]
    if node.unopened:
        reduction = config.fpu_reduction if node.depth else config.root_fpu_reduction
        visited = max(0.0, 1 - node.unopened_mass)
        urgency = node.value_sum / (node.visits * UNIT) - reduction * sqrt(visited)
        scores.append((node.unopened[0], urgency + u * node.unopened[0].prior))
    return max(scores, key=lambda item: item[1])[0]


def _score(edge: Edge, u: float, visits: int) -> float:
    return edge.q + u * edge.prior / (1 + visits)


def _forced(node: Node, k: float) -> Edge | None:
    """The root's first move short of the visits that its prior entitles it to."""
    for edge in [] if node.depth else node.opened:
        if edge.proof != LOST and edge.visits < sqrt(k * edge.prior * (node.visits - 1)):
            return edge
    return None


def _pruned(edges: list[Edge], root: Node, question: Question) -> dict[int, int]:
    """Visits without those that only the forced playouts explain."""
    u, k = _factor(root, question), question.config.forced_playouts
    best = max(edges, key=lambda edge: (edge.visits, edge.q))
    limit = _score(best, u, best.visits)
    visits = {}
    for edge in edges:
        left = edge.visits
        least = max(0, left - floor(sqrt(k * edge.prior * (root.visits - 1))))
        while edge is not best and left > least and _score(edge, u, left - 1) < limit:
            left -= 1
        visits[edge.action] = 0 if left <= 1 and left < edge.visits else left
    return visits


def _draw(root: Node, visits: dict[int, int], question: Question) -> tuple[Edge, float]:
    """A move drawn by its visits at the temperature, and its probability."""
    if question.temperature < 1e-3:
        return max(root.opened, key=lambda edge: (visits[edge.action], edge.q)), 1.0
    most = max(visits.values())
    weights = [
        int(exp_of(log_of(n / most) / question.temperature) * UNIT + 0.5) if n else 0
        for n in (visits[edge.action] for edge in root.opened)
    ]
    random = random_word(question.seed, question.number, question.ply) >> 32
    left = random * sum(weights) >> 32
    for edge, weight in zip(root.opened, weights, strict=True):
        if left < weight:
            return edge, weight / sum(weights)
        left -= weight
    raise AssertionError("the random number is below the sum")


def _add_noise(root: Node, question: Question) -> None:
    """Mix Dirichlet noise into the root's priors; nothing is opened yet."""
    fraction, clean = question.config.noise_fraction, root.unopened
    alpha = question.config.noise_concentration / len(clean)
    game = question.seed, question.number
    draws = [gamma_number(alpha, *game, question.counter(edge)) for edge in clean]
    total = add_up(draws)
    if total > 0:
        words = []
        for edge, draw in zip(clean, draws, strict=True):
            prior = (1 - fraction) * edge.prior + fraction * (draw / total)
            words.append(encode_prior(np.float32(prior)) << 16 | edge.action)
        root.unopened = [Edge(word) for word in sorted(words, reverse=True)]
