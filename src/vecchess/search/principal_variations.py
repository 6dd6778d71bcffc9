"""The best lines of a tree: moves of the root in order, each with what is expected to follow.

Trees are read as arrays, between two steps of a search or at its end, and left as they are.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vecchess.search.forest import Forest
from vecchess.search.kernels.evaluate_leaf import TABLEBASE_PLIES
from vecchess.search.kernels.priors import decode_priors
from vecchess.search.tree import forest_layout as descriptor
from vecchess.search.tree import node_layout as layout
from vecchess.search.tree import tree_layout as record

NO_ACTION = -1


@dataclass(frozen=True)
class WdlEstimate:
    """What is expected: shares of wins, draws and losses, and what they are worth to a side.

    value: win - loss + draw * the draw score, in -1 .. 1.
    """

    win: float
    draw: float
    loss: float
    value: float


@dataclass(frozen=True)
class Line:
    """A move of the root and what follows. Point of view: the side to move at the root.

    actions: codes of the moves, each as its own mover sees it. visits: simulations of the first
    move, prior: its share of the policy. outcome: 1 if it is proven to win, -1 to lose, else 0.
    plies: moves of both sides until the mate, where that is how the game ends; else None.
    """

    actions: tuple[int, ...]
    visits: int
    outlook: WdlEstimate
    prior: float
    outcome: int
    plies: int | None

    @property
    def mate(self) -> int | None:
        """Own moves until mate, below 0 if it is the other side that mates; None for no mate."""
        if self.plies is None:
            return None
        return (self.plies + 1) // 2 if self.outcome > 0 else -(self.plies // 2)


@dataclass(frozen=True)
class _Moves:
    """The K visited moves of a node, in the order in which they were opened; its mover's view.

    child: int64[K] nodes, action: int64[K], prior: float64[K], visits: int32[K] without those
    pending, value: float32[K], outcome: int64[K] as in ``Line``, distance: int64[K] plies from
    the child to the proven end.
    """

    child: NDArray[np.int64]
    action: NDArray[np.int64]
    prior: NDArray[np.float64]
    visits: NDArray[np.int32]
    value: NDArray[np.float32]
    outcome: NDArray[np.int64]
    distance: NDArray[np.int64]

    def order(self, first: int = NO_ACTION) -> NDArray[np.int64]:
        """int64[K]: the best move first.

        The action ``first``, whatever it is; quick wins before slow ones; what is not proven by
        visits, then by value; slow losses before quick ones. As ``decide`` chooses.
        """
        keys = (-self.value, -self.visits, self.distance * self.outcome, -self.outcome)
        return np.lexsort((*keys, self.action != first))


def best_lines(forest: Forest, tree: int, count: int, first: int = NO_ACTION) -> list[Line]:
    """The ``count`` best moves of a tree's root with their lines; fewer if fewer were visited.

    first: the action to begin with, such as the one that was decided on.
    """
    moves = _visited(forest, int(forest.records[tree, record.ROOT]))
    return [_line(forest, moves, place) for place in moves.order(first)[:count].tolist()]


def root_estimate(forest: Forest, tree: int) -> WdlEstimate:
    """The mean of all simulations of a tree, or what is proven; for the side to move."""
    node = forest.nodes[forest.records[tree, record.ROOT]]
    state = int(node.view(np.uint16)[layout.STATE])
    outcome = int(state & layout.WON != 0) - int(state & layout.LOST != 0)
    return _outlook(forest, node, 1, outcome)


def root_visits(forest: Forest, tree: int) -> int:
    """Simulations of a tree so far, those below its root."""
    return max(0, int(forest.nodes[forest.records[tree, record.ROOT], layout.VISITS]) - 1)


def _line(forest: Forest, moves: _Moves, place: int) -> Line:
    child, outcome = int(moves.child[place]), int(moves.outcome[place])
    plies = int(moves.distance[place]) + 1
    return Line(
        actions=(int(moves.action[place]), *_follow(forest, child)),
        visits=int(moves.visits[place]),
        outlook=_outlook(forest, forest.nodes[child], -1, outcome),
        prior=float(moves.prior[place]),
        outcome=outcome,
        plies=plies if outcome and plies < TABLEBASE_PLIES else None,
    )


def _follow(forest: Forest, node: int) -> list[int]:
    """Actions of the best moves from a node on, down to where nothing was visited, or to mate."""
    actions: list[int] = []
    while len((moves := _visited(forest, node)).child):
        best = int(moves.order()[0])
        actions.append(int(moves.action[best]))
        node = int(moves.child[best])
    last = forest.nodes[node]
    state, distance = last.view(np.uint16)[[layout.STATE, layout.DISTANCE]]
    if state & layout.WON and not state & layout.EXPANDED and distance == 1:
        actions.append(int(last[layout.MATING_ACTION]))
    return actions


def _visited(forest: Forest, node: int) -> _Moves:
    """The moves of a node that have a visit."""
    shorts = forest.nodes[node].view(np.uint16)
    start = int(forest.nodes[node, layout.FIRST_EDGE])
    edges = forest.edges[start : start + int(shorts[layout.NUM_OPENED])]
    edges = edges[edges[:, layout.CHILD] != layout.NO_NODE]
    edges = edges[forest.nodes[edges[:, layout.CHILD], layout.VISITS] > 0]
    child = edges[:, layout.CHILD].astype(np.int64)
    nodes = forest.nodes[child]
    words = edges[:, layout.PRIOR_ACTION].copy().view(np.uint32).astype(np.int64)
    outcome = np.sign(words & layout.EDGE_WON) - np.sign(words & layout.EDGE_LOST)
    visits = nodes[:, layout.VISITS]
    mean = -nodes.view(np.int64)[:, layout.VALUE_SUM] / (visits.astype(np.int64) * layout.UNIT)
    return _Moves(
        child=child,
        action=words & layout.ACTION_MASK,
        prior=decode_priors(words >> 16),
        visits=visits,
        value=np.where(outcome == 0, mean, outcome).astype(np.float32),
        outcome=outcome,
        distance=nodes.view(np.uint16)[:, layout.DISTANCE].astype(np.int64),
    )


def _outlook(forest: Forest, node: NDArray[np.int32], side: int, outcome: int) -> WdlEstimate:
    """What a node, int32[16], promises the root's mover.

    side: 1 if that is who moves there, else -1. outcome: as in ``Line``.
    """
    if outcome:
        return WdlEstimate(float(outcome > 0), 0.0, float(outcome < 0), float(outcome))
    sums, unit = node.view(np.int64), int(node[layout.VISITS]) * layout.UNIT
    draw = int(sums[layout.DRAW_SUM]) / unit
    value = side * int(sums[layout.VALUE_SUM]) / unit
    balance = value - draw * int(forest.words[descriptor.DRAW_SCORE]) / 65536
    win = min(max((1.0 - draw + balance) / 2.0, 0.0), 1.0 - draw)
    return WdlEstimate(win, draw, 1.0 - draw - win, value)
