"""Principal variations of a tree: the root's moves in order, each with the best moves after it.

Trees are read as arrays, between two steps of a search or at its end, and not changed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.search.forest import Forest, Records
from vecchess.search.kernels.entry_points import estimate_root
from vecchess.search.kernels.evaluate_leaf import TABLEBASE_PLIES
from vecchess.search.tree.edge_word import word_actions, word_outcomes, word_priors
from vecchess.search.tree.layout import EXPANDED, NO_NODE, UNIT, WON, DecisionRecord

NO_ACTION = -1


@dataclass(frozen=True)
class WdlEstimate:
    """Expected shares of wins, draws and losses, and their value to a side.

    value: win - loss + draw * the draw score, in -1 .. 1.
    """

    win: float
    draw: float
    loss: float
    value: float


@dataclass(frozen=True)
class Line:
    """A move of the root and the line after it. Point of view: the side to move at the root.

    actions: codes of the moves, each as its own mover sees it. visits: simulations of the first
    move, prior: its share of the policy. outcome: 1 if it is proven to win, -1 to lose, else 0.
    plies: moves of both sides until the mate, where that is how the game ends; else None.
    """

    actions: tuple[int, ...]
    visits: int
    estimate: WdlEstimate
    prior: float
    outcome: int
    plies: int | None

    @property
    def mate(self) -> int | None:
        """Own moves until mate, below 0 if the other side mates; None for no mate."""
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

        The action ``first``, if there is one; quick wins before slow ones; unproven moves by
        visits, then by value; slow losses before quick ones. As ``decide_search`` chooses.
        """
        keys = (-self.value, -self.visits, self.distance * self.outcome, -self.outcome)
        return np.lexsort((*keys, self.action != first))


def best_lines(forest: Forest, tree: int, count: int, first: int = NO_ACTION) -> list[Line]:
    """The ``count`` best moves of a tree's root with their lines; fewer if fewer were visited.

    first: the action to begin with, such as the one that was decided on.
    """
    moves = _visited(forest, int(forest.trees["root"][tree]))
    return [_line(forest, moves, place) for place in moves.order(first)[:count].tolist()]


def root_estimate(forest: Forest, tree: int) -> WdlEstimate:
    """The value of a tree's root as its decision has it, also before that; for the side to move.

    It uses the forest's scratch memory: never beside a kernel that searches.
    """
    decision: Records = np.zeros((), DecisionRecord.dtype)
    estimate_root(forest.address, tree, decision.ctypes.data)
    win, draw = int(decision["win"]) / UNIT, int(decision["draw"]) / UNIT
    loss = 1.0 - draw - win
    value = win - loss + draw * int(forest.header["draw_score"]) / 65536
    return WdlEstimate(win, draw, loss, value)


def _line(forest: Forest, moves: _Moves, place: int) -> Line:
    child, outcome = int(moves.child[place]), int(moves.outcome[place])
    plies = int(moves.distance[place]) + 1
    return Line(
        actions=(int(moves.action[place]), *_follow(forest, child)),
        visits=int(moves.visits[place]),
        estimate=_estimate(forest, forest.nodes[child], outcome),
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
    if last["state"] & WON and not last["state"] & EXPANDED and last["distance"] == 1:
        actions.append(int(last["mating_action"]))
    return actions


def _visited(forest: Forest, node: int) -> _Moves:
    """The moves of a node that have a visit."""
    parent = forest.nodes[node]
    first = int(parent["first_edge"])
    edges = forest.edges[first : first + int(parent["num_opened"])]
    edges = edges[edges["child"] != NO_NODE]
    edges = edges[forest.nodes["visits"][edges["child"]] > 0]
    children = forest.nodes[edges["child"]]
    outcome = word_outcomes(edges["word"])
    mean = -children["value_sum"] / (children["visits"].astype(np.int64) * UNIT)
    return _Moves(
        child=edges["child"].astype(np.int64),
        action=word_actions(edges["word"]).astype(np.int64),
        prior=word_priors(edges["word"]),
        visits=children["visits"],
        value=np.where(outcome == 0, mean, outcome).astype(np.float32),
        outcome=outcome,
        distance=children["distance"].astype(np.int64),
    )


def _estimate(forest: Forest, child: Any, outcome: int) -> WdlEstimate:
    """The mean of a child of the root, NodeRecord, for the root's mover; outcome as in ``Line``."""
    if outcome:
        return WdlEstimate(float(outcome > 0), 0.0, float(outcome < 0), float(outcome))
    unit = int(child["visits"]) * UNIT
    draw, value = int(child["draw_sum"]) / unit, -int(child["value_sum"]) / unit
    balance = value - draw * int(forest.header["draw_score"]) / 65536
    win = min(max((1.0 - draw + balance) / 2.0, 0.0), 1.0 - draw)
    return WdlEstimate(win, draw, 1.0 - draw - win, value)
