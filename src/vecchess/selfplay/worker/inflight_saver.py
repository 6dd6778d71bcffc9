"""Saves a worker's games in progress: at intervals, and when it ends."""

from enum import Enum, auto
from pathlib import Path
from time import monotonic

from vecchess.runtime.async_file import LatestFile
from vecchess.runtime.reporting import ReportLine
from vecchess.selfplay.games.server import SelfplayServer
from vecchess.selfplay.worker.shard_writer import ShardWriter
from vecchess.store.inflight import SavedGames


class SaveStage(Enum):
    """What a keeper waits for."""

    TIME = auto()
    """To be due."""
    MOVERS = auto()
    """Movers, to tell how far their games have come."""
    WRITER = auto()
    """The writer: the new file lacks games that have ended, of which the old one holds the
    beginnings until they are on the disk."""


class InflightSaver:
    """One worker's file of ``store/inflight.py``."""

    def __init__(self, path: Path, interval_s: float, report_line: ReportLine) -> None:
        """``report_line`` gets a line when the disk refuses: games go on all the same."""
        self._file = LatestFile(path, SavedGames.to_bytes, durably=True, complain=report_line)
        self._interval_s = interval_s
        self._next_time = monotonic() + interval_s
        self._stage = SaveStage.TIME
        self._told: SavedGames | None = None
        self._ended_plies = 0

    def look_after(self, server: SelfplayServer, writer: ShardWriter) -> None:
        """Called when ``writer`` has what a turn of the central loop finished."""
        if self._stage is SaveStage.TIME and monotonic() >= self._next_time:
            self._next_time = monotonic() + self._interval_s
            self._stage = SaveStage.MOVERS
            server.ask_to_save()
        elif self._stage is SaveStage.MOVERS and server.is_saved:
            self._stage = SaveStage.WRITER
            self._told, self._ended_plies = server.saved, writer.plies_put
            writer.flush()
        elif self._stage is SaveStage.WRITER and writer.plies_written >= self._ended_plies:
            self._stage = SaveStage.TIME
            self._file.put(self._told)
            self._told = None

    def rest(self) -> None:
        """No game is in progress until further notice."""
        self._stage, self._told = SaveStage.TIME, None
        self._file.put(None)

    def close(self, server: SelfplayServer) -> None:
        """Save what ``server``, which is closed, leaves unfinished. What it finished is written."""
        self._file.put(server.saved_now())
        self._file.close()
