"""Parts of kernels, which only kernels call, for tests."""

from typing import Any

import numba


def exposed(part: Any) -> Any:
    """A function that calls ``part`` and that Python can call."""

    @numba.njit(error_model="numpy")
    def call(*arguments: Any) -> Any:
        return part(*arguments)

    return call
