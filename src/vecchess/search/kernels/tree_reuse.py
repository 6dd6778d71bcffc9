"""From one move's search to the next: the part of the tree below the move that was played.

The kept nodes are copied to fresh pages in breadth-first order (Cheney 1970) and the old pages
go back to the arena as a whole.
"""

from typing import Any

import numpy as np

from vecchess.chess.bitboards.bits import (
    load,
    load_i32,
    load_i64,
    load_u16,
    store,
    store16,
    store_f32,
    store_f64,
    store_i32,
)
from vecchess.jit import inline, kernel, part, paste
from vecchess.search.kernels.backup import write_edge
from vecchess.search.tree import forest_layout as descriptor
from vecchess.search.tree import tree_layout as record
from vecchess.search.tree.node_layout import (
    CHILD,
    CYCLE,
    DRAW_SUM,
    EDGE_BYTES,
    EDGE_VALUE,
    EDGE_VISITS,
    EXPANDED,
    FIRST_EDGE,
    NO_EDGE,
    NO_NODE,
    NODES_A_PAGE,
    NUM_EDGES,
    NUM_OPENED,
    PARENT,
    PARENT_EDGE,
    STATE,
    UNIT,
    VALUE_SUM,
    VISITS,
    edge_at,
    edges_of,
    node_at,
    state_of,
    tree_at,
)
from vecchess.search.tree.node_pool import (
    count_up,
    empty_tree,
    free_tree,
    give_back,
    new_edges,
    new_node,
)


@part
def begin_search(forest, index, number, ply, budget, full, explore, temperature):  # type: ignore[no-untyped-def]
    """Prepare tree ``index`` for a search of the position on its board.

    ``number`` and ``ply`` of the game choose the random numbers; what ``follow_edge`` kept
    of an earlier search counts towards ``budget`` simulations.
    """
    tree = tree_at(forest, index)
    store_i32(tree, record.BUDGET, budget)
    store_i32(tree, record.FULL, full)
    store_i32(tree, record.EXPLORE, explore)
    store_i32(tree, record.READY, 0)
    store_i32(tree, record.PLY, ply)
    store(tree, record.NUMBER, np.int64(number))
    store(tree, record.THOUGHT, np.int64(0))
    store_f64(tree, record.TEMPERATURE, temperature)


@part
def follow_edge(forest, index, choice):  # type: ignore[no-untyped-def]
    """The move of the root's edge number ``choice`` was played in tree ``index``."""
    tree = tree_at(forest, index)
    root = node_at(forest, load_i32(tree, record.ROOT))
    child = load_i32(edges_of(forest, root) + choice * EDGE_BYTES, CHILD)
    if not _is_worth_keeping(forest, child):
        free_tree(forest, tree)
        return
    pages = (
        load_i32(tree, record.FIRST_NODE_PAGE), load_i32(tree, record.LAST_NODE_PAGE),
        load_i32(tree, record.FIRST_EDGE_PAGE), load_i32(tree, record.LAST_EDGE_PAGE),
    )  # fmt: skip
    empty_tree(tree)
    copy = _copy_node(forest, tree, child, np.int64(NO_NODE), np.int64(NO_EDGE))
    store_i32(tree, record.ROOT, copy)
    _copy_below(forest, tree)
    give_back(forest, descriptor.NODE_FOLLOWING, descriptor.NODE_FREE, pages[0], pages[1])
    give_back(forest, descriptor.EDGE_FOLLOWING, descriptor.EDGE_FREE, pages[2], pages[3])


@paste
def _is_worth_keeping(forest: Any, child: Any) -> Any:
    """Whether a child can be a root: it has moves, and its sums do not count draws our way."""
    if child == NO_NODE or load_i64(forest, descriptor.REUSE) == 0:
        return False
    return state_of(node_at(forest, child)) & EXPANDED != 0


