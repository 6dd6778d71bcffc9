"""One search step by step: simulate until an answer is needed, or the search is over.

A tree has one lane or several, each a request row that can hold one question. Simulations take
lanes in turn, and their answers go up the tree in the order in which they were asked, whenever
they come; so what a search finds depends on the number of its lanes, and on nothing else.
"""

from typing import Any

import numpy as np

from vecchess.chess.action import action_to_move
from vecchess.chess.bitboards.bits import (
    load,
    load_f64,
    load_i32,
    load_i64,
    load_u16,
    store,
    store16,
    store_f64,
    store_i32,
)
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
from vecchess.search.kernels.expand import (
    action_of,
    place_next_edge,
    prior_of,
    read_answer,
)
from vecchess.search.kernels.gumbel import (
    draw_candidates,
    select_candidate,
    select_improved,
)
from vecchess.search.kernels.puct import add_noise, select_puct
from vecchess.search.kernels.search_path import push_board, set_root_board
from vecchess.search.tree import forest_layout as descriptor
from vecchess.search.tree import tree_layout as record
from vecchess.search.tree.node_layout import (
    ASKED,
    CHILD,
    EDGE_BYTES,
    EXPANDED,
    FIRST_EDGE,
    LANE_ANSWERED,
    LANE_FREE,
    LANE_KEY,
    LANE_LEAF,
    LANE_STATE,
    NO_EDGE,
    NO_NODE,
    NUM_EDGES,
    NUM_OPENED,
    OVER,
    PARENT,
    PARENT_EDGE,
    PENDING,
    PROVEN,
    STATE,
    UNOPENED_MASS,
    VISITS,
    edges_of,
    lane_at,
    node_at,
    state_of,
    tree_at,
)
from vecchess.search.tree.node_pool import count_up, new_node

WAITING, DECIDED = 0, 1
NOTHING = 0
"""No simulation could begin."""


@paste
def advance_search(forest, index):  # type: ignore[no-untyped-def]
    """Simulate in tree number ``index`` until an answer is needed (WAITING) or it is DECIDED.

    New questions are on the forest's list of asked rows, positions for a tablebase on the other.
    """
    tree = tree_at(forest, index)
    lanes = load_i64(forest, descriptor.LANES_A_TREE)
    while True:
        while load_i32(tree, record.IN_FLIGHT) < lanes:
            if not _begin(forest, tree, index * lanes, lanes):
                break
        if load_i32(tree, record.IN_FLIGHT) == 0:
            return np.int64(DECIDED)
        if not _settle_oldest(forest, tree, index * lanes, lanes):
            return np.int64(WAITING)


