"""Answers of networks that compute floats, as the integers of a request row."""

import numpy as np
from numpy.typing import NDArray

UNITS = 1 << 16
"""Accumulator units of a logit."""
MOST_LOGIT = 8192.0
"""Logits beyond are cut: differences of accumulators are below 2**31."""


def accumulators(logits: NDArray[np.float32]) -> NDArray[np.int32]:
    """Logits in units of 2**-16, of the same shape; one that is no number, of a network that
    overflows, counts 0."""
    known = np.clip(np.nan_to_num(logits), -MOST_LOGIT, MOST_LOGIT)
    return np.rint(known * UNITS).astype(np.int32)
