"""The kernels that carry searches on, for self-play as for searches of single positions."""

import numpy as np

from vecchess.chess.bitboards.bits import load_i32, load_i64, store, store_i32
from vecchess.jit import kernel
from vecchess.search.kernels.decide import decide_search
from vecchess.search.kernels.simulate import (
    DECIDED,
    advance_search,
    receive_answer,
    receive_tablebase_outcome,
)
from vecchess.search.kernels.tree_reuse import begin_search
from vecchess.search.tree import forest_layout as descriptor
from vecchess.search.tree.node_layout import (
    LANE_ANSWERED,
    LANE_ASKED,
    LANE_KEY,
    LANE_LEAF,
    LANE_STATE,
    NO_NODE,
    lane_at,
    tree_at,
)
from vecchess.search.tree.node_pool import free_tree


@kernel
def search_rows(forest, rows, decided):  # type: ignore[no-untyped-def]
    """Take the answers that came in request ``rows``, and carry the searches they belong to on.

    A row without a question only carries its search on, as one that begins. New questions are
    listed by the forest. Returns how many searches are over; their trees are in ``decided``.
    """
    lanes, count = load_i64(forest, descriptor.LANES_A_TREE), 0
    for item in rows:
        row = np.int64(item)
        if load_i32(lane_at(forest, row), LANE_STATE) == LANE_ASKED:
            receive_answer(forest, row)
        if advance_search(forest, row // lanes) == DECIDED:
            decided[count] = row // lanes
            count += 1
    return count


@kernel
def answer_probes(forest, rows, outcomes):  # type: ignore[no-untyped-def]
    """Hand outcomes of a tablebase to the searches, or games, that wait for them in ``rows``."""
    for place in range(len(rows)):
        row, outcome = np.int64(rows[place]), np.int64(outcomes[place])
        lane = lane_at(forest, row)
        if load_i32(lane, LANE_LEAF) == NO_NODE:
            store(lane, LANE_KEY, outcome)
            store_i32(lane, LANE_STATE, LANE_ANSWERED)
        else:
            receive_tablebase_outcome(forest, row, outcome)


@kernel
def begin_searches(forest, trees, numbers, plies, temperatures, budget, explore):  # type: ignore[no-untyped-def]
    """Prepare full searches in ``trees``; see ``reuse.begin_search_unbatched``."""
    for place in range(len(trees)):
        begin_search(
            forest, trees[place], numbers[place], plies[place], budget, 1, explore,
            temperatures[place],
        )  # fmt: skip


@kernel
def decide_all(forest, trees, decision, decisions):  # type: ignore[no-untyped-def]
    """Write what each of ``trees`` found to a row of ``decisions``, int32[B, DECISION_WORDS]."""
    for place in range(len(trees)):
        decide_search(forest, tree_at(forest, trees[place]))
        for word in range(len(decision)):
            decisions[place, word] = decision[word]


@kernel
def free_trees(forest, trees):  # type: ignore[no-untyped-def]
    """Give the pages of ``trees`` back."""
    for place in range(len(trees)):
        free_tree(forest, tree_at(forest, trees[place]))
