"""The word of an edge: prior (16 bits) | won | lost | action (13 bits), as ``uint32``.

A prior has five bits of exponent and eleven of mantissa (decision 51). It is 2**-31 at least, so
its logarithm is finite, and at most 1; the relative error is 2**-12. Every decoded prior is a
multiple of 2**-42, so sums of priors are exact in float64.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.jit import inline

ACTION_MASK = 0x1FFF
EDGE_WON, EDGE_LOST = 1 << 15, 1 << 14
"""The move wins, or loses: proven."""
WITHOUT_PROOF = 0xFFFFFFFF & ~(EDGE_WON | EDGE_LOST)
_BASE = 96 << 11
"""float32 exponent of 2**-31, in place."""


@inline
def prior_of(edge: Any) -> Any:
    """Prior of an edge, float64."""
    return decode_prior(edge.word >> 16)


@inline
def action_of(edge: Any) -> Any:
    """Action of an edge."""
    return edge.word & ACTION_MASK


@inline
def encode_prior(prior: Any) -> Any:
    """Code of a prior (float32 in 0 .. 1), int64 in 1 .. 63488."""
    bits = np.int64(np.float32(prior).view(np.uint32))
    return max(np.int64(1), ((bits + 0x800) >> 12) - _BASE)


@inline
def decode_prior(code: Any) -> Any:
    """The prior of a code, float64."""
    return np.float64(np.uint32((code + _BASE) << 12).view(np.float32))


def word_actions(words: NDArray[np.uint32]) -> NDArray[np.uint16]:
    """Actions in words, uint32[K] -> uint16[K]."""
    return (words & ACTION_MASK).astype(np.uint16)


def word_priors(words: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Priors in words, uint32[K] -> float64[K]."""
    bits = ((words.astype(np.int64) >> 16) + _BASE) << 12
    return bits.astype(np.uint32).view(np.float32).astype(np.float64)


def word_outcomes(words: NDArray[np.uint32]) -> NDArray[np.int64]:
    """What words prove, uint32[K] -> int64[K]: 1 won, -1 lost, else 0."""
    signed = words.astype(np.int64)
    outcomes: NDArray[np.int64] = np.sign(signed & EDGE_WON) - np.sign(signed & EDGE_LOST)
    return outcomes


def pack_words(priors: NDArray[np.float64], actions: NDArray[np.uint16]) -> NDArray[np.uint32]:
    """Words of priors, float64[K] in 0 .. 1, and actions, uint16[K], with nothing proven."""
    bits = priors.astype(np.float32).view(np.uint32).astype(np.int64)
    codes = np.maximum(1, ((bits + 0x800) >> 12) - _BASE)
    return np.asarray(codes << 16 | actions, np.uint32)
