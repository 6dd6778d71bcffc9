"""From one move's search to the next: the part of the tree below the move that was played.

The kept nodes are copied to fresh pages in breadth-first order (Cheney 1970) and the old pages
go back to the pool as a whole.
"""

from typing import Any

import numpy as np

from vecchess.chess.bitboards.bits import load, store
from vecchess.jit import inline, part, paste
from vecchess.search.kernels.backup import update_edge
from vecchess.search.tree.layout import EXPANDED, NO_EDGE, NO_NODE, NODES_A_PAGE, UNIT
from vecchess.search.tree.node_pool import clear_tree, free_pages, free_tree, new_edges, new_node


@part
def begin_search(forest, index, number, ply, budget, full, explore, temperature):  # type: ignore[no-untyped-def]
    """Prepare tree ``index`` for a search of the position on its board.

    ``number`` and ``ply`` of the game choose the random numbers; the simulations that
    ``follow_edge`` kept of an earlier search count towards the ``budget`` (decision 53).
    """
    tree = forest.trees[index]
    tree.budget = budget
    tree.is_full = full
    tree.explores = explore
    tree.is_root_ready = 0
    tree.ply = ply
    tree.number = number
    tree.num_steps = 0
    tree.temperature = temperature


@part
def follow_edge(forest, index, choice):  # type: ignore[no-untyped-def]
    """Make the child of the root's edge number ``choice`` the root of tree ``index``.

    The rest of the tree is dropped; all of it if the child is not expanded or trees are not reused.
    """
    tree = forest.trees[index]
    child = forest.edges[forest.nodes[tree.root].first_edge + choice].child
    if child == NO_NODE or forest.reuse == 0 or not forest.nodes[child].state & EXPANDED:
        free_tree(forest, tree)
        return
    nodes = tree.node_pages.first, tree.node_pages.last
    edges = tree.edge_pages.first, tree.edge_pages.last
    clear_tree(tree)
    tree.root = _copy_node(forest, tree, child, np.int64(NO_NODE), np.int64(NO_EDGE))
    _copy_below(forest, tree)
    free_pages(forest.node_pages, nodes[0], nodes[1])
    free_pages(forest.edge_pages, edges[0], edges[1])


@paste
def _copy_below(forest: Any, tree: Any) -> None:
    """Copy the edges and children of each copied node, in the order in which nodes were copied."""
    page, num_done = tree.node_pages.first, np.int64(0)
    while num_done < tree.node_pages.num_items:
        if num_done > 0 and num_done % NODES_A_PAGE == 0:
            page = forest.node_pages.following[page]
        _copy_edges(forest, tree, page * NODES_A_PAGE + num_done % NODES_A_PAGE)
        num_done += 1


@part
def _copy_edges(forest, tree, index):  # type: ignore[no-untyped-def]
    """Copy the edges of a copied node, and the nodes below them."""
    node = forest.nodes[index]
    if not node.state & EXPANDED:
        return
    old, count = forest.edges[node.first_edge], node.num_edges
    first = new_edges(forest, tree, count)
    if first == NO_EDGE:  # a tree at its limit may fill pages less well the second time
        node.state &= ~EXPANDED
        node.num_opened = 0
        forest.unexpanded += 1
        return
    node.first_edge = first
    edges = forest.edges[first]
    for word in range(2 * count):
        store(edges.address, word, load(old.address, word))
    for number in range(node.num_opened):
        edge = edges[number]
        if edge.child == NO_NODE:
            continue
        if _is_draw_no_more(forest, forest.nodes[edge.child], node):
            _remove_visits(forest, forest.nodes[edge.child], node, edge)
        else:
            edge.child = _copy_node(forest, tree, edge.child, np.int64(index), first + number)


@inline
def _copy_node(forest: Any, tree: Any, old: Any, parent: Any, edge: Any) -> Any:
    """Copy a node to below ``edge`` of ``parent``; its edges are still the old ones."""
    index = new_node(forest, tree)
    source, node = forest.nodes[old], forest.nodes[index]
    for word in range(8):
        store(node.address, word, load(source.address, word))
    node.parent = parent
    node.parent_edge = edge
    return index


@paste
def _is_draw_no_more(forest: Any, child: Any, parent: Any) -> Any:
    """Whether a draw by repetition on the path repeats a position that is now before the root
    (decision 57)."""
    if child.cycle == 0:
        return False
    depth = np.int64(1)
    while parent.parent_edge != NO_EDGE:
        parent = forest.nodes[parent.parent]
        depth += 1
    return child.cycle > depth


@part
def _remove_visits(forest, child, parent, edge):  # type: ignore[no-untyped-def]
    """Take the visits of a child out of the tree, as if its edge had never been followed."""
    visits, value, draw = child.visits, -child.value_sum, child.draw_sum
    node = parent
    while True:
        node.visits -= visits
        node.value_sum -= value
        node.draw_sum -= draw
        if node.parent_edge == NO_EDGE:
            break
        update_edge(forest.edges[node.parent_edge], node)
        node = forest.nodes[node.parent]
        value = -value
    edge.child = NO_NODE
    edge.visits = 0
    edge.value = np.float64(parent.value_sum) / np.float64(parent.visits * UNIT)
