"""Machine words: loads and stores at an address, and the few bit instructions numba lacks.

Everything here is an ``@intrinsic``: LLVM IR, inlined where it is used. An address is an integer;
kernels take addresses because an array argument costs seven registers and its descriptor an extra
load on every access. Bounds are not checked, so only kernels may use this.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.cpython.unsafe.numbers import trailing_zeros
from numba.extending import intrinsic

from vecchess.jit import cpu_has

I64 = ir.IntType(64)
I32 = ir.IntType(32)
I16 = ir.IntType(16)
I8 = ir.IntType(8)
F32 = ir.FloatType()
F64 = ir.DoubleType()
U64 = types.uint64


def instruction(typer: Callable[..., Any]) -> Any:
    """numba's ``intrinsic``, for the type checker: what it makes takes no typing context."""
    return intrinsic(typer)


tz: Any = trailing_zeros
"""``tz(word) -> int``: the lowest set bit's number; 64 for 0."""


def call(builder: Any, name: str, result: Any, args: list[Any]) -> Any:
    """Call an LLVM intrinsic by name, declaring it on first use."""
    known = builder.module.globals.get(name)
    kind = ir.FunctionType(result, [arg.type for arg in args])
    return builder.call(known or ir.Function(builder.module, kind, name), args)


def _pointer(builder: Any, item: Any, address: Any, index: Any, index_type: Any) -> Any:
    if index.type.width < 64:
        widen = builder.sext if index_type.signed else builder.zext
        index = widen(index, I64)
    return builder.gep(builder.inttoptr(address, item.as_pointer()), [index])


def _are_integers(*kinds: Any) -> bool:
    """False refuses to compile: uint64 + int64 is float64 in numba, and no address."""
    return all(isinstance(kind, types.Integer) for kind in kinds)


def _loader(item: Any, result: Any = U64) -> Any:
    def typer(typing: Any, address: Any, index: Any) -> Any:
        if not _are_integers(address, index):
            return None

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer = _pointer(builder, item, args[0], args[1], signature.args[1])
            if item is F32:
                return builder.fpext(builder.load(pointer, align=4), F64)
            value = builder.load(pointer, align=item.width // 8)
            widen = builder.sext if item is I32 else builder.zext
            return value if item is I64 else widen(value, I64)

        return result(address, index), codegen

    return instruction(typer)


def _storer(item: Any) -> Any:
    def typer(typing: Any, address: Any, index: Any, value: Any) -> Any:
        if not _are_integers(address, index):
            return None

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer = _pointer(builder, item, args[0], args[1], signature.args[1])
            value = builder.trunc(args[2], item) if item.width < 64 else args[2]
            builder.store(value, pointer, align=item.width // 8)
            return context.get_dummy_value()

        return types.void(address, index, U64), codegen

    return instruction(typer)


load = _loader(I64)
"""``load(address, index) -> uint64``: word ``index`` of an array of ``uint64``."""
load16 = _loader(I16)
"""``load16(address, index) -> uint64``: item ``index`` of an array of ``uint16``."""
load_i32 = _loader(I32, types.int64)
"""``load_i32(address, index) -> int64``: item ``index`` of an array of ``int32``."""
load_u16 = _loader(I16, types.int64)
"""``load_u16(address, index) -> int64``: item ``index`` of an array of ``uint16``."""
load_u8 = _loader(I8, types.int64)
"""``load_u8(address, index) -> int64``: item ``index`` of an array of ``uint8``."""
load_f32 = _loader(F32, types.float64)
"""``load_f32(address, index) -> float64``: item ``index`` of an array of ``float32``."""
store = _storer(I64)
"""``store(address, index, value)``: write word ``index`` of an array of ``uint64``."""
store16 = _storer(I16)
"""``store16(address, index, value)``: write item ``index`` of an array of ``uint16``."""
store_i32 = _storer(I32)
"""``store_i32(address, index, value)``: write item ``index`` of an array of ``int32``."""


def _unary(name: str) -> Any:
    def typer(typing: Any, word: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return call(builder, f"llvm.{name}.i64", I64, [args[0]])

        return U64(U64), codegen

    return instruction(typer)


popcount = _unary("ctpop")
bswap = _unary("bswap")


@instruction
def msb(typing: Any, word: Any) -> Any:
    """``msb(word) -> uint64``: the highest set bit; ``word`` is not 0."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        zeros = call(builder, "llvm.ctlz.i64", I64, [args[0], ir.Constant(ir.IntType(1), 1)])
        return builder.lshr(ir.Constant(I64, 1 << 63), zeros)

    return U64(U64), codegen


@instruction
def has_bmi2(typing: Any) -> Any:
    """A compile-time constant: False folds the ``pext`` branch away."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(ir.IntType(1), int(cpu_has("bmi2")))

    return types.boolean(), codegen


@instruction
def pext(typing: Any, word: Any, mask: Any) -> Any:
    """``pext(word, mask) -> uint64``: the bits of ``word`` under ``mask``, packed. BMI2 only."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if not cpu_has("bmi2"):  # LLVM aborts on it; the branch is dead and goes away
            return ir.Constant(I64, 0)
        return call(builder, "llvm.x86.bmi.pext.64", I64, list(args))

    return U64(U64, U64), codegen
