"""Reads the games in progress of a machine: ``live/<worker>.npz``, a shard of some of them."""

from collections.abc import Iterator
from pathlib import Path

from vecchess.errors import DataError
from vecchess.monitor.decoded_game import DecodedGame, WorkerGames
from vecchess.monitor.small_file import Stamp, stamp
from vecchess.runtime.atomic_write import PARTIAL_PREFIX
from vecchess.store.shard import read_shard

MOST_GAMES, MOST_PLIES = 256, 1 << 15
"""Limits of one file: workers show 16 games, and decoding a ply takes 0.1 ms."""


class LiveGamesReader:
    """The games in progress of one machine. A file is read again only when it was replaced."""

    def __init__(self, folder: Path, machine: int) -> None:
        """Nothing is read before ``games`` is called; the folder need not exist."""
        self._folder, self._machine = folder, machine
        self._tables: dict[str, WorkerGames] = {}
        self._read: dict[str, tuple[Stamp, list[DecodedGame]]] = {}

    def games(self, chess960: bool) -> list[DecodedGame]:
        """All games shown now, worker by worker; unreadable files are left out."""
        files = sorted(self._files())
        names = {file.name for file in files}
        for known in (self._tables, self._read):
            for gone in known.keys() - names:
                del known[gone]
        return [game for file in files for game in self._at(file, chess960)]

    def _files(self) -> Iterator[Path]:
        for file in self._folder.glob("*.npz"):
            if not file.name.startswith(PARTIAL_PREFIX) and file.stem.isdecimal():
                yield file

    def _at(self, file: Path, chess960: bool) -> list[DecodedGame]:
        found = stamp(file)
        if found is None:
            return []
        if file.name in self._read and self._read[file.name][0] == found:
            return self._read[file.name][1]
        table = self._tables.setdefault(file.name, WorkerGames(self._machine, int(file.stem)))
        try:
            records = read_shard(file)
        except DataError:
            return []
        if records.num_games > MOST_GAMES or len(records.action) > MOST_PLIES:
            return []
        games = list(table.games(records, chess960))
        self._read[file.name] = found, games
        return games
