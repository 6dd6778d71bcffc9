"""The manifest: one line a shard, written under a lock. What it lists is recorded.

    {"schema":2,"manifest":"9f86d081884c7d65"}
    {"file":"0000-000-c3a281-000000.npz","sha256":"...","games":[0,6,1,2],"stats":{...}}

The first line has an id, drawn anew whenever the file is replaced (``Manifest.replace``); lines are
only ever appended to one file. So ``refresh`` reads what is new, and knows when all is. "games" are
the numbers of the shard's games: the first, then in turn how many follow each other and how many
are left out (here 0 to 5, and 7 and 8). No file and no game is listed twice, so which games are
recorded is known without opening a shard. "pruned" in the first line has the numbers of games whose
shards were deleted: they count as recorded, and are not played again.

The lines of a training have "segments" too, in which the games ended, written as the games are, and
the sha256 of a "cut": the file in ``cuts``, named as the shard, with the games that these segments
left unfinished.

A shard without a line was written by a worker whose message got lost. It is adopted if it is of
this run and none of its games is recorded, and set aside otherwise: every game counts exactly once.

``rewriting.json``, the journal of a rewrite (``maintenance/rewrite.py``), names the files that it
may make superfluous: none of them is adopted.

Decisions 39 and 217.
"""

import gc
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np

from vecchess.errors import DataError, FileMissing, FileUnreadable
from vecchess.runtime.atomic_write import (
    PARTIAL_PREFIX,
    append_line,
    path_refusals,
    remove_file,
    truncate_partial_line,
    write_atomically,
)
from vecchess.runtime.file_lock import file_lock
from vecchess.runtime.reporting import ReportLine, no_report
from vecchess.runtime.retried_read import list_folder, read_file, read_json, retried, unreadable
from vecchess.safe_parse import clip_line, is_schema, open_regular, parse_json_object
from vecchess.store.id_set import Ids, IdSet, Range, parse_steps
from vecchess.store.records import SCHEMA, GameRecords, concatenate
from vecchess.store.shard import NO_RUN, SET_ASIDE_SUFFIX, ShardFile, parse_shard
from vecchess.store.stats import GameStats

NAME = re.compile(r"\w[\w.-]{0,199}\.npz", re.ASCII)
"""It cannot leave its folder, nor name a file that is no shard."""
_SHA256 = re.compile("[0-9a-f]{64}")
LONGEST_LINE, LONGEST_HEAD = 1 << 24, 1 << 28
"""Bytes of a line, and of the first one, which tells all games that are pruned."""
_KEYS = {"file", "sha256", "games", "stats"}
_OF_SEGMENTS = {"segments", "cut"}


