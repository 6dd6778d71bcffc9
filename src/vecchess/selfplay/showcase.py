"""A few of a worker's games in progress, in a file that anybody may look at.

live/<worker>.npz is a shard (``store/shard.py``) of unfinished games, replaced about once a second
and gone when the worker rests. It is written in a thread, so that a slow disk holds nobody up, and
nobody minds if the disk refuses: games that are over are what counts.
"""

from contextlib import suppress
from pathlib import Path
from threading import Condition, Thread

from vecchess.errors import DataError
from vecchess.store.records import GameRecords
from vecchess.store.shard import shard_bytes, write_atomically

SHOWN_GAMES = 16
INTERVAL_S = 1.0
CLOSE_WAIT_S = 2.0


class Showcase:
    """Keeps the file of one worker up to date. What comes while it writes replaces what waits."""

    def __init__(self, folder: Path, worker: int) -> None:
        """Files lie in ``folder``, which is made where it is missing."""
        self.path = folder / f"{worker:03d}.npz"
        self._news = Condition()
        self._next: GameRecords | None = None
        self._has_next = self._is_closed = False
        self._thread = Thread(target=self._run, name="showcase", daemon=True)
        self._thread.start()

    def show(self, games: GameRecords | None) -> None:
        """Replace what is shown; None: nothing is. Returns at once."""
        with self._news:
            self._next, self._has_next = games, True
            self._news.notify()

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
