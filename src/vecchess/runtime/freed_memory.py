"""What becomes of memory that the process frees: kept for later, or given back to the system."""

import ctypes
import os
from contextlib import suppress
from functools import cache

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_LARGEST_BLOCK, _MOST_KEPT = 1 << 30, (1 << 31) - 1


def keep_freed_memory() -> bool:
    """Keep freed blocks of up to 1 GiB from now on; False where the C library is not glibc.

    It is for work that allocates the same again and again. glibc gives large blocks back to the
    system when they are freed; the next ones are then zeroed and mapped page by page, which took
    6 % of a training step on a processor (decision 225).
    """
    with suppress(OSError, AttributeError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        settings = ((_MMAP_THRESHOLD, _LARGEST_BLOCK), (_TRIM_THRESHOLD, _MOST_KEPT))
        return all(mallopt(name, value) for name, value in settings)
    return False


def return_freed_memory() -> None:
    """Give free pages back to the system, where the C library has a function for it.

    Writing a shard takes several times its size for a moment. glibc would keep the most there
    ever was, in pieces, so the process would grow for minutes before it stays as it is.
    """
    trim = getattr(_c_library(), "malloc_trim", None)
    if trim is not None:
        trim(0)


@cache
def _c_library() -> ctypes.CDLL | None:
    return ctypes.CDLL(None) if os.name == "posix" else None
