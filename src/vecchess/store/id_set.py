"""A set of game ids as sorted half-open ranges: its size goes with the gaps, not with the ids.

Decision 212.
"""

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Range = tuple[int, int]
_Bools = NDArray[np.bool_]
_MOST_ID = 1 << 62


class IdSet:
    """An immutable set of ids >= 0."""

    def __init__(self, ranges: Iterable[Range] = ()) -> None:
        """The ids of half-open ``ranges``, in any order; empty ones and overlaps are allowed."""
        self.edges: Ids = _merged(np.array(list(ranges), np.int64).reshape(-1, 2))
        """int64[2K], ascending: first id of a range, end of it, first id of the next, ..."""

    @classmethod
    def of(cls, ids: Ids) -> "IdSet":
        """The set of ``ids``, int64[N] in any order."""
        unique = np.unique(ids).astype(np.int64)
        is_first = np.diff(unique, prepend=-2) != 1
        return cls.of_edges(
            np.stack([unique[is_first], unique[np.roll(is_first, -1)] + 1], axis=1).ravel()
        )

    @classmethod
    def of_edges(cls, edges: Ids) -> "IdSet":
        """The set with these ``edges``, int64[2K], which ascend strictly."""
        made = cls.__new__(cls)
        made.edges = edges
        return made

    @classmethod
    def union(cls, sets: Iterable["IdSet"]) -> "IdSet":
        """The ids of all ``sets``."""
        edges = [np.empty(0, np.int64), *(each.edges for each in sets)]
        return cls.of_edges(_merged(np.concatenate(edges).reshape(-1, 2)))

    @property
    def ranges(self) -> list[Range]:
        """Ascending half-open ranges, as few as possible."""
        return list(zip(self.edges[::2].tolist(), self.edges[1::2].tolist(), strict=True))

    @property
    def span(self) -> Range:
        """The lowest id, and the end of the highest; (0, 0) without any."""
        return (int(self.edges[0]), int(self.edges[-1])) if len(self.edges) else (0, 0)

    @property
    def steps(self) -> list[int]:
        """The first id, then in turn how many follow each other and how many are left out."""
        return list(map(int, np.diff(self.edges, prepend=0)))

    @property
    def ids(self) -> Ids:
        """All ids, ascending: int64[N]."""
        parts = [np.arange(first, end, dtype=np.int64) for first, end in self.ranges]
        return np.concatenate([np.empty(0, np.int64), *parts])

    def __len__(self) -> int:
        """N, the number of ids."""
        return int((self.edges[1::2] - self.edges[::2]).sum())

    def __eq__(self, other: object) -> bool:
        """Whether ``other`` is a set of the same ids."""
        return isinstance(other, IdSet) and np.array_equal(self.edges, other.edges)

    __hash__ = None  # type: ignore[assignment]

    def __or__(self, other: "IdSet") -> "IdSet":
        """The ids of either set."""
        return self._combine(other, np.logical_or)

    def __and__(self, other: "IdSet") -> "IdSet":
        """The ids of both sets."""
        return self._combine(other, np.logical_and)

    def __sub__(self, other: "IdSet") -> "IdSet":
        """The ids of this set that ``other`` lacks."""
        return self._combine(other, np.greater)

    def contains(self, ids: Ids) -> _Bools:
        """bool[K]: which of ``ids`` (int64[K]) are in the set."""
        is_inside: _Bools = np.searchsorted(self.edges, ids, side="right") % 2 == 1
        return is_inside

    def lowest(self, count: int) -> "IdSet":
        """The ``count`` lowest ids, or all if there are fewer."""
        lengths = np.cumsum(self.edges[1::2] - self.edges[::2])
        whole = int(np.searchsorted(lengths, count))
        if count <= 0 or whole == len(lengths):
            return self if count > 0 else IdSet()
        edges = self.edges[: 2 * whole + 2].copy()
        edges[-1] -= lengths[whole] - count
        return self.of_edges(edges)

    def _combine(self, other: "IdSet", keep: Callable[[_Bools, _Bools], _Bools]) -> "IdSet":
        """The ids for which ``keep(in this set, in the other)`` holds; never those in neither."""
        # two ascending parts, which a stable sort merges; np.unique may hash instead
        points = np.sort(np.concatenate([self.edges, other.edges]), kind="stable")
        points = points[np.diff(points, prepend=points[:1] - 1) > 0]
        is_kept = keep(self.contains(points), other.contains(points))
        return self.of_edges(points[np.diff(is_kept, prepend=False)])


def _merged(pairs: Ids) -> Ids:
    """The edges of the union of half-open ranges, int64[N, 2] in any order."""
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    first, end = pairs[:, 0], np.maximum.accumulate(pairs[:, 1])
    is_new = np.ones(len(first), np.bool_)
    is_new[1:] = first[1:] > end[:-1]
    return np.stack([first[is_new], end[np.roll(is_new, -1)]], axis=1).ravel()


def parse_steps(games: list[Any]) -> tuple[list[Ids], list[int]]:
    """The inverse of ``IdSet.steps`` for many sets: the edges of each, and its number of ids.

    Raises ValueError for anything else.
    """
    if not set(map(type, games)) <= {list}:
        raise ValueError("its games are no list")
    steps = list(chain.from_iterable(games))
    if (
        not set(map(type, steps)) <= {int}
        or not 0 <= min(steps, default=0) <= max(steps, default=0) <= _MOST_ID
    ):
        raise ValueError("its games are no numbers")
    step, length = np.array(steps, np.int64), np.array([len(each) for each in games], np.int64)
    end = np.cumsum(length)
    first = end - length
    before = np.concatenate([[0], np.cumsum(step)])
    edges = before[1:] - np.repeat(before[first], length)
    is_first = np.zeros(len(step), np.bool_)
    is_first[first[length > 0]] = True
    if (length % 2).any() or not (is_first | (step > 0)).all() or edges.min(initial=0) < 0:
        raise ValueError("its games do not ascend")
    is_run = (np.arange(len(step)) - np.repeat(first, length)) % 2 == 1
    counted = np.concatenate([[0], np.cumsum(step * is_run)])
    counts = (counted[end] - counted[first]).tolist()
    return [edges[a:b] for a, b in zip(first.tolist(), end.tolist(), strict=True)], counts
