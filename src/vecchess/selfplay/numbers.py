"""Numbers of games to play: handed to a worker in ranges, taken by its movers a few at a time."""

from threading import Lock


class NumberPool:
    """Thread-safe pool of game numbers, kept as half-open ranges."""

    def __init__(self) -> None:
        """An empty pool that may still be filled."""
        self._ranges: list[tuple[int, int]] = []
        self._lock = Lock()

    def add(self, ranges: list[tuple[int, int]]) -> None:
        """Add the numbers of half-open ranges (first, end)."""
        with self._lock:
            self._ranges += ranges

    def take(self, count: int) -> list[int]:
        """Remove and return up to ``count`` numbers."""
        taken: list[int] = []
        with self._lock:
            while self._ranges and len(taken) < count:
                first, end = self._ranges.pop(0)
                last = min(end, first + count - len(taken))
                taken += range(first, last)
                if last < end:
                    self._ranges.insert(0, (last, end))
        return taken

    def clear(self) -> None:
        """Forget all numbers: no further game starts."""
        with self._lock:
            self._ranges.clear()

    def __len__(self) -> int:
        """Numbers left."""
        with self._lock:
            return sum(end - first for first, end in self._ranges)


def ranges_of(numbers: list[int]) -> list[tuple[int, int]]:
    """Ascending numbers as half-open ranges."""
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number:
            ranges[-1] = (ranges[-1][0], number + 1)
        else:
            ranges.append((number, number + 1))
    return ranges
