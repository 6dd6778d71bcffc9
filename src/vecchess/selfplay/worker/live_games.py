"""A few of a worker's games in progress, in a file that anybody may look at.

live/<worker>.npz is a shard (``store/shard.py``) of unfinished games, replaced about once a second
and gone when the worker rests. After them stand those that were shown and have just ended: they are
recorded half a minute later perhaps. Nobody minds if the disk refuses: what is recorded is what
counts.
"""

from collections import deque
from pathlib import Path
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from vecchess.runtime.async_file import LatestFile
from vecchess.store.records import GameRecords, concatenate
from vecchess.store.shard import shard_bytes

SHOWN_GAMES = 16
INTERVAL_S = 1.0
ENDED_S = 5.0
"""So long a game that was shown is shown with its end."""
CLOSE_WAIT_S = 2.0


class LiveGames:
    """Keeps the file of one worker up to date."""

    def __init__(self, folder: Path, worker: int) -> None:
        """Files lie in ``folder``, which is made where it is missing."""
        self._file = LatestFile(folder / f"{worker:03d}.npz", _encoded, durably=False)
        self._shown: NDArray[np.int64] = np.empty(0, np.int64)
        self._ended: deque[tuple[float, GameRecords]] = deque()

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    def show(self, games: GameRecords | None) -> None:
        """Replace the games in progress; None: there are none, and nothing is shown. Returns at
        once."""
        while self._ended and monotonic() - self._ended[0][0] > ENDED_S:
            self._ended.popleft()
        if games is not None:
            self._shown = games.numbers
            games = concatenate([games, *(part for _, part in self._ended)])
        self._file.put(games)

    def note_ended(self, finished: list[GameRecords]) -> None:
        """Games have ended; those that were shown will be shown so for a while."""
        for records in finished:
            places = np.flatnonzero(np.isin(records.numbers, self._shown))
            if len(places):
                self._ended.append((monotonic(), records.take(places)))

    def close(self) -> None:
        """Show nothing from now on."""
        self._file.put(None)
        self._file.close(CLOSE_WAIT_S)


def _encoded(games: GameRecords) -> bytes:
    return shard_bytes(games, compressed=False)
