"""One search step by step: simulate until an evaluation is needed, or the search is over.

A tree has one lane or several, each a request row that holds one simulation in flight. Simulations
take lanes in turn, and their evaluations go up the tree in the order of the requests, whenever the
answers come; so the result of a search depends on the number of its lanes, and on nothing else
(decision 48).
"""

from typing import Any

import numpy as np

from vecchess.chess.action import action_to_move
from vecchess.chess.bitboards.bits import store
from vecchess.chess.make import make_move
from vecchess.chess.position import clock_of, position_key
from vecchess.jit import inline, part, paste
from vecchess.search.kernels.atomic import prefetch
from vecchess.search.kernels.backup import mark_pending
from vecchess.search.kernels.evaluate_leaf import (
    IN_LANE,
    IS_OVER,
    UNKNOWN_OUTCOME,
    apply_evaluation,
    apply_tablebase_outcome,
    evaluate_leaf,
    finish_simulation,
    request_evaluation,
)
from vecchess.search.kernels.evaluation_cache import insert_evaluation
from vecchess.search.kernels.expand import place_next_edge, read_answer
from vecchess.search.kernels.gumbel import draw_candidates, select_candidate, select_improved
from vecchess.search.kernels.puct import add_noise, select_puct
from vecchess.search.kernels.search_path import push_board, set_root_board
from vecchess.search.tree.edge_word import action_of, prior_of
from vecchess.search.tree.layout import (
    AWAITED,
    EXPANDED,
    GUMBEL,
    LANE_ANSWERED,
    LANE_FREE,
    NO_EDGE,
    NO_NODE,
    OVER,
    PROVEN,
)
from vecchess.search.tree.node_pool import new_node

WAITING, DECIDED = 0, 1
NOTHING = 0
"""No simulation could begin."""


@paste
def advance_search(forest, index):  # type: ignore[no-untyped-def]
    """Simulate in tree number ``index`` until an evaluation is needed (WAITING) or it is DECIDED.

    New requests are on the forest's list of requested rows, positions for a tablebase on the other.
    """
    tree, lanes = forest.trees[index], forest.lanes_a_tree
    while True:
        while tree.in_flight < lanes:
            if not _begin_simulation(forest, tree, index * lanes, lanes):
                break
        if tree.in_flight == 0:
            return np.int64(DECIDED)
        if not _finish_oldest(forest, tree, index * lanes, lanes):
            return np.int64(WAITING)


