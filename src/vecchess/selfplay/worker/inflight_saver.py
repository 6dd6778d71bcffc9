"""Saves a worker's games in progress: at intervals, and when it ends (decision 25)."""

from enum import Enum, auto
from functools import partial
from pathlib import Path
from time import monotonic

from vecchess.runtime.async_file import LatestFile
from vecchess.runtime.reporting import ReportLine
from vecchess.selfplay.games.server import SelfplayServer
from vecchess.selfplay.worker.shard_writer import ShardWriter
from vecchess.store.inflight import SavedGames
from vecchess.store.shard import NO_RUN


class SaveStage(Enum):
    """What an ``InflightSaver`` waits for."""

    INTERVAL = auto()
    """The next saving to be due."""
    MOVERS = auto()
    """The movers' reports of their games in progress."""
    WRITER = auto()
    """The shard writer: the new file lacks games that have ended, and the old one holds their
    beginnings until they are on the disk."""


class InflightSaver:
    """Keeps one worker's file of saved games (``store/inflight.py``) up to date."""

    def __init__(
        self, path: Path, interval_s: float, report_line: ReportLine, run_id: str = NO_RUN
    ) -> None:
        """``report_line`` gets a line when the file cannot be written: games go on all the same."""
        encode = partial(SavedGames.to_bytes, run_id=run_id)
        self._file = LatestFile(path, encode, durably=True, report_line=report_line)
        self._interval_s = interval_s
        self._next_time = monotonic() + interval_s
        self._stage = SaveStage.INTERVAL
        self._saved: SavedGames | None = None
        self._plies_put = 0
        self._is_cleared = True
        self._since = monotonic()
        """When there came games to save."""

    @property
    def saved_s(self) -> float:
        """When the games in progress were last saved, or there were none: ``monotonic`` seconds."""
        return max(self._file.written_s, self._since)

    def update(self, server: SelfplayServer, writer: ShardWriter) -> None:
        """Advance the saving; ``writer`` has all games that the last turn finished."""
        if self._is_cleared:
            self._is_cleared, self._since = False, monotonic()
        if self._stage is SaveStage.INTERVAL and monotonic() >= self._next_time:
            self._next_time = monotonic() + self._interval_s
            self._stage = SaveStage.MOVERS
            server.request_saved()
        elif self._stage is SaveStage.MOVERS and server.is_saved:
            self._stage = SaveStage.WRITER
            self._saved, self._plies_put = server.saved, writer.plies_put
            writer.flush()
        elif self._stage is SaveStage.WRITER and writer.plies_written >= self._plies_put:
            self._stage = SaveStage.INTERVAL
            self._file.put(self._saved)
            self._saved = None

    def clear(self) -> None:
        """Remove the file: no game is in progress until further notice."""
        self._stage, self._saved, self._is_cleared = SaveStage.INTERVAL, None, True
        self._file.put(None)

    def close(self, server: SelfplayServer) -> None:
        """Save what ``server``, which is closed, leaves unfinished. What it finished is written."""
        self._file.put(server.saved_now())
        self._file.close()
