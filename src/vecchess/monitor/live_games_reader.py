"""Reads the games in progress of a machine: ``live/<worker>.npz``, a shard of some of them."""

from collections.abc import Iterator
from pathlib import Path

from vecchess.errors import DataError
from vecchess.monitor.decoded_game import DecodedGame, DecodedMoves, decode_game, decode_moves
from vecchess.monitor.small_file import Stamp, stamp
from vecchess.runtime.atomic_write import PARTIAL_PREFIX
from vecchess.store.records import GameRecords
from vecchess.store.shard import read_shard

MOST_GAMES, MOST_PLIES = 256, 1 << 15
"""Limits of one file: workers show 16 games, and decoding a ply takes 0.1 ms."""


class LiveGamesReader:
    """The games in progress of one machine."""

    def __init__(self, folder: Path, machine: int) -> None:
        """Nothing is read before ``games`` is called; the folder need not exist."""
        self._folder, self._machine = folder, machine
        self._files: dict[Path, WorkerGames] = {}

    def games(self, chess960: bool) -> list[DecodedGame]:
        """All games shown now, worker by worker; unreadable files are left out."""
        self._files = {
            file: self._files.get(file) or WorkerGames(file, self._machine)
            for file in sorted(self._folder.glob("*.npz"))
            if not file.name.startswith(PARTIAL_PREFIX) and file.stem.isdecimal()
        }
        return [game for file in self._files.values() for game in file.games(chess960)]


class WorkerGames:
    """The games that one worker shows. Their file is read again only when it was replaced, and the
    moves of a game are kept, so that only new ones are decoded."""

    def __init__(self, path: Path, machine: int) -> None:
        """Nothing is read yet."""
        self._path, self._machine, self._worker = path, machine, int(path.stem)
        self._seen: Stamp | None = None
        self._games: list[DecodedGame] = []
        self._moves: dict[int, DecodedMoves] = {}

    def games(self, chess960: bool) -> list[DecodedGame]:
        """The games shown now; none where the file cannot be read."""
        found = stamp(self._path)
        if found is None or found == self._seen:
            return self._games if found else []
        try:
            records = read_shard(self._path)
        except DataError:
            return []
        if records.num_games > MOST_GAMES or len(records.action) > MOST_PLIES:
            return []
        self._seen, self._games = found, list(self._decoded(records, chess960))
        return self._games

    def _decoded(self, records: GameRecords, chess960: bool) -> Iterator[DecodedGame]:
        """The games, row by row; those with moves that are not legal are left out, for the file may
        come from another version."""
        before, self._moves = self._moves, {}
        for row, number in enumerate(records.numbers.tolist()):
            try:
                moves = decode_moves(before.get(number), records, row, chess960)
                game = decode_game(records, row, moves, self._machine, self._worker)
            except DataError:
                continue
            self._moves[number] = moves
            yield game