@paste
def _copy_below(forest: Any, tree: Any) -> None:
    """Copy what hangs on each copied node, in the order in which nodes were copied."""
    following = load_i64(forest, descriptor.NODE_FOLLOWING)
    page, done = load_i32(tree, record.FIRST_NODE_PAGE), np.int64(0)
    while done < load_i32(tree, record.NUM_NODES):
        if done > 0 and done % NODES_A_PAGE == 0:
            page = load_i32(following, page)
        _copy_edges(forest, tree, page * NODES_A_PAGE + done % NODES_A_PAGE)
        done += 1


@part
def _copy_edges(forest, tree, index):  # type: ignore[no-untyped-def]
    """Copy the edges of a copied node, and the nodes below them."""
    node = node_at(forest, index)
    if not state_of(node) & EXPANDED:
        return
    old, count = edges_of(forest, node), load_u16(node, NUM_EDGES)
    first = new_edges(forest, tree, count)
    if first == NO_EDGE:  # a tree at its limit may fill pages less well the second time
        store16(node, STATE, state_of(node) & ~EXPANDED)
        count_up(forest, descriptor.UNEXPANDED, 1)
        return
    store_i32(node, FIRST_EDGE, first)
    for number in range(count):
        edge = edge_at(forest, first + number)
        store(edge, 0, load(old + number * EDGE_BYTES, 0))
        store(edge, 1, load(old + number * EDGE_BYTES, 1))
    for number in range(load_u16(node, NUM_OPENED)):
        edge = edge_at(forest, first + number)
        child = load_i32(edge, CHILD)
        if child == NO_NODE:
            continue
        if _is_draw_no_more(forest, node_at(forest, child), node):
            _forget(forest, node_at(forest, child), node, edge)
        else:
            copy = _copy_node(forest, tree, child, np.int64(index), first + number)
            store_i32(edge, CHILD, copy)


@inline
def _copy_node(forest: Any, tree: Any, old: Any, parent: Any, edge: Any) -> Any:
    """Copy a node, to hang on ``edge`` of ``parent``; its edges are still the old ones."""
    index = new_node(forest, tree)
    source, node = node_at(forest, old), node_at(forest, index)
    for word in range(8):
        store(node, word, load(source, word))
    store_i32(node, PARENT, parent)
    store_i32(node, PARENT_EDGE, edge)
    return index


@paste
def _is_draw_no_more(forest: Any, child: Any, parent: Any) -> Any:
    """Whether a draw by repetition on the path repeats a position that is now before the root."""
    cycle = load_u16(child, CYCLE)
    if cycle == 0:
        return False
    depth = np.int64(1)
    while load_i32(parent, PARENT_EDGE) != NO_EDGE:
        parent = node_at(forest, load_i32(parent, PARENT))
        depth += 1
    return cycle > depth


@part
def _forget(forest, child, parent, edge):  # type: ignore[no-untyped-def]
    """Take the visits of a child out of the tree, as if its edge had never been followed."""
    visits = load_i32(child, VISITS)
    value, draw = -load_i64(child, VALUE_SUM), load_i64(child, DRAW_SUM)
    node = parent
    while True:
        store_i32(node, VISITS, load_i32(node, VISITS) - visits)
        store(node, VALUE_SUM, load_i64(node, VALUE_SUM) - value)
        store(node, DRAW_SUM, load_i64(node, DRAW_SUM) - draw)
        if load_i32(node, PARENT_EDGE) == NO_EDGE:
            break
        write_edge(edge_at(forest, load_i32(node, PARENT_EDGE)), node)
        node = node_at(forest, load_i32(node, PARENT))
        value = -value
    store_i32(edge, CHILD, NO_NODE)
    store_i32(edge, EDGE_VISITS, 0)
    mean = np.float64(load_i64(parent, VALUE_SUM)) / np.float64(load_i32(parent, VISITS) * UNIT)
    store_f32(edge, EDGE_VALUE, mean)


@kernel
def follow_move(forest, index, choice):  # type: ignore[no-untyped-def]
    """``follow_edge`` from Python."""
    follow_edge(forest, index, choice)
