"""Memory for nodes and edges: pages that go from tree to tree, never back to the system.

A tree takes pages as it grows and gives all of them back when it is done. Pages that were used
most recently are used again first, so the memory touched is what the trees needed at one time.
A tree may not grow beyond its own limits; the pool is large enough for all trees at theirs
(decision 52).
"""

from typing import Any

from vecchess.jit import inline, part
from vecchess.search.tree.layout import EDGES_A_PAGE, NO_EDGE, NO_NODE, NO_PAGE, NODES_A_PAGE


@inline
def new_node(forest: Any, tree: Any) -> Any:
    """Index of a node for the tree, its fields not yet written; NO_NODE if the tree is full."""
    chain = tree.node_pages
    if chain.num_items >= forest.max_nodes:
        return NO_NODE
    if chain.num_used == NODES_A_PAGE or chain.last == NO_PAGE:
        _add_page(forest.node_pages, chain)
    forest.nodes_made += 1
    return _take_items(chain, 1, NODES_A_PAGE)


@inline
def new_edges(forest: Any, tree: Any, count: Any) -> Any:
    """Index of the first of ``count`` edges side by side; NO_EDGE if the tree is full."""
    chain = tree.edge_pages
    if chain.num_used + count > EDGES_A_PAGE or chain.last == NO_PAGE:
        if chain.num_pages >= forest.max_edge_pages:
            return NO_EDGE
        _add_page(forest.edge_pages, chain)
    forest.edges_made += count
    return _take_items(chain, count, EDGES_A_PAGE)


@inline
def _take_items(chain: Any, count: Any, items_a_page: Any) -> Any:
    """Index of the first of ``count`` items, for which the last page has room."""
    used = chain.num_used
    chain.num_used = used + count
    chain.num_items += count
    return chain.last * items_a_page + used


@part
def _add_page(pool, chain):  # type: ignore[no-untyped-def]
    """Put one more page at the end of a chain."""
    page = pool.first_free
    if page != NO_PAGE:
        pool.first_free = pool.following[page]
    else:
        page = pool.first_unused
        pool.first_unused = page + 1
    pool.following[page] = NO_PAGE
    if chain.last == NO_PAGE:
        chain.first = page
    else:
        pool.following[chain.last] = page
    chain.last = page
    chain.num_used = 0
    chain.num_pages += 1


@part
def free_tree(forest, tree):  # type: ignore[no-untyped-def]
    """Give all pages of a tree back and leave it empty."""
    free_pages(forest.node_pages, tree.node_pages.first, tree.node_pages.last)
    free_pages(forest.edge_pages, tree.edge_pages.first, tree.edge_pages.last)
    clear_tree(tree)


@inline
def clear_tree(tree: Any) -> None:
    """Leave a tree without nodes, and without pages, which are not given back."""
    tree.root = NO_NODE
    _clear_chain(tree.node_pages)
    _clear_chain(tree.edge_pages)


@inline
def _clear_chain(chain: Any) -> None:
    chain.first = NO_PAGE
    chain.last = NO_PAGE
    chain.num_used = 0
    chain.num_pages = 0
    chain.num_items = 0


@inline
def free_pages(pool: Any, first: Any, last: Any) -> None:
    """Put a chain of pages before those that are free."""
    if last != NO_PAGE:
        pool.following[last] = pool.first_free
        pool.first_free = first
