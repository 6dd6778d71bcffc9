"""From the network's answer to an evaluation, and from an evaluation to the edges of a node.

The moves of an evaluation are in the order of generation, so one from the cache and one from the
network make the same edges.
"""

from typing import Any

import numpy as np

from vecchess.chess.action import LEGAL_BYTES
from vecchess.chess.bitboards.bits import load_u16
from vecchess.inference.requests import POLICY_BYTES, WDL_BYTES
from vecchess.jit import inline, part, paste
from vecchess.search.kernels.sampling import write_softmax_weights
from vecchess.search.tree.edge_word import decode_prior, encode_prior
from vecchess.search.tree.layout import EXPANDED, NO_EDGE, NO_NODE, UNIT
from vecchess.search.tree.node_pool import new_edges
from vecchess.shapes import NUM_OUTCOMES


@part
def read_answer(forest, row):  # type: ignore[no-untyped-def]
    """Turn the answer in a request row into an evaluation, the forest's; returns it."""
    evaluation, weights = forest.evaluation, forest.weights
    steps, num_legal = forest.steps[row], np.int64(forest.num_legal[row])
    evaluation.num_steps = steps
    evaluation.num_moves = num_legal
    _read_value(forest, row, steps, evaluation, weights)
    scale = np.float32(forest.policy_scale) / np.float32(steps)
    policy = forest.policy + row * POLICY_BYTES
    total = np.float32(write_softmax_weights(policy, num_legal, scale, weights.address))
    legal = forest.legal + row * LEGAL_BYTES
    for index in range(num_legal):
        weight = max(weights[index], np.int64(1))
        code = encode_prior(np.float32(weight) / total)
        evaluation.moves[index] = code << 16 | load_u16(legal, index)
    return evaluation


@paste
def _read_value(forest: Any, row: Any, steps: Any, evaluation: Any, weights: Any) -> None:
    """Value and draw of an answer, in 2**-24, from softmax weights."""
    scale = np.float32(forest.value_scale) / np.float32(steps)
    wdl = forest.wdl + row * WDL_BYTES
    total = np.int64(write_softmax_weights(wdl, NUM_OUTCOMES, scale, weights.address))
    win = ((weights[0] << 24) + (total >> 1)) // total
    loss = ((weights[2] << 24) + (total >> 1)) // total
    evaluation.value = win - loss
    evaluation.draw = max(np.int64(0), UNIT - win - loss)


@part
def expand_node(forest, tree, node, evaluation):  # type: ignore[no-untyped-def]
    """Give a node the edges of an evaluation, the one with the highest prior first.

    In a tree that is full the node stays without edges and will give its value again.
    """
    count = evaluation.num_moves
    first = new_edges(forest, tree, count)
    if first == NO_EDGE:
        forest.unexpanded += 1
        return
    edges = forest.edges[first]
    best, best_word, mass = np.int64(0), np.int64(0), 0.0
    for index in range(count):
        word, edge = evaluation.moves[index], edges[index]
        mass += decode_prior(word >> 16)
        if word > best_word:
            best, best_word = np.int64(index), word
        edge.word = word
        edge.child = NO_NODE
        edge.visits = 0
        edge.value = 0.0
    swap_edges(edges, 0, best)
    node.first_edge = first
    node.unopened_mass = mass
    node.num_edges = count
    node.state |= EXPANDED


@part
def place_next_edge(edges, opened, count):  # type: ignore[no-untyped-def]
    """Swap the unopened edge with the largest word to the place after the opened ones."""
    best, best_word = np.int64(opened), np.int64(-1)
    for index in range(opened, count):
        word = edges[index].word
        if word > best_word:
            best, best_word = np.int64(index), word
    if best != opened and opened < count:
        swap_edges(edges, opened, best)


@inline
def swap_edges(edges: Any, one: Any, other: Any) -> None:
    """Exchange two edges that were not opened."""
    first, second = edges[one], edges[other]
    first.word_and_child, second.word_and_child = second.word_and_child, first.word_and_child
