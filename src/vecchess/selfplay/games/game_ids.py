"""Numbers of games to play: handed to a worker in ranges, taken by its movers a few at a time.

Some games were begun by somebody else, and go on from where they were saved.
"""

from threading import Lock

import numpy as np

from vecchess.store.inflight import SavedGames


class GameIdPool:
    """Thread-safe pool of game numbers, kept as half-open ranges, and of saved games."""

    def __init__(self) -> None:
        """An empty pool that may still be filled."""
        self._ranges: list[tuple[int, int]] = []
        self._saved: list[SavedGames] = []
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

    def add_saved(self, games: SavedGames) -> None:
        """Add games that are to go on; their numbers are not among those that ``take`` returns."""
        with self._lock:
            self._saved.append(games)

    def take_saved(self, count: int) -> SavedGames | None:
        """Remove and return up to ``count`` (at least 1) saved games; None if there are none."""
        with self._lock:
            if not self._saved:
                return None
            games = self._saved.pop()
            if games.num_games > count:
                self._saved.append(games.take(np.arange(count, games.num_games)))
                games = games.take(np.arange(count))
            return games

    @property
    def saved(self) -> list[SavedGames]:
        """The saved games that nobody has taken yet."""
        with self._lock:
            return list(self._saved)

    def clear(self) -> None:
        """Forget all numbers: no further game starts. Saved games stay, to be saved again."""
        with self._lock:
            self._ranges.clear()

    def __len__(self) -> int:
        """Numbers and saved games left."""
        with self._lock:
            fresh = sum(end - first for first, end in self._ranges)
            return fresh + sum(games.num_games for games in self._saved)


def ranges_of(numbers: list[int]) -> list[tuple[int, int]]:
    """Ascending numbers as half-open ranges."""
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number:
            ranges[-1] = (ranges[-1][0], number + 1)
        else:
            ranges.append((number, number + 1))
    return ranges
