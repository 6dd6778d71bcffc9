"""Saves a worker's games in progress: at intervals, and when it ends."""

from collections.abc import Callable
from pathlib import Path
from time import monotonic

from vecchess.selfplay.latest_file import LatestFile
from vecchess.selfplay.server import SelfplayServer
from vecchess.store.inflight import SavedGames


class Keeper:
    """One worker's file of ``store/inflight.py``."""

    def __init__(self, path: Path, interval_s: float, say: Callable[[str], object]) -> None:
        """``say`` hears when the disk refuses: games go on all the same."""
        self._file = LatestFile(path, SavedGames.to_bytes, durably=True, complain=say)
        self._interval_s = interval_s
        self._next_time = monotonic() + interval_s
        self._was_asked = False

    def look_after(self, server: SelfplayServer) -> None:
        """Called after every turn of the central loop: asks for the games, or takes them."""
        if self._was_asked and server.is_saved:
            self._was_asked = False
            self._file.put(server.saved)
        elif monotonic() >= self._next_time:
            self._next_time = monotonic() + self._interval_s
            self._was_asked = True
            server.ask_to_save()

    def rest(self) -> None:
        """No game is in progress until further notice."""
        self._was_asked = False
        self._file.put(None)

    def close(self, server: SelfplayServer) -> None:
        """Save what ``server``, which is closed, leaves unfinished."""
        self._file.put(server.saved_now())
        self._file.close()
