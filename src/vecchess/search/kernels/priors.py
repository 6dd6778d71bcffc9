"""Priors in 16 bits: five of exponent, eleven of mantissa, as lc0 keeps them.

A prior is 2**-31 at least, so its logarithm is finite, and at most 1; the relative error is
2**-12. Every decoded prior is a multiple of 2**-42, so sums of priors are exact in float64.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.jit import inline

_BASE = 96 << 11
"""float32 exponent of 2**-31, in place."""


@inline
def encode_prior(prior: Any) -> Any:
    """Code of a prior (float32 in 0 .. 1), int64 in 1 .. 63488."""
    bits = np.int64(np.float32(prior).view(np.uint32))
    return max(np.int64(1), ((bits + 0x800) >> 12) - _BASE)


@inline
def decode_prior(code: Any) -> Any:
    """The prior of a code, float64."""
    return np.float64(np.uint32((code + _BASE) << 12).view(np.float32))


def decode_priors(codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Priors of codes, int64[K] -> float64[K]."""
    bits = ((codes + _BASE) << 12).astype(np.uint32)
    return bits.view(np.float32).astype(np.float64)


def encode_priors(priors: NDArray[np.float64]) -> NDArray[np.int64]:
    """Codes of priors, float64[K] in 0 .. 1 -> int64[K]."""
    bits = priors.astype(np.float32).view(np.uint32).astype(np.int64)
    codes: NDArray[np.int64] = np.maximum(1, ((bits + 0x800) >> 12) - _BASE)
    return codes