@part
def receive_answer(forest, row):  # type: ignore[no-untyped-def]
    """Take the network's answer in a request row; it goes up the tree when its turn comes."""
    lane = lane_at(forest, row)
    tree = tree_at(forest, row // load_i64(forest, descriptor.LANES_A_TREE))
    node = node_at(forest, load_i32(lane, LANE_LEAF))
    entry = read_answer(forest, row)
    cache = load_i64(forest, descriptor.CACHE)
    if cache != 0:
        insert_evaluation(cache, load(lane, LANE_KEY), entry)
    apply_evaluation(forest, tree, node, entry)
    store_i32(lane, LANE_STATE, LANE_ANSWERED)


@part
def receive_tablebase_outcome(forest, row, outcome):  # type: ignore[no-untyped-def]
    """Take what a tablebase says of a request row's position: 1 won, 0 drawn, -1 lost.

    Where it says UNKNOWN the row asks the network instead.
    """
    lane = lane_at(forest, row)
    tree = tree_at(forest, row // load_i64(forest, descriptor.LANES_A_TREE))
    leaf = load_i32(lane, LANE_LEAF)
    if outcome == UNKNOWN_OUTCOME:
        request_evaluation(forest, tree, row, leaf)
    else:
        apply_tablebase_outcome(forest, tree, node_at(forest, leaf), outcome)
        store_i32(lane, LANE_STATE, LANE_ANSWERED)


@paste
def _begin(forest, tree, first_row, lanes):  # type: ignore[no-untyped-def]
    """Begin a simulation: IS_OVER if it ended at once, IN_LANE if it waits, or NOTHING."""
    lane = (load_i32(tree, record.OLDEST_LANE) + load_i32(tree, record.IN_FLIGHT)) % lanes
    if load_i32(tree, record.ROOT) == NO_NODE:
        set_root_board(forest, first_row // lanes)
        root = _new_node(forest, tree, np.int64(NO_NODE), np.int64(NO_EDGE))
        store_i32(tree, record.ROOT, root)
        return _arrive(forest, tree, first_row + lane, root, np.int64(0), lanes)
    root = node_at(forest, load_i32(tree, record.ROOT))
    if state_of(root) & (ASKED | PROVEN):
        return np.int64(NOTHING)
    if not load_i32(tree, record.READY):
        _prepare_root(forest, tree, root)
    if load_i32(root, VISITS) + load_i32(root, PENDING) > load_i32(tree, record.BUDGET):
        return np.int64(NOTHING)
    set_root_board(forest, first_row // lanes)
    leaf, depth = _descend(forest, tree)
    if leaf == NO_NODE:
        return np.int64(NOTHING)
    count_up(forest, descriptor.DEPTH, depth)
    if depth > load_i64(forest, descriptor.DEEPEST):
        store(forest, descriptor.DEEPEST, depth)
    node = node_at(forest, leaf)
    if load_i32(node, VISITS) > 0:  # seen before, and nothing below it
        count_up(forest, descriptor.TERMINALS, 1)
        finish_simulation(forest, node)
        return np.int64(IS_OVER)
    return _arrive(forest, tree, first_row + lane, leaf, depth, lanes)


@paste
def _arrive(forest: Any, tree: Any, row: Any, leaf: Any, depth: Any, lanes: Any) -> Any:
    """Judge the new leaf; if it waits, let others see that it is pending."""
    outcome = evaluate_leaf(forest, tree, row, leaf, depth)
    if outcome == IN_LANE:
        store_i32(tree, record.IN_FLIGHT, load_i32(tree, record.IN_FLIGHT) + 1)
        if lanes > 1:
            mark_pending(forest, node_at(forest, leaf), np.int64(1))
    return outcome


@paste
def _settle_oldest(forest: Any, tree: Any, first_row: Any, lanes: Any) -> Any:
    """Let the answer that was asked first go up the tree; False if it is not there yet."""
    oldest = load_i32(tree, record.OLDEST_LANE)
    lane = lane_at(forest, first_row + oldest)
    if load_i32(lane, LANE_STATE) != LANE_ANSWERED:
        return False
    store_i32(lane, LANE_STATE, LANE_FREE)
    store_i32(tree, record.OLDEST_LANE, (oldest + 1) % lanes)
    store_i32(tree, record.IN_FLIGHT, load_i32(tree, record.IN_FLIGHT) - 1)
    node = node_at(forest, load_i32(lane, LANE_LEAF))
    store16(node, STATE, state_of(node) & ~ASKED)
    if lanes > 1:
        mark_pending(forest, node, np.int64(-1))
    finish_simulation(forest, node)
    return True


@paste
def _prepare_root(forest: Any, tree: Any, root: Any) -> None:
    """Noise for the root's priors, or the moves to be considered."""
    store_i32(tree, record.READY, 1)
    if load_i64(forest, descriptor.METHOD) == descriptor.GUMBEL:
        considered = min(load_i64(forest, descriptor.CONSIDERED), load_u16(root, NUM_EDGES))
        store_i32(tree, record.CANDIDATES, considered)
        draw_candidates(forest, tree, root)
    elif load_i32(tree, record.EXPLORE) and load_f64(forest, descriptor.NOISE_FRACTION) > 0.0:
        add_noise(forest, tree, root)


@part
def _descend(forest, tree):  # type: ignore[no-untyped-def]
    """Follow the tree, and its moves on the scratch board, to where a simulation ends.

    Returns the node's index and its depth; NO_NODE where the way leads to a node whose answer
    is not there yet, or the tree is full.
    """
    tables, board = load_i64(forest, descriptor.TABLES), load_i64(forest, descriptor.BOARD)
    history = load_i64(forest, descriptor.HISTORY)
    index, depth = load_i32(tree, record.ROOT), np.int64(0)
    while True:
        node = node_at(forest, index)
        state = state_of(node)
        if state & ASKED:
            return np.int64(NO_NODE), depth
        if (state & OVER and depth > 0) or not state & EXPANDED:
            return index, depth
        choice = _select(forest, tree, node, depth)
        edge = edges_of(forest, node) + choice * EDGE_BYTES
        child = load_i32(edge, CHILD)
        if child == NO_NODE:
            child = _open(forest, tree, index, choice)
            if child == NO_NODE:
                store_i32(tree, record.BUDGET, 0)
                return child, depth
        prefetch(node_at(forest, child))
        push_board(forest, board)
        make_move(tables, board, action_to_move(tables, board, action_of(edge)))
        store(history, clock_of(board), position_key(board))
        depth += 1
        index = child


@paste
def _select(forest: Any, tree: Any, node: Any, depth: Any) -> Any:
    """Number of the edge to follow from the node at address ``node``."""
    if load_i64(forest, descriptor.METHOD) == descriptor.GUMBEL:
        if depth == 0:
            return select_candidate(forest, tree, node)
        return select_improved(forest, node)
    forced, reduction = 0.0, load_f64(forest, descriptor.FPU_REDUCTION)
    if depth == 0:
        reduction = load_f64(forest, descriptor.ROOT_FPU_REDUCTION)
        if load_i32(tree, record.EXPLORE):
            forced = load_f64(forest, descriptor.FORCED_PLAYOUTS)
    return select_puct(forest, node, forced, reduction)


@paste
def _open(forest: Any, tree: Any, index: Any, choice: Any) -> Any:
    """Make the child of an edge that was never followed; NO_NODE if the tree is full."""
    node = node_at(forest, index)
    first = load_i32(node, FIRST_EDGE)
    child = _new_node(forest, tree, index, first + choice)
    if child != NO_NODE:
        edges, opened = edges_of(forest, node), load_u16(node, NUM_OPENED)
        edge = edges + choice * EDGE_BYTES
        store_i32(edge, CHILD, child)
        if choice == opened:
            store_f64(node, UNOPENED_MASS, load_f64(node, UNOPENED_MASS) - prior_of(edge))
            store16(node, NUM_OPENED, opened + 1)
            if _is_kept_in_order(forest, tree, index):
                place_next_edge(edges, opened + 1, load_u16(node, NUM_EDGES))
    return child


@paste
def _is_kept_in_order(forest: Any, tree: Any, index: Any) -> Any:
    """False for a root whose edges stand in the order of candidates."""
    is_root = index == load_i32(tree, record.ROOT)
    return not (is_root and load_i64(forest, descriptor.METHOD) == descriptor.GUMBEL)


@inline
def _new_node(forest: Any, tree: Any, parent: Any, edge: Any) -> Any:
    """A node without visits, below ``edge`` (an index) of ``parent``; NO_NODE: tree full."""
    index = new_node(forest, tree)
    if index != NO_NODE:
        node = node_at(forest, index)
        for word in range(8):
            store(node, word, np.int64(0))
        store_i32(node, PARENT, parent)
        store_i32(node, PARENT_EDGE, edge)
    return index
