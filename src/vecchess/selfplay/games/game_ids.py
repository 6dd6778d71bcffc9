"""The pool of games a worker has yet to start: ids, and games saved earlier that are resumed.

Decision 30.
"""

from threading import Lock

import numpy as np

from vecchess.store.id_set import Ids, IdSet
from vecchess.store.inflight import SavedGames

NEXT_IDS = 128
"""Ids listed at a time: movers take some at every call, and return what they did not need."""


class GameIdPool:
    """Thread-safe: the parent's messages fill it, movers take a few games at a time.

    Taking, returning and counting take the same time for any number of ids and of gaps.
    """

    def __init__(self) -> None:
        """An empty pool."""
        self._edges = IdSet().edges
        """Ranges of ids as in an ``IdSet``; those before ``_first`` are used up."""
        self._first = 0
        self._next: Ids = np.empty(0, np.int64)  # to be taken before the others, ascending
        self._num_ids = 0
        self._saved: list[SavedGames] = []
        self._lock = Lock()

    def add(self, ids: IdSet) -> None:
        """Add games to be played from their start."""
        with self._lock:
            left = IdSet.of_edges(self._edges[self._first :]) | ids
            self._edges, self._first = left.edges, 0
            self._num_ids = len(left) + len(self._next)

    def take(self, count: int) -> Ids:
        """Remove and return up to ``count`` ids, the lowest first: int64[K], ascending."""
        with self._lock:
            while len(self._next) < count and self._first < len(self._edges):
                self._list_more()
            taken, self._next = self._next[:count], self._next[count:]
            self._num_ids -= len(taken)
        return taken

    def _list_more(self) -> None:
        """Move up to NEXT_IDS ids from the first range to ``_next``."""
        first, end = self._edges[self._first : self._first + 2].tolist()
        listed = min(first + NEXT_IDS, end)
        self._next = np.concatenate([self._next, np.arange(first, listed, dtype=np.int64)])
        self._edges[self._first] = listed
        self._first += 2 * (listed == end)

    def give_back(self, ids: Ids) -> None:
        """Put ids that ``take`` returned, int64[K], before the others."""
        with self._lock:
            self._next = np.sort(np.concatenate([ids, self._next]))
            self._num_ids += len(ids)

    def add_saved(self, games: SavedGames) -> None:
        """Add games to be resumed; their ids are not among those that ``take`` returns."""
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
        """The saved games that are not taken yet."""
        with self._lock:
            return list(self._saved)

    def clear(self) -> None:
        """Drop all ids, so that no further game starts. Saved games stay, to be saved again."""
        with self._lock:
            self._edges, self._first, self._num_ids = IdSet().edges, 0, 0
            self._next = self._next[:0]

    def __len__(self) -> int:
        """Games left to start or to resume."""
        with self._lock:
            return self._num_ids + sum(games.num_games for games in self._saved)
