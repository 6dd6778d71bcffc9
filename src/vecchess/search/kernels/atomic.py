"""Memory shared by threads: a lock word without waiting, and words read without holding the lock.

Like ``chess.bitboards.bits`` these are ``@intrinsic``: LLVM IR, inlined, without checks of
addresses. All writes between ``try_lock`` and ``unlock`` are visible to the next thread that takes
the lock.
"""

from typing import Any

from llvmlite import ir
from numba import types

from vecchess.chess.bitboards.bits import I32, I64, U64, call, instruction

_I8 = ir.IntType(8)


@instruction
def try_lock(typing: Any, address: Any) -> Any:
    """``try_lock(address) -> bool``: take the lock, an ``int32`` that is 0, by making it 1."""
    if not isinstance(address, types.Integer):
        return None

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = builder.inttoptr(args[0], I32.as_pointer())
        free, taken = ir.Constant(I32, 0), ir.Constant(I32, 1)
        found = builder.cmpxchg(word, free, taken, "acquire", "monotonic")
        return builder.extract_value(found, 1)

    return types.boolean(address), codegen


@instruction
def unlock(typing: Any, address: Any) -> Any:
    """``unlock(address)``: only for the thread that holds the lock."""
    if not isinstance(address, types.Integer):
        return None

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = builder.inttoptr(args[0], I32.as_pointer())
        builder.store_atomic(ir.Constant(I32, 0), word, "release", 4)
        return context.get_dummy_value()

    return types.void(address), codegen


@instruction
def load_shared(typing: Any, address: Any) -> Any:
    """``load_shared(address) -> uint64``: a word that another thread may be writing; old or new."""
    if not isinstance(address, types.Integer):
        return None

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = builder.inttoptr(args[0], I64.as_pointer())
        return builder.load_atomic(word, "monotonic", 8)

    return U64(address), codegen


@instruction
def store_shared(typing: Any, address: Any, value: Any) -> Any:
    """``store_shared(address, value)``: write a ``uint64`` for ``load_shared``."""
    if not isinstance(address, types.Integer):
        return None

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = builder.inttoptr(args[0], I64.as_pointer())
        builder.store_atomic(args[1], word, "monotonic", 8)
        return context.get_dummy_value()

    return types.void(address, U64), codegen


@instruction
def prefetch(typing: Any, address: Any) -> Any:
    """``prefetch(address)``: start to load the cache line."""
    if not isinstance(address, types.Integer):
        return None

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        line = builder.inttoptr(args[0], _I8.as_pointer())
        hints = [ir.Constant(I32, hint) for hint in (0, 3, 1)]  # to be read, kept, data
        call(builder, "llvm.prefetch.p0", ir.VoidType(), [line, *hints])
        return context.get_dummy_value()

    return types.void(address), codegen
