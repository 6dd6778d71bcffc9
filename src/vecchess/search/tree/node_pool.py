"""Memory for nodes and edges: pages that go from tree to tree, never back to the system.

A tree takes pages as it grows and gives all of them back when it is done. Pages that were used
most recently are used again first, so the memory touched is what the trees needed at one time.
A tree may not grow beyond its own limits; the arena is large enough for all trees at theirs.
"""

from typing import Any

from vecchess.chess.bitboards.bits import load_i32, load_i64, store, store_i32
from vecchess.jit import inline, part
from vecchess.search.tree import forest_layout as descriptor
from vecchess.search.tree import tree_layout as record
from vecchess.search.tree.node_layout import EDGES_A_PAGE, NO_EDGE, NO_NODE, NO_PAGE, NODES_A_PAGE


@inline
def count_up(forest: Any, word: Any, by: Any) -> None:
    """Add to a counter of the forest."""
    store(forest, word, load_i64(forest, word) + by)


@inline
def new_node(forest: Any, tree: Any) -> Any:
    """Index of a node for the tree, its words not yet written; NO_NODE if the tree is full."""
    num_nodes = load_i32(tree, record.NUM_NODES)
    if num_nodes >= load_i64(forest, descriptor.MOST_NODES):
        return NO_NODE
    used = load_i32(tree, record.NODES_IN_PAGE)
    page = load_i32(tree, record.LAST_NODE_PAGE)
    if used == NODES_A_PAGE or page == NO_PAGE:
        page = _add_page(
            forest, tree, descriptor.NODE_FOLLOWING, descriptor.NODE_FREE, descriptor.NODE_FRESH,
            record.FIRST_NODE_PAGE, record.LAST_NODE_PAGE,
        )  # fmt: skip
        used = 0
    store_i32(tree, record.NODES_IN_PAGE, used + 1)
    store_i32(tree, record.NUM_NODES, num_nodes + 1)
    count_up(forest, descriptor.NODES_MADE, 1)
    return page * NODES_A_PAGE + used


@inline
def new_edges(forest: Any, tree: Any, count: Any) -> Any:
    """Index of the first of ``count`` edges side by side; NO_EDGE if the tree is full."""
    used = load_i32(tree, record.EDGES_IN_PAGE)
    page = load_i32(tree, record.LAST_EDGE_PAGE)
    if used + count > EDGES_A_PAGE or page == NO_PAGE:
        pages = load_i32(tree, record.EDGE_PAGES)
        if pages >= load_i64(forest, descriptor.MOST_EDGE_PAGES):
            return NO_EDGE
        page = _add_page(
            forest, tree, descriptor.EDGE_FOLLOWING, descriptor.EDGE_FREE, descriptor.EDGE_FRESH,
            record.FIRST_EDGE_PAGE, record.LAST_EDGE_PAGE,
        )  # fmt: skip
        store_i32(tree, record.EDGE_PAGES, pages + 1)
        used = 0
    store_i32(tree, record.EDGES_IN_PAGE, used + count)
    store_i32(tree, record.NUM_EDGES, load_i32(tree, record.NUM_EDGES) + count)
    count_up(forest, descriptor.EDGES_MADE, count)
    return page * EDGES_A_PAGE + used


@part
def _add_page(forest, tree, following, free, fresh, first, last):  # type: ignore[no-untyped-def]
    """Give the tree one more page of a kind; returns it."""
    links = load_i64(forest, following)
    page = load_i64(forest, free)
    if page != NO_PAGE:
        store(forest, free, load_i32(links, page))
    else:
        page = load_i64(forest, fresh)
        store(forest, fresh, page + 1)
    store_i32(links, page, NO_PAGE)
    before = load_i32(tree, last)
    if before == NO_PAGE:
        store_i32(tree, first, page)
    else:
        store_i32(links, before, page)
    store_i32(tree, last, page)
    return page


@part
def free_tree(forest, tree):  # type: ignore[no-untyped-def]
    """Give all pages of a tree back and leave it empty."""
    give_back(
        forest, descriptor.NODE_FOLLOWING, descriptor.NODE_FREE,
        load_i32(tree, record.FIRST_NODE_PAGE), load_i32(tree, record.LAST_NODE_PAGE),
    )  # fmt: skip
    give_back(
        forest, descriptor.EDGE_FOLLOWING, descriptor.EDGE_FREE,
        load_i32(tree, record.FIRST_EDGE_PAGE), load_i32(tree, record.LAST_EDGE_PAGE),
    )  # fmt: skip
    empty_tree(tree)


@inline
def empty_tree(tree: Any) -> None:
    """The record of a tree without nodes."""
    store_i32(tree, record.ROOT, NO_NODE)
    store_i32(tree, record.FIRST_NODE_PAGE, NO_PAGE)
    store_i32(tree, record.LAST_NODE_PAGE, NO_PAGE)
    store_i32(tree, record.FIRST_EDGE_PAGE, NO_PAGE)
    store_i32(tree, record.LAST_EDGE_PAGE, NO_PAGE)
    store_i32(tree, record.NODES_IN_PAGE, 0)
    store_i32(tree, record.EDGES_IN_PAGE, 0)
    store_i32(tree, record.EDGE_PAGES, 0)
    store_i32(tree, record.NUM_NODES, 0)
    store_i32(tree, record.NUM_EDGES, 0)


@inline
def give_back(forest: Any, following: Any, free: Any, first: Any, last: Any) -> None:
    """Put a chain of pages of one kind before those that are free."""
    if last != NO_PAGE:
        store_i32(load_i64(forest, following), last, load_i64(forest, free))
        store(forest, free, first)
