"""The intrinsics of ``bits``, ``rays``, ``hash`` and ``atomic``, and records, in plain Python.

numba's intrinsics exist in compiled code only. With these in their place, kernels can be run by the
interpreter, line by line: that is how their coverage is measured and how mutants of them are tried
in a second. ``test_instructions.py`` compares each with the compiled one.
"""

import ctypes
from threading import Lock, local
from typing import Any

import numpy as np

_ALL = 2**64 - 1
_U = np.uint64


def loader(kind: Any, result: Any) -> Any:
    """``load(address, index)``: an item of an array of the C type ``kind``, as ``result``."""
    width = ctypes.sizeof(kind)

    def load(address: Any, index: Any) -> Any:
        return result(kind.from_address(int(address) + width * int(index)).value)

    return load


def storer(kind: Any, value_of: Any) -> Any:
    """``store(address, index, value)``: write an item; ctypes cuts integers as machines do."""
    width = ctypes.sizeof(kind)

    def store(address: Any, index: Any, value: Any) -> None:
        kind.from_address(int(address) + width * int(index)).value = value_of(value)

    return store


def trailing_zeros(word: Any) -> Any:
    word = int(word)
    return _U((word & -word).bit_length() - 1 if word else 64)


def popcount(word: Any) -> Any:
    return _U(int(word).bit_count())


def bswap(word: Any) -> Any:
    return _U(int.from_bytes(int(word).to_bytes(8, "little"), "big"))


def msb(word: Any) -> Any:
    return _U(1 << (int(word).bit_length() - 1))


def has_bmi2() -> bool:
    return True


def pext(word: Any, mask: Any) -> Any:
    word, mask, packed, place = int(word), int(mask), 0, 0
    while mask:
        lowest = mask & -mask
        packed |= bool(word & lowest) << place
        place += 1
        mask ^= lowest
    return _U(packed)


_STEPS = ((0, 1), (1, 0), (1, 1), (-1, 1), (0, -1), (-1, 0), (-1, -1), (1, -1))
"""Files and ranks that a step in each lane's direction goes: see ``rays.py``."""
_IS_ORTHOGONAL = (True, True, False, False) * 2


def _walk(square: int, lane: int) -> list[int]:
    """The bits of the squares from ``square`` on to the board's edge."""
    (right, up), bits = _STEPS[lane], []
    file, rank = square % 8 + right, square // 8 + up
    while 0 <= file < 8 and 0 <= rank < 8:
        bits.append(1 << (8 * rank + file))
        file, rank = file + right, rank + up
    return bits


_WALKS = [[_walk(square, lane) for lane in range(8)] for square in range(64)]


def slider_attacks(orthogonal: Any, diagonal: Any, empty: Any) -> Any:
    attacked, empty = 0, int(empty)
    for men, is_orthogonal in ((int(orthogonal), True), (int(diagonal), False)):
        while men:
            square = (men & -men).bit_length() - 1
            men &= men - 1
            for lane, walk in enumerate(_WALKS[square]):
                if _IS_ORTHOGONAL[lane] == is_orthogonal:
                    for bit in walk:
                        attacked |= bit
                        if not bit & empty:
                            break
    return _U(attacked)


def king_rays(rays: Any, occupied: Any, own: Any, orthogonal: Any, diagonal: Any) -> Any:
    occupied, own, found = int(occupied), int(own), [0, 0, 0, 0]
    for lane in range(8):
        ray = ctypes.c_uint64.from_address(int(rays) + 8 * lane).value
        sliders = int(orthogonal if _IS_ORTHOGONAL[lane] else diagonal)
        first, rest = _up_to_first(ray, ray & occupied, lane)
        if first & sliders:
            found[0] |= first & sliders
            found[1] |= first
        second, _ = _up_to_first(ray, rest, lane)
        if first & own and second & sliders:
            found[2 if _IS_ORTHOGONAL[lane] else 3] |= second
    return tuple(_U(word) for word in found)


def _up_to_first(ray: int, men: int, lane: int) -> tuple[int, int]:
    """The ray up to the nearest of ``men``, and the other men; all of the ray if there is none."""
    if not men:
        return ray, 0
    nearest = men & -men if lane < 4 else 1 << (men.bit_length() - 1)
    between = nearest | nearest - 1 if lane < 4 else _ALL ^ nearest - 1
    return ray & between, men ^ nearest


