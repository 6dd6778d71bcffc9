"""An image of linear memory: arrays and the arguments of kernels, at the addresses of WebAssembly.

Python allocates and fills what the kernels work on, as for this machine. The image gives each array
a place in a memory that begins at 0, turns the addresses in records and arguments into these
places, and keeps what is not zero. So what prepares a network, a search or a game has one home, and
a page only loads bytes and calls kernels.

A call of a kernel has a block of 8-byte words, one for each machine-level argument: numba passes an
array as seven or more of them (two pointers that are null here, items, bytes an item, the place of
the data, shape, strides), a tuple as its members.

Decision 341.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

LINE_BYTES = 64
FIRST_PLACE = 1 << 20
"""Below it the linker puts the stack and the constants of the kernels."""


@dataclass(frozen=True)
class KernelCall:
    """A kernel, and what it is called with."""

    kernel: Any
    arguments: tuple[Any, ...]
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        code = self.kernel.py_func.__code__
        object.__setattr__(self, "names", code.co_varnames[: code.co_argcount])

    @property
    def signature(self) -> tuple[Any, ...]:
        """Types of the arguments, as numba has them."""
        return tuple(numba.typeof(argument) for argument in self.arguments)

    @property
    def export(self) -> str:
        """The name that the compiled kernel is exported by: of the kernel and of its types."""
        digest = hashlib.sha256(str(self.signature).encode()).hexdigest()
        return f"{self.kernel.py_func.__name__.lstrip('_')}_{digest[:12]}"


class MemoryImage:
    """Arrays at their places in linear memory."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._roots: list[tuple[int, int, NDArray[Any]]] = []
        self._placed: dict[tuple[int, int], tuple[NDArray[Any], bool]] = {}
        self._end = FIRST_PLACE

    @property
    def nbytes(self) -> int:
        """Bytes of the whole memory."""
        return self._end

    def place(self, array: NDArray[Any], has_addresses: bool = False) -> int:
        """The place of ``array``, which is contiguous, in bytes; views share their memory's.

        ``has_addresses``: 8-byte words of it may be addresses of other arrays.
        """
        assert array.flags.c_contiguous, "the kernels' arrays are contiguous"
        root = array
        while isinstance(root.base, np.ndarray):
            root = root.base
        address = root.ctypes.data
        if self._root_of(address, address + root.nbytes) is None:
            gap = (address - self._end) % LINE_BYTES
            index = bisect_right(self._starts, address)
            self._starts.insert(index, address)
            self._roots.insert(index, (address, self._end + gap, root))
            self._end += gap + max(root.nbytes, 1)
        if array.nbytes:
            key = array.ctypes.data, array.nbytes
            known = self._placed.get(key)
            self._placed[key] = array, has_addresses or bool(known and known[1])
        return self.translate(array.ctypes.data)

    def translate(self, address: int) -> int:
        """The place of an address in an array of the image."""
        found = self._root_of(address, address)
        assert found is not None, "the address lies in no array of the image"
        return address - found[0] + found[1]

    def _root_of(self, first: int, end: int) -> tuple[int, int] | None:
        """Address and place of the array that has these bytes."""
        index = bisect_right(self._starts, first) - 1
        if index < 0:
            return None
        address, place, root = self._roots[index]
        return (address, place) if end <= address + max(root.nbytes, 1) else None

    def block(self, call: KernelCall) -> tuple[NDArray[np.uint64], dict[str, tuple[int, str]]]:
        """The words of a call, with the arrays of its arguments placed; and the number of the first
        word of each argument, by its name, with the type of an array's items, "" for numbers.
        ``rows.2`` is the third member of a tuple."""
        words: list[int] = []
        places: dict[str, tuple[int, str]] = {}
        for name, argument in zip(call.names, call.arguments, strict=True):
            for path, value in _leaves(name, argument):
                kind = value.dtype.str[1:] if isinstance(value, np.ndarray) else ""
                places[path] = len(words), kind
                words += self._words(value)
        return np.array([word & (1 << 64) - 1 for word in words], np.uint64), places

    def _words(self, value: Any) -> list[int]:
        if isinstance(value, np.ndarray):
            head = [0, 0, value.size, value.itemsize, self.place(value)]
            return [*head, *value.shape, *value.strides]
        if isinstance(value, float | np.floating):
            return [int(np.array(value).view(f"u{np.array(value).itemsize}"))]
        number = int(value)
        if (found := self._root_of(number, number)) is not None and not isinstance(
            value, np.uint64
        ):
            return [number - found[0] + found[1]]
        return [number]

    def segments(self) -> Iterator[tuple[int, bytes]]:
        """Places, ascending, and the bytes there, without arrays that are all zeros."""
        for (address, _), (array, has_addresses) in sorted(
            self._placed.items(), key=lambda item: self.translate(item[0][0])
        ):
            data = array.tobytes()
            if has_addresses:
                data = self._relocated(data)
            if end := len(data.rstrip(b"\0")):
                yield self.translate(address), data[:end]

    def _relocated(self, data: bytes) -> bytes:
        words = np.frombuffer(data, np.uint64).copy()
        for index in np.flatnonzero(words):
            address = int(words[index])
            if (found := self._root_of(address, address)) is not None:
                words[index] = address - found[0] + found[1]
        return words.tobytes()


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Arrays and numbers of an argument, with their paths."""
    if not isinstance(value, tuple):
        yield name, value
        return
    fields = getattr(value, "_fields", range(len(value)))
    for key, member in zip(fields, value, strict=True):
        yield from _leaves(f"{name}.{key}", member)
