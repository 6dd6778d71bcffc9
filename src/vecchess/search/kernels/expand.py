"""From the network's answer to edges: an evaluation in between, which the cache can keep.

    entry   int32 0 value   1 draw   2 time steps   3 legal moves   4.. prior << 16 | action

The moves are in the order of generation, so an entry from the cache and one from the network
make the same edges.
"""

from typing import Any

import numpy as np

from vecchess.chess.bitboards.bits import (
    load,
    load_f64,
    load_i32,
    load_i64,
    load_u8,
    load_u16,
    store,
    store16,
    store_f64,
    store_i32,
)
from vecchess.inference.requests import LEGAL_BYTES, POLICY_BYTES, WDL_BYTES
from vecchess.jit import inline, part, paste
from vecchess.search.kernels.evaluation_cache import (
    ENTRY_DRAW,
    ENTRY_MOVES,
    ENTRY_STEPS,
    ENTRY_VALUE,
    ENTRY_WORDS,
    EXCHANGE_WORDS,
)
from vecchess.search.kernels.priors import decode_prior, encode_prior
from vecchess.search.kernels.sampling import write_softmax_weights
from vecchess.search.tree import forest_layout as descriptor
from vecchess.search.tree.node_layout import (
    ACTION_MASK,
    EDGE_BYTES,
    EXPANDED,
    FIRST_EDGE,
    NO_EDGE,
    NUM_EDGES,
    STATE,
    UNIT,
    UNOPENED_MASS,
    edge_at,
    edge_word,
    state_of,
)
from vecchess.search.tree.node_pool import count_up, new_edges
from vecchess.shapes import NUM_OUTCOMES

ENTRY_BYTES = 4 * EXCHANGE_WORDS
UNVISITED_CHILD = -1 << 32
"""Upper half of an edge's first word while its child is NO_NODE."""


@part
def read_answer(forest, row):  # type: ignore[no-untyped-def]
    """Write the answer in a request row as the forest's entry; returns the entry's address."""
    entry, weights = load_i64(forest, descriptor.ENTRY), load_i64(forest, descriptor.WEIGHTS)
    steps = load_u8(load_i64(forest, descriptor.STEPS), row)
    num_legal = load_u8(load_i64(forest, descriptor.NUM_LEGAL), row)
    store_i32(entry, ENTRY_STEPS, steps)
    store_i32(entry, ENTRY_MOVES, num_legal)
    _read_value(forest, row, steps, entry, weights)
    scale = np.float32(load_f64(forest, descriptor.POLICY_SCALE)) / np.float32(steps)
    policy = load_i64(forest, descriptor.POLICY) + row * POLICY_BYTES
    total = np.float32(write_softmax_weights(policy, num_legal, scale, weights))
    legal = load_i64(forest, descriptor.LEGAL) + row * LEGAL_BYTES
    for index in range(num_legal):
        weight = max(load_i32(weights, index), np.int64(1))
        code = encode_prior(np.float32(weight) / total)
        store_i32(entry, ENTRY_WORDS + index, code << 16 | load_u16(legal, index))
    return entry


@paste
def _read_value(forest: Any, row: Any, steps: Any, entry: Any, weights: Any) -> None:
    """Value and draw of an answer, in 2**-24, from softmax weights."""
    scale = np.float32(load_f64(forest, descriptor.VALUE_SCALE)) / np.float32(steps)
    wdl = load_i64(forest, descriptor.WDL) + row * WDL_BYTES
    total = np.int64(write_softmax_weights(wdl, NUM_OUTCOMES, scale, weights))
    win = ((load_i32(weights, 0) << 24) + (total >> 1)) // total
    loss = ((load_i32(weights, 2) << 24) + (total >> 1)) // total
    store_i32(entry, ENTRY_VALUE, win - loss)
    store_i32(entry, ENTRY_DRAW, max(np.int64(0), UNIT - win - loss))


@part
def expand_node(forest, tree, node, entry):  # type: ignore[no-untyped-def]
    """Give the node at address ``node`` the edges of an entry.

    In a tree that is full the node stays without edges and will give its value again.
    """
    count = load_i32(entry, ENTRY_MOVES)
    first = new_edges(forest, tree, count)
    if first == NO_EDGE:
        count_up(forest, descriptor.UNEXPANDED, 1)
        return
    edges = edge_at(forest, first)
    best, best_word, mass = np.int64(0), np.int64(0), 0.0
    for index in range(count):
        word = load_i32(entry, ENTRY_WORDS + index) & 0xFFFFFFFF
        mass += decode_prior(word >> 16)
        if word > best_word:
            best, best_word = np.int64(index), word
        edge = edges + index * EDGE_BYTES
        store(edge, 0, word | UNVISITED_CHILD)
        store(edge, 1, np.int64(0))
    store(edges + best * EDGE_BYTES, 0, load(edges, 0))
    store(edges, 0, best_word | UNVISITED_CHILD)
    store_i32(node, FIRST_EDGE, first)
    store_f64(node, UNOPENED_MASS, mass)
    store16(node, NUM_EDGES, count)
    store16(node, STATE, state_of(node) | EXPANDED)


@part
def place_next_edge(edges, opened, count):  # type: ignore[no-untyped-def]
    """Swap the unopened edge with the largest word to the place after the opened ones."""
    best, best_word = np.int64(opened), np.int64(-1)
    for index in range(opened, count):
        word = edge_word(edges + index * EDGE_BYTES)
        if word > best_word:
            best, best_word = np.int64(index), word
    if best != opened and opened < count:
        swap_edges(edges, opened, best)


@inline
def swap_edges(edges: Any, one: Any, other: Any) -> None:
    """Exchange two edges that were not opened."""
    first, second = edges + one * EDGE_BYTES, edges + other * EDGE_BYTES
    word = load(first, 0)
    store(first, 0, load(second, 0))
    store(second, 0, word)


@inline
def prior_of(edge: Any) -> Any:
    """Prior of the edge at address ``edge``, float64."""
    return decode_prior(edge_word(edge) >> 16)


@inline
def action_of(edge: Any) -> Any:
    """Action of the edge at address ``edge``."""
    return edge_word(edge) & ACTION_MASK
