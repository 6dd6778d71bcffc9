"""The kernels that advance searches, called from Python, for self-play and single positions.

Decided searches are played by another kernel, self-play's (decision 63).

forest: address of the ``ForestRecord``. trees: int64[B], numbers of trees.
"""

import numpy as np

from vecchess.jit import kernel
from vecchess.search.kernels.decide import decide_search, write_value
from vecchess.search.kernels.simulate import (
    DECIDED,
    advance_search,
    receive_answer,
    receive_tablebase_outcome,
)
from vecchess.search.kernels.tree_reuse import begin_search, follow_edge
from vecchess.search.tree.layout import (
    LANE_ANSWERED,
    LANE_REQUESTED,
    NO_NODE,
    DecisionRecord,
    ForestRecord,
)
from vecchess.search.tree.node_pool import free_tree


@kernel
def search_rows(forest, rows, decided):  # type: ignore[no-untyped-def]
    """Take the answers that came in request ``rows``, and advance the searches they belong to.

    A row without a request only advances its search, as one that begins. New requests are
    listed by the forest. Returns how many searches are over; their trees are in ``decided``.
    """
    forest, count = ForestRecord(forest), 0
    lanes = forest.lanes_a_tree
    for item in rows:
        row = np.int64(item)
        if forest.lanes[row].state == LANE_REQUESTED:
            receive_answer(forest, row)
        if advance_search(forest, row // lanes) == DECIDED:
            decided[count] = row // lanes
            count += 1
    return count


@kernel
def receive_outcomes(forest, rows, outcomes):  # type: ignore[no-untyped-def]
    """Hand outcomes of a tablebase to the searches, or games, that wait for them in ``rows``."""
    forest = ForestRecord(forest)
    for index in range(len(rows)):
        row, outcome = np.int64(rows[index]), np.int64(outcomes[index])
        lane = forest.lanes[row]
        if lane.leaf == NO_NODE:
            lane.outcome = outcome
            lane.state = LANE_ANSWERED
        else:
            receive_tablebase_outcome(forest, row, outcome)


@kernel
def begin_searches(forest, trees, numbers, plies, temperatures, budget, explore):  # type: ignore[no-untyped-def]
    """Prepare full searches in ``trees``; see ``begin_search``."""
    forest = ForestRecord(forest)
    for index in range(len(trees)):
        begin_search(
            forest, trees[index], numbers[index], plies[index], budget, 1, explore,
            temperatures[index],
        )  # fmt: skip


@kernel
def decide_searches(forest, trees, decisions):  # type: ignore[no-untyped-def]
    """Write the decision of each of ``trees`` at the address ``decisions``, ``DecisionRecord``."""
    forest, decisions = ForestRecord(forest), DecisionRecord(decisions)
    for index in range(len(trees)):
        decide_search(forest, forest.trees[trees[index]], decisions[index])


@kernel
def estimate_root(forest, tree, decision):  # type: ignore[no-untyped-def]
    """Write win and draw alone of a tree as ``decide_searches`` does, also before its search is
    over, at the address ``decision``."""
    forest = ForestRecord(forest)
    write_value(forest, forest.nodes[forest.trees[tree].root], DecisionRecord(decision))


@kernel
def follow_move(forest, tree, choice):  # type: ignore[no-untyped-def]
    """Keep the part of a tree below the root's edge number ``choice``; see ``follow_edge``."""
    follow_edge(ForestRecord(forest), tree, choice)


@kernel
def free_trees(forest, trees):  # type: ignore[no-untyped-def]
    """Give the pages of ``trees`` back."""
    forest = ForestRecord(forest)
    for index in range(len(trees)):
        free_tree(forest, forest.trees[trees[index]])
