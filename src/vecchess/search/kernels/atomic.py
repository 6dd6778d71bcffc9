"""Memory shared by threads: a lock word without waiting, and words read without holding the lock.

Addresses are not checked, as in ``chess.bitboards.bits``. All writes between ``try_lock`` and
``unlock`` are visible to the next thread that takes the lock.
"""

from typing import Any

from numba import types

from vecchess.chess.bitboards.bits import U64
from vecchess.llvm import I8, I32, I64, instruction, prefetch_line


@instruction(types.boolean, types.int64)
def try_lock(builder: Any, address: Any) -> Any:
    """``try_lock(address) -> bool``: take the lock, an ``int32`` that is 0, by making it 1."""
    word = builder.inttoptr(address, I32.as_pointer())
    found = builder.cmpxchg(word, I32(0), I32(1), "acquire", "monotonic")
    return builder.extract_value(found, 1)


@instruction(types.void, types.int64)
def unlock(builder: Any, address: Any) -> None:
    """``unlock(address)``: only for the thread that holds the lock."""
    builder.store_atomic(I32(0), builder.inttoptr(address, I32.as_pointer()), "release", 4)


@instruction(U64, types.int64)
def load_shared(builder: Any, address: Any) -> Any:
    """``load_shared(address) -> uint64``: a word that another thread may be writing; old or new."""
    return builder.load_atomic(builder.inttoptr(address, I64.as_pointer()), "monotonic", 8)


@instruction(types.void, types.int64, U64)
def store_shared(builder: Any, address: Any, value: Any) -> None:
    """``store_shared(address, value)``: write a ``uint64`` for ``load_shared``."""
    builder.store_atomic(value, builder.inttoptr(address, I64.as_pointer()), "monotonic", 8)


@instruction(types.void, types.int64)
def prefetch(builder: Any, address: Any) -> None:
    """``prefetch(address)``: start to load the cache line."""
    prefetch_line(builder, builder.inttoptr(address, I8.as_pointer()), is_written=False)