def hash_words(first: tuple[int, ...], second: tuple[int, ...]) -> Any:
    """``hash_words`` with the constants that mix words 0 to 7."""

    def hashed(position: Any, last: Any) -> Any:
        key = check = 0
        for lane in range(8):
            word = ctypes.c_uint64.from_address(int(position) + 8 * lane).value
            word = (word & int(last) if lane == 7 else word) + second[lane] & _ALL
            word = (word ^ word >> 32) * first[lane] & _ALL
            word ^= word >> 32
            key += word * second[lane]
            check += word * first[lane]
        key &= _ALL
        return _U(key ^ key >> 32), _U(check & _ALL)

    return hashed


class Item:
    """A number in memory: how it is read and written."""

    def __init__(self, dtype: Any) -> None:
        self.nbytes = dtype.itemsize
        kind = np.ctypeslib.as_ctypes_type(dtype)
        real, whole = np.float64, _U if dtype == np.uint64 else np.int64
        self.load = loader(kind, real if dtype.kind == "f" else whole)
        self.store = storer(kind, float if dtype.kind == "f" else int)


class PlainRecord:
    """``memory_layout.Record``, and arrays of records or numbers, for the interpreter."""

    def __init__(self, address: Any, pointer: Any) -> None:
        self.__dict__.update(address=np.int64(address), pointer=pointer)

    def __getattr__(self, name: str) -> Any:
        field = self.pointer.fields[name]
        place = self.address + field.offset
        if field.is_inside:
            return PlainRecord(place, field.type)
        value = Item(field.dtype).load(place, 0)
        return PlainRecord(value, field.type) if hasattr(field.type, "item_bytes") else value

    def __setattr__(self, name: str, value: Any) -> None:
        field = self.pointer.fields[name]
        Item(field.dtype).store(self.address + field.offset, 0, value)

    def __getitem__(self, index: Any) -> Any:
        if self.pointer.fields:
            return PlainRecord(self.address + self.pointer.item_bytes * int(index), self.pointer)
        return Item(self.pointer.item).load(self.address, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        Item(self.pointer.item).store(self.address, index, value)


def stack_words(count: int) -> Any:
    own = local()  # as threads have stacks of their own

    def address() -> Any:
        if not hasattr(own, "room"):
            own.room = np.empty(count, _U)
        return np.int64(own.room.ctypes.data)

    return address


BITS = {
    "tz": trailing_zeros,
    "load": loader(ctypes.c_uint64, _U),
    "load16": loader(ctypes.c_uint16, _U),
    "load_i32": loader(ctypes.c_int32, np.int64),
    "load_u16": loader(ctypes.c_uint16, np.int64),
    "load_u8": loader(ctypes.c_uint8, np.int64),
    "load_f32": loader(ctypes.c_float, np.float64),
    "store": storer(ctypes.c_uint64, int),
    "store16": storer(ctypes.c_uint16, int),
    "store_i32": storer(ctypes.c_int32, int),
    "popcount": popcount,
    "bswap": bswap,
    "msb": msb,
    "has_bmi2": has_bmi2,
    "pext": pext,
    "stack_words": stack_words,
}
"""Functions of ``vecchess.chess.bitboards.bits``, by name."""

_TAKING = Lock()


def try_lock(address: Any) -> bool:
    word = ctypes.c_int32.from_address(int(address))
    with _TAKING:
        is_free = word.value == 0
        word.value = 1
    return is_free


def unlock(address: Any) -> None:
    ctypes.c_int32.from_address(int(address)).value = 0


def load_shared(address: Any) -> Any:
    return BITS["load"](address, 0)


def store_shared(address: Any, value: Any) -> None:
    BITS["store"](address, 0, value)


def prefetch(address: Any) -> None:
    pass


ATOMIC = {
    "try_lock": try_lock,
    "unlock": unlock,
    "load_shared": load_shared,
    "store_shared": store_shared,
    "prefetch": prefetch,
}
"""Functions of ``vecchess.search.kernels.atomic``, by name."""
