"""Sums whose bits do not depend on the order of their terms: the terms are rounded to a grid."""

from torch import Tensor

GRID = 2.0**30
"""Terms are multiples of 1 / GRID: float64 adds them exactly up to 2^53 / GRID, 8 million."""


def on_grid(terms: Tensor) -> Tensor:
    """``terms`` rounded to multiples of 1 / GRID, float64; what is not finite stays so."""
    return terms.double().mul(GRID).round().div(GRID)
