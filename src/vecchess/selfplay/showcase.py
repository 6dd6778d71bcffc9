"""A few of a worker's games in progress, in a file that anybody may look at.

live/<worker>.npz is a shard (``store/shard.py``) of unfinished games, replaced about once a second
and gone when the worker rests. After them stand those that were shown and have just ended: they are
recorded half a minute later perhaps. The file is written in a thread, so that a slow disk holds
nobody up, and nobody minds if the disk refuses: what is recorded is what counts.
"""

from collections import deque
from contextlib import suppress
from pathlib import Path
from threading import Condition, Thread
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import DataError
from vecchess.store.records import GameRecords, concatenate
from vecchess.store.shard import shard_bytes, write_atomically

SHOWN_GAMES = 16
INTERVAL_S = 1.0
ENDED_S = 5.0
"""So long a game that was shown is shown with its end."""
CLOSE_WAIT_S = 2.0


class Showcase:
    """Keeps the file of one worker up to date. What comes while it writes replaces what waits."""

    def __init__(self, folder: Path, worker: int) -> None:
        """Files lie in ``folder``, which is made where it is missing."""
        self.path = folder / f"{worker:03d}.npz"
        self._shown: NDArray[np.int64] = np.empty(0, np.int64)
        self._ended: deque[tuple[float, GameRecords]] = deque()
        self._news = Condition()
        self._next: GameRecords | None = None
        self._has_next = self._is_closed = False
        self._thread = Thread(target=self._run, name="showcase", daemon=True)
        self._thread.start()

    def show(self, games: GameRecords | None) -> None:
        """Replace the games in progress; None: there are none, and nothing is shown. Returns at
        once."""
        while self._ended and monotonic() - self._ended[0][0] > ENDED_S:
            self._ended.popleft()
        if games is not None:
            self._shown = games.numbers
            games = concatenate([games, *(part for _, part in self._ended)])
        with self._news:
            self._next, self._has_next = games, True
            self._news.notify()

    def note_ended(self, finished: list[GameRecords]) -> None:
        """Games have ended; those that were shown will be shown so for a while."""
        for records in finished:
            places = np.flatnonzero(np.isin(records.numbers, self._shown))
            if len(places):
                self._ended.append((monotonic(), records.take(places)))

    def close(self) -> None:
        """Show nothing from now on."""
        with self._news:
            self._is_closed = True
            self._news.notify()
        self._thread.join(CLOSE_WAIT_S)

    def _run(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._has_next or self._is_closed)
                games, self._has_next = self._next, False
                is_closed = self._is_closed
            with suppress(DataError, OSError):
                self._write(None if is_closed else games)
            if is_closed:
                return

    def _write(self, games: GameRecords | None) -> None:
        if games is None:
            self.path.unlink(missing_ok=True)
            return
        self.path.parent.mkdir(exist_ok=True)
        write_atomically(self.path, shard_bytes(games, compressed=False), durably=False)
