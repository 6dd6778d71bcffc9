"""Clipped ReLUs on the processor: currents to activations of 7 bits and back, in one pass each."""

from typing import Any

import numpy as np

from vecchess.jit import kernel
from vecchess.snn.presets import ACTIVATION_BITS, ACTIVATION_LIMIT

_ZERO, _ONE = np.float32(0), np.float32(1)
_LEVELS = np.float32(2**ACTIVATION_BITS)
_UNIT = np.float32(2.0**-ACTIVATION_BITS)
_TOP = np.float32(ACTIVATION_LIMIT)
_END = np.float32((ACTIVATION_LIMIT + 1) * 2.0**-ACTIVATION_BITS)


@kernel
def activate_boards(currents: Any, begin: Any, end: Any, activations: Any, counts: Any) -> None:
    """Boards begin..end of ``currents: float32[n, N]`` -> activations, written, and how many of
    them are not 0, ``counts: int64[n]``."""
    for n in range(begin, end):
        count = np.int32(0)
        for i in range(currents.shape[1]):
            level = currents[n, i] * _LEVELS
            level = level if level > _ZERO else _ZERO
            level = level if level < _TOP else _TOP
            count += np.int32(level >= _ONE)
            activations[n, i] = np.float32(np.int32(level)) * _UNIT
        counts[n] = count


@kernel
def activate_back(currents: Any, upstream: Any, begin: Any, end: Any, gradient: Any) -> None:
    """Straight through where the activation is not clipped: float32[n, N] each, ``gradient``
    written."""
    for n in range(begin, end):
        for i in range(currents.shape[1]):
            current = currents[n, i]
            is_inside = (current >= _ZERO) & (current < _END)
            gradient[n, i] = upstream[n, i] if is_inside else _ZERO
