"""The share of a multiprocessor's memory that a kernel leaves to the first-level cache."""

import ctypes
from functools import cache
from math import ceil
from typing import Any

import torch

CARVEOUT = 9
"""CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT of the driver: percent of the most."""
RESERVED_BYTES = 1024
"""Shared memory the driver takes for itself in each program."""


def leave_cache(kernel: Any) -> None:
    """Ask the driver for no more shared memory than the programs that fit will use.

    Triton asks for all of it where a program takes over 48 kB, and 28 kB of cache are left. The
    nine taps of a convolution read the same spikes, which then come from the second level each
    time. kernel: a launched kernel of Triton's. A wish: the driver may do as it likes, and where
    it cannot be asked nothing changes.
    """
    _set_carveout(kernel.function, 32 * kernel.metadata.num_warps, kernel.metadata.shared)


@cache
def _set_carveout(handle: int, threads: int, shared_bytes: int) -> None:
    """Once for each kernel: ``handle`` is the driver's, of programs of so many threads."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return
    function, programs = ctypes.c_void_p(handle), ctypes.c_int()
    failed = driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
        ctypes.byref(programs), function, threads, ctypes.c_size_t(shared_bytes)
    )
    if not failed:
        most = torch.cuda.get_device_properties().shared_memory_per_multiprocessor
        used = programs.value * (shared_bytes + RESERVED_BYTES)
        driver.cuFuncSetAttribute(function, CARVEOUT, min(ceil(100 * used / most), 100))
