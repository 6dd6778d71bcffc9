"""Keeps freed memory in the process, for work that allocates the same again and again.

glibc gives large blocks back to the system when they are freed; the next ones are then zeroed and
mapped page by page, which took 6 % of a training step on a processor (decision 225).
"""

import ctypes
from contextlib import suppress

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_LARGEST_BLOCK, _MOST_KEPT = 1 << 30, (1 << 31) - 1


def keep_freed_memory() -> bool:
    """Keep freed blocks of up to 1 GiB from now on; False where the C library is not glibc."""
    with suppress(OSError, AttributeError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        settings = ((_MMAP_THRESHOLD, _LARGEST_BLOCK), (_TRIM_THRESHOLD, _MOST_KEPT))
        return all(mallopt(name, value) for name, value in settings)
    return False
