"""A game's fingerprint: a hash of every answer its moves came from, accumulator by accumulator.

It is folded on from move to move, so that no difference gets lost on the way, and everything in it
is an integer: any machine, backend, number of slots or threads must come to the same.

    a drawn move       policy accumulators of the legal moves, those of win, draw and loss, steps
    a searched move    the root's sums and visits, and of every edge move, prior, what is proven,
                       visits, bits of the value

A ply in progress has room for few bits. They are the fingerprint's tag so far, and say where two
games part; that they do part somewhere, the whole fingerprint says.

Decision 33.
"""

from typing import Any

import numpy as np

from vecchess.chess.bitboards.bits import load_i32
from vecchess.inference.requests import POLICY_BYTES, WDL_BYTES
from vecchess.jit import inline, part

START = 0x9E3779B97F4A7C15
"""Fingerprint of a game without answers."""
_U32, _U64 = np.uint32, np.uint64
_M1, _M2 = _U64(0xBF58476D1CE4E5B9), _U64(0x94D049BB133111EB)  # of splitmix64
_G32, _A32, _B32 = _U32(0x9E3779B9), _U32(0x21F0AAAD), _U32(0xD35A2D97)  # odd, well mixing


@inline
def fold_word(fingerprint: Any, word: Any) -> Any:
    """The fingerprint (uint64) with one more word in it: another word gives another one."""
    mixed = (fingerprint ^ _U64(word)) * _M1
    return mixed ^ (mixed >> _U64(32))


@inline
def fold_answer(fingerprint: Any, requests: Any, row: Any) -> Any:
    """The fingerprint with the answer in a row of ``requests``."""
    count, steps = _U64(requests.num_legal[row]), _U64(requests.steps[row])
    policy = np.int64(requests.policy.ctypes.data) + row * POLICY_BYTES
    wdl = np.int64(requests.wdl.ctypes.data) + row * WDL_BYTES
    summed = _U64(_sum_policy(policy, np.int64(count)))
    mixed = fold_word(fingerprint, summed | steps << _U64(32) | count << _U64(40))
    mixed = fold_word(mixed, load_i32(wdl, 0) & 0xFFFFFFFF | load_i32(wdl, 1) << 32)
    return fold_word(mixed, load_i32(wdl, 2))


@inline
def _sum_policy(policy: Any, count: Any) -> Any:
    """Sum of the accumulators at an address, each mixed with its place: uint32, in any order."""
    total = _U32(0)
    for index in range(count):
        word = _U32((_U32(load_i32(policy, index)) + _U32(index) * _G32) * _A32)
        word = _U32((word ^ (word >> _U32(15))) * _B32)
        total = _U32(total + (word ^ (word >> _U32(15))))
    return total


@part
def fold_root(fingerprint, forest, root):  # type: ignore[no-untyped-def]
    """The fingerprint with a search that is over, by its root.

    The order of the edges does not count, nor where anything lies in memory.
    """
    edges, count, total = forest.edges[root.first_edge], root.num_edges, _U64(0)
    for index in range(count):
        edge = edges[index]
        word = (_U64(edge.word) | _U64(edge.visits) << _U64(32)) * _M1
        word = (word ^ (word >> _U64(32)) ^ _U64(edge.value_bits)) * _M2
        total += word ^ (word >> _U64(29))
    mixed = fold_word(fingerprint, total)
    mixed = fold_word(mixed, root.value_sum)
    mixed = fold_word(mixed, root.draw_sum)
    return fold_word(mixed, root.visits | count << 32)


@inline
def fingerprint_tag(fingerprint: Any, num_tags: Any) -> Any:
    """The fingerprint as a number below ``num_tags``."""
    return ((fingerprint >> _U64(32)) * _U64(num_tags)) >> _U64(32)