@dataclass(frozen=True)
class ShardEntry:
    """One line of the manifest."""

    file: str
    sha256: str
    ids: IdSet
    """The numbers of its games."""
    stats: GameStats
    segments: IdSet = field(default_factory=IdSet)
    """The segments of a training in which its games ended; all are over."""
    cut: str = ""
    """sha256 of the file with the games that are unfinished; "" where a compaction dropped it."""

    @classmethod
    def of(cls, file: str, sha256: str, records: GameRecords) -> "ShardEntry":
        """The line of a shard with the games ``records``."""
        return cls(file, sha256, IdSet.of(records.numbers), GameStats.of(records))

    @property
    def age_span(self) -> Range:
        """The first and the end of its segments, or without any of its games: shards are old, and
        lie in generations, by these."""
        return (self.segments or self.ids).span

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as in a line of the manifest. Counts of zero are left out."""
        values = {
            "file": self.file,
            "sha256": self.sha256,
            "games": self.ids.steps,
            "stats": {name: count for name, count in self.stats.to_dict().items() if count},
        }
        if self.segments:
            values |= {"segments": self.segments.steps, "cut": self.cut}
        return values

    @classmethod
    def from_dict(cls, values: Any) -> "ShardEntry":
        """The inverse of ``to_dict``. Raises ValueError or TypeError for anything else."""
        return cls.from_dicts([values])[0]

    @classmethod
    def from_dicts(cls, values: Sequence[Any]) -> list["ShardEntry"]:
        """``from_dict`` of each of ``values``; many are checked in little time, field by field."""
        keys = (_KEYS, _KEYS | _OF_SEGMENTS)
        if not all(isinstance(each, dict) and each.keys() in keys for each in values):
            raise ValueError("a line has a file, its sha256, games and stats, and nothing else")
        files, sums = [each["file"] for each in values], [each["sha256"] for each in values]
        if not all(map(NAME.fullmatch, files)):
            raise ValueError(
                "a shard's name must not leave its folder: it is a word that ends in .npz"
            )
        if not all(map(_SHA256.fullmatch, sums)):
            raise ValueError("its sha256 is not one")
        stats = GameStats.from_dicts([each["stats"] for each in values])
        edges, counts = parse_steps([each["games"] for each in values])
        if counts != [each.games for each in stats]:
            raise ValueError("its games are not as many as its stats say")
        parts, _ = parse_steps([each.get("segments", []) for each in values])
        cuts = [each.get("cut", "") for each in values]
        if not all(cut == "" or _SHA256.fullmatch(cut) for cut in cuts):
            raise ValueError("the sha256 of its cut is not one")
        ids, segments = (map(IdSet.of_edges, each) for each in (edges, parts))
        return list(map(cls, files, sums, ids, stats, segments, cuts))


def parse_lines(lines: list[bytes], first: int = 1) -> list[ShardEntry]:
    """The entries of ``lines``. Raises ValueError that names the damaged one; ``first`` is the
    number of the first of them.

    They are parsed at once, in half the time; one by one only to find what is damaged.
    """
    with suppress(ValueError, TypeError, RecursionError):
        values = json.loads(b"[%b]" % b",".join(lines))
        if len(values) == len(lines):
            return ShardEntry.from_dicts(values)
    for number, line in enumerate(lines, first):
        try:
            ShardEntry.from_dict(parse_json_object(line, LONGEST_LINE))
        except (ValueError, TypeError) as error:
            raise ValueError(f"line {number} is damaged: {clip_line(error)}") from None
    raise ValueError("it has lines that are none")


MANIFEST_NAME = "manifest.jsonl"
_ID = re.compile("[0-9a-f]{16}")
_LOCK_NAME = ".manifest.lock"
_LOCK_WAIT_S = 2.0
JOURNAL_NAME = "rewriting.json"
JOURNAL_SCHEMA = 1
_MOST_JOURNAL_BYTES = 1 << 26
REWRITTEN_PREFIX = "compact-"
"""Prefix of shards that a rewrite makes: only a rewrite adds them to a manifest."""
_REWRITES = (REWRITTEN_PREFIX, PARTIAL_PREFIX + REWRITTEN_PREFIX, PARTIAL_PREFIX + JOURNAL_NAME)
"""Prefixes of files that belong to a rewrite."""


class Manifest:
    """The recorded shards of one ``games`` folder, as far as ``refresh`` has read them."""

    def __init__(self, folder: Path, must_exist: bool = False) -> None:
        """Read the manifest in ``folder``, which need not exist yet unless ``must_exist``.

        Raises DataError where a line is damaged, or lists what another one does, FileUnreadable
        where it cannot be read.
        """
        self.folder = folder
        self.path = folder / MANIFEST_NAME
        self._must_exist = must_exist
        self._is_locked = False
        self._clear()
        self.refresh()

    def _clear(self) -> None:
        self.entries: list[ShardEntry] = []
        self.stats = GameStats()
        """Counts over all recorded games."""
        self.ids = IdSet()
        """The numbers of all recorded games, those that are pruned included."""
        self.pruned = IdSet()
        """The numbers of the games that no shard has any more."""
        self.pruned_stats = GameStats()
        """Counts over these."""
        self.segments = IdSet()
        """The segments of a training that are recorded, see ``seating.py``."""
        self._spans = _Spans()
        """The first number of each entry, and the end of its last."""
        self._segment_spans = _Spans()
        """The first segment of each entry, and the end of its last."""
        self._files: set[str] = set()
        self._head = b""
        """The first line."""
        self._end = 0
        """Bytes that were read or written: whole lines."""
        self._last = b""
        """The last of these lines."""

    def refresh(self) -> bool:
        """Read the lines that are new, or all where the file was replaced; whether there were any.

        A torn last line is skipped, for it may be being written. Raises as the constructor.
        """
        is_replaced, data = retried(self._read_new)
        if is_replaced:
            self._clear()
        lines = data[: data.rfind(b"\n") + 1].splitlines(keepends=True)
        first = len(self.entries) + 2
        if lines and not self._head:
            self._parse_head(lines[0])
            first = 1
        with _no_collection():
            try:
                entries = parse_lines(lines[1:] if first == 1 else lines, max(first, 2))
            except ValueError as error:
                raise DataError(f"{self.path}, {error}") from None
            if entries:
                self._check_doubles(entries)
                self._add(entries)
        self._end += sum(map(len, lines))
        self._last = lines[-1] if lines else self._last
        return is_replaced or bool(entries)

    def append(self, entry: ShardEntry) -> None:
        """Record a shard, durably. Raises DataError where writing fails, or where the file or one
        of the games is listed already, FileBusy where a rewrite takes long."""
        with self.locked():
            self._append(entry)

    def _append(self, entry: ShardEntry) -> None:
        self._check_doubles([entry])
        with path_refusals(self.path):
            truncate_partial_line(self.path)
        line = _json_line(entry.to_dict())
        head = self._head or _header()
        self._end = append_line(self.path, line if self._head else head + line)
        self._head, self._last = head, line
        self._add([entry])

    def replace(self, entries: Iterable[ShardEntry], pruned: Sequence[ShardEntry] = ()) -> None:
        """Replace the file by one that lists ``entries``, atomically; all who follow it read it
        anew. Raises DataError where writing fails: the old one stays.

        pruned: entries of which no shard is left; their games stay recorded.
        """
        listed, stats = list(entries), GameStats()
        stats.add(self.pruned_stats, *(entry.stats for entry in pruned))
        head = _header(IdSet.union([self.pruned, *(entry.ids for entry in pruned)]), stats)
        if len(head) > LONGEST_HEAD:
            raise DataError(f"{self.path}: too many ranges of pruned games; begin a new run")
        lines = [head, *(_json_line(entry.to_dict()) for entry in listed)]
        write_atomically(self.path, b"".join(lines))
        self._clear()
        self._parse_head(head)
        self._end, self._last = sum(map(len, lines)), lines[-1]
        self._add(listed)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from changing the file, which is read up to its end first.

        May be entered again within. Raises FileBusy where another process holds the lock for long.
        """
        if self._is_locked:
            yield
            return
        with file_lock(self.folder / _LOCK_NAME, _LOCK_WAIT_S, "another vecchess"):
            self._is_locked = True
            try:
                self.refresh()
                yield
            finally:
                self._is_locked = False

    @property
    def shards(self) -> list[ShardFile]:
        """The listed shards, in that order."""
        return [self.shard(entry) for entry in self.entries]

    def shard(self, entry: ShardEntry) -> ShardFile:
        """The shard of a line."""
        return ShardFile(self.folder / entry.file, entry.sha256, entry.ids, read_moved)

    def entries_with(self, first: int, end: int) -> list[ShardEntry]:
        """The entries that may have games from ``first`` to ``end`` - 1, in their order."""
        return self._overlapping(self._spans, first, end)

    def entries_of(self, segments: IdSet) -> list[ShardEntry]:
        """The entries that have some of ``segments``, in their order."""
        found = self._overlapping(self._segment_spans, *segments.span)
        return [each for each in found if each.segments & segments]

    def _overlapping(self, spans: "_Spans", first: int, end: int) -> list[ShardEntry]:
        return [self.entries[row] for row in spans.overlapping(first, end)]

    def check_files(self) -> None:
        """Raise FileUnreadable where a listed shard is missing; one look at the folder."""
        with self.locked():
            retried(self._check_files)

    def _check_files(self) -> None:
        missing = sorted(self._files.difference(list_folder(self.folder)))
        if missing:
            raise FileUnreadable(
                f"{self.folder} lacks {len(missing)} of the shards that {MANIFEST_NAME} lists, "
                f"{missing[0]} among them: put them back; or, of self-play, remove their lines to "
                "have their games played again, of a training put empty files in their places"
            )

    def adopt(
        self,
        prefix: str = "",
        run_id: str = NO_RUN,
        report_line: ReportLine = no_report,
        discards: bool = False,
    ) -> Iterator[ShardEntry]:
        """Record shards that have no line yet, of all workers or of the one named by ``prefix``.

        Yields each of them once it is recorded. Files that were read and are damaged, hold a game
        that is recorded, or belong to another run than ``run_id`` are set aside under another name
        and reported; partial files are removed. ``discards``: shards that could be recorded are
        removed too, for they do not say which segments they end. Raises FileUnreadable where a file
        cannot be read, and DataError where writing fails; the others can be adopted later.
        """
        for name in retried(list_folder, self.folder):
            if name.startswith(_REWRITES):
                continue
            if name.startswith(PARTIAL_PREFIX + prefix):
                with self.locked():
                    remove_file(self.folder / name)
            elif name.startswith(PARTIAL_PREFIX) or name in self._files:
                continue
            elif name.startswith(prefix) and name.endswith(".npz"):
                with self.locked():
                    yield from self._adopt_one(name, run_id, report_line, discards)

    def _adopt_one(
        self, name: str, run_id: str, report_line: ReportLine, discards: bool
    ) -> Iterator[ShardEntry]:
        """Record the unlisted shard ``name``, or discard it, or set it aside."""
        path, present = self.folder / name, retried(list_folder, self.folder)
        if name in self._files or name not in present or name in journal_names(self.folder):
            return  # a rewrite was quicker
        try:
            entry = self._adoptable(path, retried(read_file, path), run_id)
        except FileUnreadable:
            raise
        except DataError as error:
            with path_refusals(path):
                path.replace(path.with_name(name + SET_ASIDE_SUFFIX))
            report_line(f"a shard without a line is set aside: {error}")
        else:
            if not discards:
                self.append(entry)
                yield entry
                return
            remove_file(path)

    def _adoptable(self, path: Path, data: bytes, run_id: str) -> ShardEntry:
        """The line for an unlisted shard; raises DataError where it must not count."""
        if not NAME.fullmatch(path.name):
            raise DataError(f"{path} has a name that no shard has")
        records, _ = parse_shard(path, data, {}, run_id=run_id)
        entry = ShardEntry.of(path.name, hashlib.sha256(data).hexdigest(), records)
        if len(entry.ids) < records.num_games or entry.ids & self.ids:
            raise DataError(f"{path} has games that are recorded already")
        return entry

    def _add(self, entries: list[ShardEntry]) -> None:
        self.entries += entries
        self.stats.add(*(entry.stats for entry in entries))
        self.ids = IdSet.union([self.ids, *(entry.ids for entry in entries)])
        self.segments = IdSet.union([self.segments, *(entry.segments for entry in entries)])
        self._spans.each += [entry.ids.span for entry in entries]
        self._segment_spans.each += [entry.segments.span for entry in entries]
        self._files.update(entry.file for entry in entries)

    def _check_doubles(self, entries: list[ShardEntry]) -> None:
        """Raise DataError where a file or a game of ``entries`` is listed already, or twice."""
        doubled = [file for file, num in Counter(each.file for each in entries).items() if num > 1]
        doubled += [each.file for each in entries if each.file in self._files]
        if doubled:
            raise DataError(f"{self.path} lists {doubled[0]} twice: remove one of the two lines")
        segments = IdSet.union(entry.segments for entry in entries)
        if segments & self.segments or len(segments) < sum(len(each.segments) for each in entries):
            raise DataError(f"{self.path} lists a segment twice: remove the second of the lines")
        ids = IdSet.union(entry.ids for entry in entries)
        if len(ids) == sum(entry.stats.games for entry in entries) and not ids & self.ids:
            return
        seen = self.ids
        for entry in entries:
            if both := entry.ids & seen:
                raise DataError(
                    f"{self.path} lists game {both.span[0]} twice, the second time in "
                    f"{entry.file}: remove that line, and set the file aside"
                )
            seen |= entry.ids

    def _read_new(self) -> tuple[bool, bytes]:
        """Whether the file is another one than before, and what was not read yet."""
        try:
            with open_regular(self.path) as file:
                if self._head:
                    head = file.read(len(self._head))
                    file.seek(self._end - len(self._last))
                    if head == self._head and file.read(len(self._last)) == self._last:
                        return False, file.read()
                    file.seek(0)
                return bool(self._head), file.read()
        except FileNotFoundError as error:
            if self._must_exist or self._head:
                raise unreadable(self.path, error) from None
            return False, b""
        except OSError as error:
            raise unreadable(self.path, error) from None

    def _parse_head(self, line: bytes) -> None:
        """Take the first line: which games are pruned."""
        try:
            values = parse_json_object(line, LONGEST_HEAD)
            if not is_schema(values.get("schema"), SCHEMA):
                raise ValueError(f"schema {values.get('schema')}; this vecchess reads {SCHEMA}")
            if not _ID.fullmatch(values["manifest"]):
                raise ValueError("it has no id")
            (edges,), (count,) = parse_steps([values.get("pruned", [])])
            stats = GameStats.from_dict(values.get("pruned_stats", {}))
            if stats.games != count:
                raise ValueError("its games are not as many as its stats say")
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{self.path}, line 1 is damaged: {clip_line(error)}") from None
        self._head, self.pruned, self.pruned_stats = line, IdSet.of_edges(edges), stats
        self.ids |= self.pruned
        self.stats.add(stats)


