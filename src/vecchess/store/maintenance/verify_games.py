"""Every recorded game of a folder against its manifest: ``vecchess games verify``.

The games that a training left unfinished are verified too. A file that cannot be read now is not
damaged: its content is unknown. Files that no manifest lists are no damage either: a run adopts
what its workers could not report.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from vecchess.errors import DataError, FileMissing, FileUnreadable
from vecchess.runtime.atomic_write import PARTIAL_PREFIX
from vecchess.runtime.reporting import ReportLine, no_report
from vecchess.runtime.retried_read import list_folder, read_file, retried
from vecchess.store.id_set import IdSet, Range
from vecchess.store.manifest import REWRITTEN_PREFIX, Manifest, ShardEntry, journal_names
from vecchess.store.replay_positions import replay_moves
from vecchess.store.run_folder import CUTS
from vecchess.store.shard import SET_ASIDE_SUFFIX, ForeignShard, parse_shard
from vecchess.store.stats import GameStats

GOOD, DAMAGED, UNREADABLE = "good", "damaged", "cannot be read"


@dataclass
class Verified:
    """What was found in one ``games`` folder."""

    folder: str
    games: int = 0
    """Games in shards that are whole."""
    shards: int = 0
    pruned: int = 0
    """Games that are recorded without a shard."""
    gaps: list[Range] = field(default_factory=list)
    """Numbers below the highest that are not recorded: [first, end); games may be on their way."""
    damaged: list[str] = field(default_factory=list)
    """A line for each fault."""
    foreign: list[str] = field(default_factory=list)
    """Shards of another run."""
    missing: list[str] = field(default_factory=list)
    """Listed files that are not there."""
    unreadable: list[str] = field(default_factory=list)
    """A line for each file that could not be read."""
    unlisted: list[str] = field(default_factory=list)
    """Shards that no manifest lists."""
    set_aside: list[str] = field(default_factory=list)
    """Files that a run has set aside."""

    @property
    def verdict(self) -> str:
        """ "good", "damaged" or "cannot be read"."""
        if self.damaged or self.foreign or self.missing:
            return DAMAGED
        return UNREADABLE if self.unreadable else GOOD

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"verdict": self.verdict, **asdict(self)}


def verify(
    folder: Path, run_id: str | None, on_shard: ReportLine = no_report, must_exist: bool = True
) -> Verified:
    """Read every shard that the manifest in ``folder`` lists.

    run_id: of the run that wrote them; None is not compared. on_shard: gets the name of each file.
    A rewrite meanwhile is followed. Raises nothing for what is found, see ``Verified``.
    """
    found = Verified(str(folder))
    with _noting(found):
        manifest = Manifest(folder, must_exist)
        _verify_shards(manifest, run_id, on_shard, found)
        _verify_cuts(manifest, found)
        _look_around(manifest, found)
    return found


@contextmanager
def _noting(found: Verified, file: str = "") -> Iterator[None]:
    """Add an error that ends the block to ``found``; ``file``: of a shard."""
    try:
        yield
    except ForeignShard:
        found.foreign.append(file)
    except FileUnreadable as error:
        found.unreadable.append(str(error))
    except DataError as error:
        found.damaged.append(str(error))


def _read_checked(path: Path, sha256: str) -> bytes:
    """The bytes of a file whose checksum a manifest has; raises DataError for others."""
    data = retried(read_file, path)
    if hashlib.sha256(data).hexdigest() != sha256:
        raise DataError(f"{path}: its sha256 differs from the manifest's")
    return data


def _verify_shards(
    manifest: Manifest, run_id: str | None, on_shard: ReportLine, found: Verified
) -> None:
    """Verify every listed shard; those listed meanwhile too, where an old one has gone."""
    done, good = set[str](), set[str]()
    while left := [each for each in manifest.entries if each.file not in done]:
        present = set(retried(list_folder, manifest.folder))
        for entry in left:
            on_shard(entry.file)
            if entry.file not in present and manifest.refresh():
                break
            done.add(entry.file)
            if entry.file not in present:
                found.missing.append(entry.file)
                continue
            with _noting(found, entry.file):
                _check(manifest.folder / entry.file, entry, run_id)
                good.add(entry.file)
    entries = [each for each in manifest.entries if each.file in good]
    found.shards, found.games = len(entries), sum(each.stats.games for each in entries)
    found.pruned = len(manifest.pruned)
    found.gaps = (IdSet([(0, manifest.ids.span[1])]) - manifest.ids).ranges


def _check(path: Path, entry: ShardEntry, run_id: str | None) -> None:
    """Raise DataError where the shard at ``path`` is not what its line says."""
    records, _ = parse_shard(path, _read_checked(path, entry.sha256), {}, run_id=run_id)
    ids = IdSet.of(records.numbers)
    if ids != entry.ids or len(ids) != records.num_games:
        raise DataError(f"{path}: its games are not those of the manifest's line")
    if GameStats.of(records).to_dict() != entry.stats.to_dict():
        raise DataError(f"{path}: its results are not those of the manifest's line")
    try:
        replay_moves(records)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def _verify_cuts(manifest: Manifest, found: Verified) -> None:
    """Verify the games that a training left unfinished.

    A file that is not there is no fault: it is removed once no checkpoint needs it.
    """
    folder = manifest.folder.parent / CUTS
    present = set(retried(list_folder, folder))
    for entry in manifest.entries:
        if entry.cut and entry.file in present:
            with _noting(found), suppress(FileMissing):
                _read_checked(folder / entry.file, entry.cut)


def _look_around(manifest: Manifest, found: Verified) -> None:
    """Find files that the manifest does not list."""
    names, journal = retried(list_folder, manifest.folder), journal_names(manifest.folder)
    manifest.refresh()
    partial = (PARTIAL_PREFIX, REWRITTEN_PREFIX)
    listed = {entry.file for entry in manifest.entries}
    for name in names:
        if name.endswith(SET_ASIDE_SUFFIX):
            found.set_aside.append(name)
        elif (
            name.endswith(".npz") and name not in listed | journal and not name.startswith(partial)
        ):
            found.unlisted.append(name)
