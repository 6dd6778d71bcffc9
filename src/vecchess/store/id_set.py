"""A set of game numbers: one byte a number, in pages, so that it may begin at any number."""

import numpy as np
from numpy.typing import NDArray

PAGE = 1 << 16
Numbers = NDArray[np.int64]
Range = tuple[int, int]


class NumberSet:
    """A set of numbers >= 0. Memory grows with the pages in use, not with the largest number."""

    def __init__(self) -> None:
        """Empty."""
        self._pages: dict[int, NDArray[np.bool_]] = {}

    def add(self, numbers: Numbers) -> None:
        """Add ``numbers``, int64[K]."""
        for page in np.unique(numbers // PAGE).tolist():
            bits = self._pages.setdefault(page, np.zeros(PAGE, np.bool_))
            bits[numbers[numbers // PAGE == page] % PAGE] = True

    def has_any(self, numbers: Numbers) -> bool:
        """True when one of ``numbers``, int64[K], is in."""
        return any(
            bool(self._pages[page][numbers[numbers // PAGE == page] % PAGE].any())
            for page in np.unique(numbers // PAGE).tolist()
            if page in self._pages
        )

    def missing(self, ranges: list[Range]) -> list[Range]:
        """The parts of half-open ``ranges`` that are not in, as ascending half-open ranges."""
        found: list[Range] = []
        for first, end in sorted(ranges):
            at = first
            while at < end:
                stop = min(end, (at // PAGE + 1) * PAGE)
                for start, last in self._gaps(at, stop):
                    if found and found[-1][1] == start:
                        start = found.pop()[0]
                    found.append((start, last))
                at = stop
        return found

    def _gaps(self, first: int, end: int) -> list[Range]:
        """The missing numbers of first .. end, which lie in one page."""
        page, base = self._pages.get(first // PAGE), first // PAGE * PAGE
        if page is None:
            return [(first, end)]
        absent = np.concatenate([[False], ~page[first - base : end - base], [False]])
        edges = np.flatnonzero(absent[1:] != absent[:-1]) + first
        return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def count_of(ranges: list[Range]) -> int:
    """How many numbers half-open ``ranges`` hold that do not overlap."""
    return sum(end - first for first, end in ranges)


def is_within(numbers: Numbers, ranges: list[Range]) -> NDArray[np.bool_]:
    """bool[K]: which of ``numbers``, int64[K], lie in one of the half-open ``ranges``."""
    inside = np.zeros(len(numbers), np.bool_)
    for first, end in ranges:
        inside |= (numbers >= first) & (numbers < end)
    return inside