@part
def receive_answer(forest, row):  # type: ignore[no-untyped-def]
    """Take the network's answer in a request row; it goes up the tree when its turn comes."""
    lane, tree = forest.lanes[row], forest.trees[row // forest.lanes_a_tree]
    evaluation = read_answer(forest, row)
    if forest.cache != 0:
        insert_evaluation(forest.cache, lane.key, lane.check, evaluation)
    apply_evaluation(forest, tree, forest.nodes[lane.leaf], evaluation)
    lane.state = LANE_ANSWERED


@part
def receive_tablebase_outcome(forest, row, outcome):  # type: ignore[no-untyped-def]
    """Take a tablebase's outcome of a request row's position: 1 won, 0 drawn, -1 lost.

    For UNKNOWN_OUTCOME the row requests the network's evaluation instead.
    """
    lane, tree = forest.lanes[row], forest.trees[row // forest.lanes_a_tree]
    if outcome == UNKNOWN_OUTCOME:
        request_evaluation(forest, tree, row, lane.leaf)
    else:
        apply_tablebase_outcome(forest, tree, forest.nodes[lane.leaf], outcome)
        lane.state = LANE_ANSWERED


@paste
def _begin_simulation(forest, tree, first_row, lanes):  # type: ignore[no-untyped-def]
    """Begin a simulation: IS_OVER if it ended at once, IN_LANE if it waits, or NOTHING."""
    row = first_row + (tree.oldest_lane + tree.in_flight) % lanes
    if tree.root == NO_NODE:
        set_root_board(forest, first_row // lanes)
        tree.root = _add_node(forest, tree, np.int64(NO_NODE), np.int64(NO_EDGE))
        return _evaluate_leaf(forest, tree, row, tree.root, np.int64(0), lanes)
    root = forest.nodes[tree.root]
    if root.state & (AWAITED | PROVEN):
        return np.int64(NOTHING)
    if not tree.is_root_ready:
        _prepare_root(forest, tree, root)
    if root.visits + root.pending > tree.budget:
        return np.int64(NOTHING)
    set_root_board(forest, first_row // lanes)
    leaf, depth = _descend(forest, tree)
    if leaf == NO_NODE:
        return np.int64(NOTHING)
    forest.depth += depth
    forest.max_depth = max(forest.max_depth, depth)
    node = forest.nodes[leaf]
    if node.visits > 0:  # visited before, and there is nothing below it
        forest.terminals += 1
        finish_simulation(forest, node)
        return np.int64(IS_OVER)
    return _evaluate_leaf(forest, tree, row, leaf, depth, lanes)


@paste
def _evaluate_leaf(forest: Any, tree: Any, row: Any, leaf: Any, depth: Any, lanes: Any) -> Any:
    """Evaluate a new leaf; if that has to wait, other simulations see it as pending."""
    outcome = evaluate_leaf(forest, tree, row, leaf, depth)
    if outcome == IN_LANE:
        tree.in_flight += 1
        if lanes > 1:
            mark_pending(forest, forest.nodes[leaf], np.int64(1))
    return outcome


@paste
def _finish_oldest(forest: Any, tree: Any, first_row: Any, lanes: Any) -> Any:
    """Finish the oldest simulation in flight; False if its evaluation is not there yet."""
    lane = forest.lanes[first_row + tree.oldest_lane]
    if lane.state != LANE_ANSWERED:
        return False
    lane.state = LANE_FREE
    tree.oldest_lane = (tree.oldest_lane + 1) % lanes
    tree.in_flight -= 1
    node = forest.nodes[lane.leaf]
    node.state &= ~AWAITED
    if lanes > 1:
        mark_pending(forest, node, np.int64(-1))
    finish_simulation(forest, node)
    return True


@paste
def _prepare_root(forest: Any, tree: Any, root: Any) -> None:
    """Noise for the root's priors, or the moves to be considered."""
    tree.is_root_ready = 1
    if forest.method == GUMBEL:
        tree.num_candidates = min(forest.considered, root.num_edges)
        draw_candidates(forest, tree, root)
    elif tree.explores and forest.noise_fraction > 0.0:
        add_noise(forest, tree, root)


@part
def _descend(forest, tree):  # type: ignore[no-untyped-def]
    """Follow the tree, and its moves on the forest's board, to where a simulation ends.

    Returns the node's index and its depth; NO_NODE where the path leads to a node whose evaluation
    is awaited, or the tree is full.
    """
    tables, board = forest.tables, forest.board
    index, depth = tree.root, np.int64(0)
    while True:
        node = forest.nodes[index]
        if node.state & AWAITED:
            return np.int64(NO_NODE), depth
        if (node.state & OVER and depth > 0) or not node.state & EXPANDED:
            return index, depth
        choice = _select(forest, tree, node, depth)
        edge = forest.edges[node.first_edge + choice]
        child = edge.child
        if child == NO_NODE:
            child = _open_edge(forest, tree, index, choice)
            if child == NO_NODE:
                tree.budget = 0
                return child, depth
        prefetch(forest.nodes[child].address)
        push_board(forest, board)
        make_move(tables, board, action_to_move(tables, board, action_of(edge)))
        store(forest.path_keys, clock_of(board), position_key(board))
        depth += 1
        index = child


@paste
def _select(forest: Any, tree: Any, node: Any, depth: Any) -> Any:
    """Number of the edge to follow from a node."""
    if forest.method == GUMBEL:
        if depth == 0:
            return select_candidate(forest, tree, node)
        return select_improved(forest, node)
    forced, reduction = 0.0, forest.fpu_reduction
    if depth == 0:
        reduction = forest.root_fpu_reduction
        if tree.explores:
            forced = forest.forced_playouts
    return select_puct(forest, node, forced, reduction)


@paste
def _open_edge(forest: Any, tree: Any, index: Any, choice: Any) -> Any:
    """Make the child of an edge that was never followed; NO_NODE if the tree is full."""
    node = forest.nodes[index]
    child = _add_node(forest, tree, index, node.first_edge + choice)
    if child != NO_NODE:
        edges, opened = forest.edges[node.first_edge], node.num_opened
        edges[choice].child = child
        if choice == opened:
            node.unopened_mass -= prior_of(edges[choice])
            node.num_opened = opened + 1
            if forest.method != GUMBEL or index != tree.root:  # whose edges are ordered already
                place_next_edge(edges, opened + 1, node.num_edges)
    return child


@inline
def _add_node(forest: Any, tree: Any, parent: Any, edge: Any) -> Any:
    """A node without visits, below ``edge`` (an index) of ``parent``; NO_NODE: tree full."""
    index = new_node(forest, tree)
    if index != NO_NODE:
        node = forest.nodes[index]
        for word in range(8):
            store(node.address, word, np.int64(0))
        node.parent = parent
        node.parent_edge = edge
    return index
