"""The games of a run, read as it plays: those recorded, and those in progress.

games/manifest.jsonl   -> ManifestTail      shards and counts, each line once
games/*.npz            -> RunGames          how all ended, and any of them by its number
live/<worker>.npz      -> LiveGamesReader   some of those that are being played
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from vecchess.errors import DataError
from vecchess.monitor.changing_file import LONGEST_LINE, LogTail, Stamp, stamp
from vecchess.monitor.decoded_game import (
    DecodedGame,
    DecodedMoves,
    decode_game,
    decode_moves,
)
from vecchess.runtime.atomic_write import PARTIAL_PREFIX
from vecchess.safe_parse import parse_json_object
from vecchess.store.id_set import IdSet
from vecchess.store.manifest import MANIFEST_NAME, ShardEntry, parse_lines
from vecchess.store.records import GAME_COLUMNS, GameRecords
from vecchess.store.shard import GameOutcomes, ShardFile, read_outcomes, read_shard
from vecchess.store.stats import GameStats

NUM_OPEN = 2
"""Shards whose games are kept in memory: people leaf through neighbours."""
NO_OUTCOMES = GameOutcomes(
    np.zeros(0, np.int64),
    np.zeros(0, np.int64),
    np.zeros(0, GAME_COLUMNS["result"]),
    np.zeros(0, GAME_COLUMNS["termination"]),
)
MOST_GAMES, MOST_PLIES = 256, 1 << 15
"""Limits of one file: workers show 16 games, and decoding a ply takes 0.1 ms."""


class ManifestTail:
    """The shards of one ``games`` folder and their counts. Damaged lines are left out."""

    def __init__(self, folder: Path) -> None:
        """The manifest is first read by ``refresh``; the folder need not exist."""
        self.folder = folder
        self.entries: list[ShardEntry] = []
        self.ids = IdSet()
        """The numbers of their games."""
        self.stats = GameStats()
        """Counts over all of them."""
        self._tail = LogTail(folder / MANIFEST_NAME)

    def refresh(self) -> None:
        """Read the lines that are new."""
        if self._tail.was_replaced():
            self.entries, self.ids, self.stats = [], IdSet(), GameStats()
        for offset, block in self._tail.blocks():
            lines = bytes(block).splitlines()
            if offset == 0:
                self.stats.add(_pruned(lines.pop(0)))
            entries = _parsed(lines)
            if entries is None:
                entries = [entry for line in lines for entry in _parsed([line]) or ()]
            self.entries += entries
            self.ids = IdSet.union([self.ids, *(entry.ids for entry in entries)])
            self.stats.add(*(entry.stats for entry in entries))


def _parsed(lines: list[bytes]) -> list[ShardEntry] | None:
    """The entries of ``lines``; None where one is damaged."""
    try:
        return parse_lines(lines)
    except ValueError:
        return None


def _pruned(head: bytes) -> GameStats:
    """The counts over pruned games, of a manifest's first line."""
    try:
        return GameStats.from_dict(parse_json_object(head, LONGEST_LINE).get("pruned_stats", {}))
    except (ValueError, TypeError):
        return GameStats()


