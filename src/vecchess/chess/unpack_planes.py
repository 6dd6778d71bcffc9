"""Planes of 64 bits as numbers, one for each square, in memory of numpy or torch.

A plane becomes ``[8, 8]``: rank, file, from a1 on, as the mover sees the board. An element is the
number 1 or 0 in the type of the array, so a kernel needs no more than its size and the bits of 1.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import DTypeLike, NDArray

from vecchess.chess.bitboards.bits import U64, load
from vecchess.jit import inline, kernel
from vecchess.llvm import I1, I8, I16, I32, constant, instruction, splat, vector
from vecchess.shapes import NUM_SQUARES

ONES = {
    "bool": (1, 1),
    "uint8": (1, 1),
    "int8": (1, 1),
    "float16": (2, 0x3C00),
    "bfloat16": (2, 0x3F80),
    "float32": (4, 0x3F800000),
}
"""Types that planes can be unpacked into: bytes of an element, and the bits of the number 1."""


class PlaneMemory(NamedTuple):
    """Where unpacked planes are written: an address, bytes of an element, the bits of 1."""

    address: int
    item_bytes: int
    one: int


def plane_memory(array: Any, shape: tuple[int, ...]) -> PlaneMemory:
    """The memory of ``array``, of numpy or a tensor of torch on the processor, of this ``shape``.

    The caller keeps the array. Raises ValueError for another shape or device, a type that is not in
    ``ONES``, and memory that is not contiguous or cannot be written.
    """
    kind = str(array.dtype).removeprefix("torch.")
    if tuple(array.shape) != shape or kind not in ONES:
        found = f"{kind}{list(array.shape)}"
        raise ValueError(f"planes need {', '.join(ONES)} of shape {list(shape)}, not {found}")
    return PlaneMemory(writable_address(array), *ONES[kind])


def writable_address(array: Any) -> int:
    """Address of the first element of an array of numpy, or of a tensor of torch on the processor.

    Raises ValueError where it is elsewhere, not contiguous, or cannot be written.
    """
    if isinstance(array, np.ndarray):
        is_usable = array.flags.c_contiguous and array.flags.writeable
        address = int(array.ctypes.data)
    else:
        is_usable = array.device.type == "cpu" and array.is_contiguous()
        address = int(array.data_ptr())
    if not is_usable:
        raise ValueError("the memory must be contiguous, writable and the processor's")
    return address


def _unpacker(item: Any) -> Any:
    @instruction(types.void, types.int64, U64, U64)
    def unpack_word(builder: Any, address: Any, word: Any, one: Any) -> None:
        set_bits = builder.bitcast(word, vector(I1, NUM_SQUARES))
        ones = splat(builder, builder.trunc(one, item), NUM_SQUARES)
        numbers = builder.select(set_bits, ones, constant(item, 0, NUM_SQUARES))
        place = builder.inttoptr(address, numbers.type.as_pointer())
        builder.store(numbers, place, align=item.width // 8)

    return unpack_word


_unpack8, _unpack16, _unpack32 = _unpacker(I8), _unpacker(I16), _unpacker(I32)


@inline
def unpack_words(words: Any, num_words: Any, target: Any, item_bytes: Any, one: Any) -> None:
    """Unpack the ``uint64[num_words]`` at the address ``words`` to the address ``target``."""
    one = np.uint64(one)
    for index in range(num_words):
        word, place = load(words, index), np.int64(target + index * NUM_SQUARES * item_bytes)
        if item_bytes == 1:
            _unpack8(place, word, one)
        elif item_bytes == 2:
            _unpack16(place, word, one)
        else:
            _unpack32(place, word, one)


@kernel
def _unpack(words, num_words, target, item_bytes, one):  # type: ignore[no-untyped-def]
    unpack_words(words, num_words, target, item_bytes, one)


def unpack_planes(
    planes: NDArray[np.uint64], out: Any = None, dtype: DTypeLike = np.float32
) -> Any:
    """Planes as numbers, ``uint64[B, P] -> [B, P, 8, 8]`` of 0 and 1, rank and file from a1 on.

    ``out``: an array of numpy or a tensor of torch on the processor to write to and return, of a
    type in ``ONES``; None makes an array of ``dtype``. Raises ValueError, see ``plane_memory``.
    """
    if planes.dtype != np.uint64 or planes.ndim != 2:
        kind = f"{planes.dtype}{list(planes.shape)}"
        raise ValueError(f"packed planes must be uint64[B, P], not {kind}")
    shape = (*planes.shape, 8, 8)
    target = np.empty(shape, dtype) if out is None else out
    packed = np.ascontiguousarray(planes)
    _unpack(packed.ctypes.data, packed.size, *plane_memory(target, shape))
    return target
