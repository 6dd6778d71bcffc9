"""Machine words: loads and stores at an address, and the few bit instructions numba lacks.

An address is an integer; kernels take addresses because an array argument costs seven registers and
its descriptor an extra load on every access. Bounds are not checked, so only kernels may use this.
"""

from typing import Any

from numba import types
from numba.core import cgutils
from numba.cpython.unsafe.numbers import trailing_zeros

from vecchess.jit import cpu_has
from vecchess.llvm import F32, F64, I1, I8, I16, I32, I64, call, instruction

U64: Any = types.uint64
tz: Any = trailing_zeros
"""``tz(word) -> int``: the lowest set bit's number; 64 for 0."""


def _pointer(builder: Any, item: Any, address: Any, index: Any) -> Any:
    return builder.gep(builder.inttoptr(address, item.as_pointer()), [index])


def _loader(item: Any, result: Any = U64) -> Any:
    @instruction(result, types.int64, types.int64)
    def load_item(builder: Any, address: Any, index: Any) -> Any:
        place = _pointer(builder, item, address, index)
        if item is F32:
            return builder.fpext(builder.load(place, align=4), F64)
        widen = builder.sext if item is I32 else builder.zext
        return widen(builder.load(place, align=item.width // 8), I64)

    return load_item


def _storer(item: Any) -> Any:
    @instruction(types.void, types.int64, types.int64, U64)
    def store_item(builder: Any, address: Any, index: Any, value: Any) -> None:
        place = _pointer(builder, item, address, index)
        builder.store(builder.trunc(value, item), place, align=item.width // 8)

    return store_item


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
store8 = _storer(I8)
"""``store8(address, index, value)``: write item ``index`` of an array of ``uint8``."""
store16 = _storer(I16)
"""``store16(address, index, value)``: write item ``index`` of an array of ``uint16``."""
store_i32 = _storer(I32)
"""``store_i32(address, index, value)``: write item ``index`` of an array of ``int32``."""


def stack_words(count: int) -> Any:
    """``stack_words(count)() -> int64``: the address of so many words that last as long as the call
    of the kernel that asks; what they hold at first means nothing."""

    @instruction(types.int64)
    def address(builder: Any) -> Any:
        return builder.ptrtoint(cgutils.alloca_once(builder, I64, size=count), I64)

    return address


@instruction(U64, U64)
def popcount(builder: Any, word: Any) -> Any:
    """The number of bits that are set, ``uint64``."""
    return builder.ctpop(word)


@instruction(U64, U64)
def bswap(builder: Any, word: Any) -> Any:
    """The word with its bytes in the other order: a board turned round."""
    return builder.bswap(word)


@instruction(U64, U64)
def msb(builder: Any, word: Any) -> Any:
    """``msb(word) -> uint64``: the highest set bit; ``word`` is not 0."""
    return builder.lshr(I64(1 << 63), builder.ctlz(word, I1(1)))


@instruction(types.boolean)
def has_bmi2(builder: Any) -> Any:
    """A compile-time constant: False folds the ``pext`` branch away."""
    return I1(int(cpu_has("bmi2")))


@instruction(U64, U64, U64)
def pext(builder: Any, word: Any, mask: Any) -> Any:
    """``pext(word, mask) -> uint64``: the bits of ``word`` under ``mask``, packed. BMI2 only."""
    if not cpu_has("bmi2"):  # LLVM aborts on it; the branch is dead and goes away
        return I64(0)
    return call(builder, "llvm.x86.bmi.pext.64", I64, [word, mask])
