"""Gumbel AlphaZero for one position, in plain Python: what the batched search has to reproduce.

Danihelka et al., "Policy improvement by planning with Gumbel" (ICLR 2022), in the form of mctx:
sequential halving at the root, completed values mixed from the network's and the children's.
"""

from math import inf

from tests.search.exact_numbers import exp_of, gumbel_number, log_of
from tests.search.scalar_tree import LOST, UNIT, WON, Edge, Node, Question, Result, Tree, add_up
from vecchess.config import TreeConfig


def search(question: Question) -> Result:
    """Search one move."""
    tree, config = Tree(question), question.config
    root = tree.root
    base = {edge.action: _base(edge, question) for edge in root.unopened}
    root.unopened.sort(key=lambda edge: (-base[edge.action], -edge.word))
    num_considered = min(config.num_considered(config.sims), len(root.unopened))
    for visits in considered_visits(num_considered, config.sims):
        if not root.proof:
            tree.simulate(lambda node, visits=visits: (
                _inner(node, config) if node.depth else _top(root, visits, base, config)
            ))  # fmt: skip
    most = max(edge.visits for edge in root.opened)
    best = tree.proven_move() or _top(root, most, base, config)
    shares = [(best, 1.0)] if root.proof == WON else improved_policy(root, config)
    if not root.proof and best.proof == LOST:
        best = max((item for item in shares if item[0].proof != LOST), key=lambda item: item[1])[0]
    prob = 1.0 if root.proof else next(share for edge, share in shares if edge is best)
    return tree.result(best, prob, shares, expectation(root, config))


def considered_visits(num_considered: int, sims: int) -> list[int]:
    """Visits that a move must have to be visited next, for every simulation: each round gives
    the moves that are left as many visits, then goes on with the better half."""
    if num_considered == 1:
        return list(range(sims))
    rounds, left = (num_considered - 1).bit_length(), num_considered
    sequence: list[int] = []
    while len(sequence) < sims:
        first = sequence[-1] + 1 if sequence else 0
        for visits in range(first, first + max(1, sims // (rounds * left))):
            sequence += [visits] * left
        left = max(2, left // 2)
    return sequence[:sims]


def improved_policy(node: Node, config: TreeConfig) -> list[tuple[Edge, float]]:
    """Softmax of log prior + scaled completed value: the opened moves, then the others."""
    scale, best, mixed = _completed(node, config)
    weights = [edge.prior * exp_of(scale * (edge.q - best)) for edge in node.opened]
    rest = exp_of(scale * (mixed - best)) if node.unopened else 0.0
    total = add_up(weights) + node.unopened_mass * rest
    shares = [(edge, weight / total) for edge, weight in zip(node.opened, weights, strict=True)]
    unopened = sorted(node.unopened, key=lambda edge: -edge.word)
    return shares + [(edge, edge.prior * rest / total) for edge in unopened]


def expectation(node: Node, config: TreeConfig) -> tuple[float, float]:
    """Value and draw that the improved policy expects: completed values and draws."""
    mass = sum(edge.prior for edge in node.opened)
    visits = sum(edge.visits for edge in node.opened)
    means = [(edge, edge.q, _draw(edge)) for edge in node.opened]
    completed = []
    for place, raw in ((1, node.value / UNIT), (2, node.draw / UNIT)):
        mean = sum(row[0].prior * row[place] for row in means) / mass if means else 0.0
        mixed = (raw + visits * mean) / (visits + 1)
        known = {row[0].action: row[place] for row in means}
        completed.append(
            sum(share * known.get(e.action, mixed) for e, share in improved_policy(node, config))
        )
    return completed[0], completed[1]


def _draw(edge: Edge) -> float:
    """Mean draw of an opened move."""
    assert edge.child
    return 0.0 if edge.proof else edge.child.draw_sum / edge.child.visits / UNIT


def _base(edge: Edge, question: Question) -> float:
    """The root's noise on the log of the prior."""
    noise = 0.0
    if question.explore and question.temperature > 0:
        noise = gumbel_number(question.seed, question.number, question.counter(edge))
    return question.temperature * noise + log_of(edge.prior)


def _top(root: Node, visits: int, base: dict[int, float], config: TreeConfig) -> Edge:
    """The best of the root's moves that have so many visits."""
    if visits == 0:
        return root.unopened[0]
    scale = _completed(root, config)[0]
    among = [edge for edge in root.opened if edge.visits == visits]
    return max(among, key=lambda edge: base[edge.action] + scale * edge.q)


def _inner(node: Node, config: TreeConfig) -> Edge:
    """The move whose visits lag most behind the improved policy."""
    visits = 1 + sum(edge.visits for edge in node.opened)
    shares = improved_policy(node, config)[: len(node.opened) + 1]
    return max(shares, key=lambda item: item[1] - item[0].visits / visits)[0]


def _completed(node: Node, config: TreeConfig) -> tuple[float, float, float]:
    """The factor of the values, the largest of them, and what stands for unvisited moves."""
    most = max((edge.visits for edge in node.opened), default=0)
    visits = sum(edge.visits for edge in node.opened)
    weighted = add_up([edge.prior * edge.q for edge in node.opened])
    mean = weighted / add_up([edge.prior for edge in node.opened]) if node.opened else 0.0
    mixed = (node.value / UNIT + visits * mean) / (visits + 1)
    values = [edge.q for edge in node.opened]
    best = max([*values, mixed] if node.unopened else values, default=-inf)
    return (config.c_visit + most) * config.c_scale * 0.5, best, mixed