class _Spans:
    """Half-open ranges, one for each entry: many are asked for between two that are added."""

    def __init__(self) -> None:
        self.each: list[Range] = []
        self._edges = np.empty((0, 2), np.int64)

    def overlapping(self, first: int, end: int) -> Ids:
        """The indices of the ranges that have a number from ``first`` to ``end`` - 1."""
        edges = self._edges
        if new := self.each[len(edges) :]:
            self._edges = edges = np.concatenate([edges, np.array(new, np.int64)])
        return np.flatnonzero((edges[:, 0] < end) & (edges[:, 1] > first))


def _header(pruned: IdSet | None = None, stats: GameStats | None = None) -> bytes:
    """A first line with a new id."""
    values: dict[str, Any] = {"schema": SCHEMA, "manifest": token_hex(8)}
    if pruned and stats is not None:
        values |= {"pruned": pruned.steps, "pruned_stats": stats.to_dict()}
    return _json_line(values)


def _json_line(values: dict[str, Any]) -> bytes:
    return (json.dumps(values, separators=(",", ":")) + "\n").encode()


def read_moved(shard: ShardFile) -> GameRecords | None:
    """The games of a shard that its manifest lists no more, by number, from the shards that have
    them now; None where it is listed. Raises DataError where they were pruned."""
    manifest, ids = Manifest(shard.path.parent, must_exist=True), shard.ids or IdSet()
    entries = [each for each in manifest.entries_with(*ids.span) if each.ids & ids]
    if any(each.file == shard.path.name for each in entries):
        return None
    if lost := ids - IdSet.union(each.ids for each in entries):
        first, end = lost.span
        raise DataError(f"{shard.path} is gone: games {first} to {end - 1} were pruned")
    parts = [manifest.shard(each).read() for each in entries]
    return concatenate(
        [part.take(np.flatnonzero(ids.contains(part.numbers))) for part in parts]
    ).by_number()


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep Python's garbage collector from looking at 100,000 new lines again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def journal_names(folder: Path) -> set[str]:
    """The files that a rewrite in progress, or a killed one, names; none without one.

    Raises DataError where the journal is damaged, FileUnreadable where it cannot be read.
    """
    path = folder / JOURNAL_NAME
    if JOURNAL_NAME not in retried(list_folder, folder):
        return set()
    try:
        values = read_json(path, JOURNAL_SCHEMA, _MOST_JOURNAL_BYTES)
        return {str(name) for name in values["files"] if "/" not in str(name)}
    except FileMissing:  # the rewrite has ended
        return set()
    except (KeyError, TypeError) as error:
        raise DataError(f"{path} is damaged: {clip_line(error)}; remove it") from None
