"""Memory for trees and caches: reserved as a whole, committed by the system as it is touched."""

import os

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import ConfigError

MEGABYTE = 1 << 20
LINE_BYTES = 64


def machine_bytes() -> int | None:
    """Memory of this machine; None where the system does not say."""
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return None
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def aligned_zeros(nbytes: int, purpose: str) -> NDArray[np.uint64]:
    """uint64 in so many bytes, a multiple of 8, beginning on a cache line.

    Raises ConfigError, naming the ``purpose``, where the system does not give as much.
    """
    try:
        room = np.zeros((nbytes + LINE_BYTES) // 8, np.uint64)
    except MemoryError:
        raise ConfigError(
            f"no memory for {purpose} of {nbytes // MEGABYTE:,} MB: choose a smaller one"
        ) from None
    start = (-room.ctypes.data // 8) % (LINE_BYTES // 8)
    return room[start : start + nbytes // 8]
