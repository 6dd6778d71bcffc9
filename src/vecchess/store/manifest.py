"""The manifest: one line a shard, written by the run's parent alone. What it lists is recorded.

A shard without a line was written by a worker whose message got lost. It is adopted if none of its
games is recorded, and set aside otherwise: every game counts exactly once.

Decision 39.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import DataError
from vecchess.runtime.atomic_write import (
    PARTIAL_PREFIX,
    append_line,
    path_write_error,
    truncate_partial_line,
    whole_lines,
)
from vecchess.runtime.reporting import ReportLine, no_report
from vecchess.safe_parse import clip_line, parse_json_object
from vecchess.store.records import SCHEMA
from vecchess.store.shard import NO_RUN, SET_ASIDE_SUFFIX, ShardFile, read_shard
from vecchess.store.stats import GameStats

MANIFEST_NAME = "manifest.jsonl"
_NAME = re.compile(r"\w[\w.-]{0,199}\.npz", re.ASCII)
"""It cannot leave its folder, nor name a file that is no shard."""
_SHA256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class ShardEntry:
    """One line of the manifest."""

    file: str
    sha256: str
    stats: GameStats

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as in a line of the manifest."""
        return {
            "schema": SCHEMA,
            "file": self.file,
            "sha256": self.sha256,
            "stats": self.stats.to_dict(),
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "ShardEntry":
        """Raises ValueError, KeyError or TypeError on anything but ``to_dict``'s values."""
        if values["schema"] != SCHEMA:
            raise ValueError(f"schema {values['schema']}; this vecchess reads {SCHEMA}")
        file, sha256 = values["file"], values["sha256"]
        if not _NAME.fullmatch(file):
            raise ValueError(
                "a shard's name must not leave its folder: it is a word that ends in .npz"
            )
        if not _SHA256.fullmatch(sha256):
            raise ValueError("its sha256 is not one")
        return cls(file, sha256, GameStats.from_dict(values["stats"]))


class Manifest:
    """The recorded shards of one ``games`` folder."""

    def __init__(self, folder: Path) -> None:
        """Open the manifest in ``folder``; the folder need not exist yet."""
        self.folder = folder
        self.path = folder / MANIFEST_NAME
        self.entries = list(self._read())
        self.stats = GameStats()
        """Counts over all recorded games."""
        for entry in self.entries:
            self.stats.add(entry.stats)
        self._size = 0
        """Bytes after the last line that was appended: all of it whole lines."""

    def append(self, entry: ShardEntry) -> None:
        """Record a shard, durably. Raises DataError where writing fails."""
        line = (json.dumps(entry.to_dict()) + "\n").encode()
        with _refusals(self.path):
            if not self.path.exists() or self.path.stat().st_size != self._size:
                truncate_partial_line(self.path)
        self._size = append_line(self.path, line)
        self.entries.append(entry)
        self.stats.add(entry.stats)

    @property
    def shards(self) -> list[ShardFile]:
        """The listed shards, in that order."""
        return [ShardFile(self.folder / entry.file, entry.sha256) for entry in self.entries]

    def adopt(
        self,
        is_recorded: Callable[[NDArray[np.int64]], bool],
        prefix: str = "",
        run_id: str = NO_RUN,
        report_line: ReportLine = no_report,
    ) -> Iterator[tuple[ShardEntry, NDArray[np.int64]]]:
        """Record shards that have no line yet, of all workers or of the one named by ``prefix``.

        Yields each of them once it is recorded, with the numbers of its games.
        ``is_recorded(numbers)``: whether any of these games (int64[K]) counts already, those
        yielded before included. Files that hold such a game, are damaged or belong to another run
        than ``run_id`` are set aside under another name and reported, partial files are removed.
        Raises DataError where writing fails; the others
        can be adopted later.
        """
        known = {entry.file for entry in self.entries}
        for partial in self.folder.glob(f"{PARTIAL_PREFIX}{prefix}*"):
            with _refusals(partial):
                partial.unlink(missing_ok=True)
        for path in sorted(self.folder.glob(f"{prefix}*.npz")):
            if path.name in known:
                continue
            try:
                found = _adoptable(path, is_recorded, run_id)
            except DataError as error:
                with _refusals(path):
                    path.replace(path.with_name(path.name + SET_ASIDE_SUFFIX))
                report_line(f"a shard without a line is set aside: {error}")
            else:
                self.append(found[0])
                yield found

    def _read(self) -> Iterator[ShardEntry]:
        """The whole lines; a torn last one is skipped, for it may be being written."""
        if not self.path.exists():
            return
        for number, line in enumerate(whole_lines(self.path), 1):
            try:
                yield ShardEntry.from_dict(parse_json_object(line))
            except (ValueError, KeyError, TypeError) as error:
                fault = clip_line(error)
                raise DataError(f"{self.path}, line {number} is damaged: {fault}") from None


@contextmanager
def _refusals(path: Path) -> Iterator[None]:
    """Turn errors of the system about ``path`` into DataError."""
    try:
        yield
    except OSError as error:
        raise path_write_error(path, error) from None


def _adoptable(
    path: Path, is_recorded: Callable[[NDArray[np.int64]], bool], run_id: str
) -> tuple[ShardEntry, NDArray[np.int64]]:
    """The line for an unlisted shard, and its numbers; DataError where it must not count."""
    if not _NAME.fullmatch(path.name):
        raise DataError(f"{path} has a name that no shard has")
    records = read_shard(path, run_id=run_id)
    if len(np.unique(records.numbers)) < records.num_games or is_recorded(records.numbers):
        raise DataError(f"{path} has games that are recorded already")
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return ShardEntry(path.name, sha256, GameStats.of(records)), records.numbers