class RunGames:
    """The recorded games of a run. A shard is opened when one of its games is wanted."""

    def __init__(self, manifest: ManifestTail) -> None:
        """The games that ``manifest`` lists, now and later."""
        self._manifest = manifest
        self._outcomes: dict[str, GameOutcomes] = {}
        self._open: OrderedDict[str, GameRecords] = OrderedDict()

    def game(self, number: int, chess960: bool) -> DecodedGame | None:
        """The game of this number; None where it is not here. Raises DataError where its shard
        cannot be read."""
        wanted = np.array([number])
        entries = self._manifest.entries if self._manifest.ids.contains(wanted)[0] else []
        for entry in reversed(entries):
            if entry.ids.contains(wanted)[0]:
                records = self._records(self._shard(entry))
                rows = np.flatnonzero(records.numbers == number)
                if len(rows):
                    moves = decode_moves(None, records, int(rows[0]), chess960)
                    return decode_game(records, int(rows[0]), moves, None)
        return None

    @property
    def num_games(self) -> int:
        """Games that are recorded."""
        return len(self._manifest.ids)

    def outcomes_of(self, first: int, most: int, backwards: bool) -> GameOutcomes:
        """How ``most`` games ended, after ``first`` others in the order of recording or
        ``backwards``. Only the shards that they are in are opened; those that cannot be read are
        passed over."""
        parts, step = [], -1 if backwards else 1
        for entry in self._manifest.entries[::step]:
            if most <= 0:
                break
            if first >= entry.stats.games:
                first -= entry.stats.games
                continue
            columns = vars(self._outcomes_of(self._shard(entry))).values()
            parts.append(GameOutcomes(*(each[::step][first : first + most] for each in columns)))
            first, most = 0, most - len(parts[-1].numbers)
        return joined_outcomes(parts)

    def neighbours(self, number: int) -> tuple[int | None, int | None]:
        """The numbers before and after ``number``, None where there is none. No shard is opened,
        so that either may be in one that cannot be read."""
        first, end = self._manifest.ids.edges[::2], self._manifest.ids.edges[1::2]
        before, after = np.searchsorted(first, number), np.searchsorted(end, number + 1, "right")
        return (
            min(int(end[before - 1]), number) - 1 if before else None,
            max(int(first[after]), number + 1) if after < len(end) else None,
        )

    def outcomes(self) -> GameOutcomes:
        """How all recorded games ended, in the order of recording; without those of shards that
        cannot be read."""
        shards = [self._shard(entry) for entry in self._manifest.entries]
        keys = {_key(shard) for shard in shards}
        for old in self._outcomes.keys() - keys:  # of shards that were pruned or joined
            del self._outcomes[old]
        return joined_outcomes(map(self._outcomes_of, shards))

    def _shard(self, entry: ShardEntry) -> ShardFile:
        return ShardFile(self._manifest.folder / entry.file, entry.sha256)

    def _outcomes_of(self, shard: ShardFile) -> GameOutcomes:
        """Empty for a shard that cannot be read now; reading is tried again the next time."""
        key = _key(shard)
        if key not in self._outcomes:
            try:
                self._outcomes[key] = read_outcomes(shard.path)
            except DataError:
                return NO_OUTCOMES
        return self._outcomes[key]

    def _records(self, shard: ShardFile) -> GameRecords:
        key = _key(shard)
        if key not in self._open:
            self._open[key] = read_shard(shard.path, shard.sha256)  # a page does not wait
            if len(self._open) > NUM_OPEN:
                self._open.popitem(last=False)
        self._open.move_to_end(key)
        return self._open[key]


def joined_outcomes(parts: Iterable[GameOutcomes]) -> GameOutcomes:
    """The games of ``parts``, one part after the other."""
    columns = zip(*(vars(part).values() for part in (NO_OUTCOMES, *parts)), strict=True)
    return GameOutcomes(*(np.concatenate(column) for column in columns))


class LiveGamesReader:
    """The games in progress of a run."""

    def __init__(self, folder: Path) -> None:
        """The folder is first read by ``games``, and need not exist."""
        self._folder = folder
        self._files: dict[Path, WorkerGames] = {}

    def games(self, chess960: bool) -> list[DecodedGame]:
        """All games shown now, worker by worker; unreadable files are left out."""
        self._files = {
            file: self._files.get(file) or WorkerGames(file)
            for file in sorted(self._folder.glob("*.npz"))
            if not file.name.startswith(PARTIAL_PREFIX) and file.stem.isdecimal()
        }
        return [game for file in self._files.values() for game in file.games(chess960)]


class WorkerGames:
    """The games that one worker shows. Their file is read again only when it was replaced, and the
    moves of a game are kept, so that only new ones are decoded."""

    def __init__(self, path: Path) -> None:
        """The file is first read by ``games``."""
        self._path, self._worker = path, int(path.stem)
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
                game = decode_game(records, row, moves, self._worker)
            except DataError:
                continue
            self._moves[number] = moves
            yield game


def _key(shard: ShardFile) -> str:
    return shard.sha256 or shard.path.name
