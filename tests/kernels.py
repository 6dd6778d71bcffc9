"""Kernels in tests: how to call their parts, and how much to ask of them where they are slow."""

from functools import cache
from typing import Any

import numba


@cache
def exposed(part: Any) -> Any:
    """A function that calls ``part`` and that Python can call, compiled once for each part."""

    @numba.njit(error_model="numpy")
    def call(*arguments: Any) -> Any:
        return part(*arguments)

    return call


def size(compiled: int, plain: int) -> int:
    """How many to try: fewer where kernels are interpreted (``tests/plain``)."""
    return plain if numba.config.DISABLE_JIT else compiled
