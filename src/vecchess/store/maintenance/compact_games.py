"""Small shards become large ones, game by game the same: ``vecchess games compact``.

A compacted shard holds its games in the order of their numbers. Whole generations of a training
stay apart, so that a window or a pruning that ends between two of them finds a shard's end there.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from secrets import token_hex

from vecchess.errors import DataError
from vecchess.runtime.reporting import ReportLine
from vecchess.runtime.retried_read import read_file, retried
from vecchess.store.id_set import IdSet
from vecchess.store.maintenance.rewrite import replace_shards, rewriting
from vecchess.store.manifest import REWRITTEN_PREFIX, Manifest, ShardEntry
from vecchess.store.records import concatenate
from vecchess.store.run_folder import CUTS
from vecchess.store.shard import write_shard

_TURNS = 16
"""The manifest is replaced about so often, at most: each time frees the disk of old shards."""
_LEAST_SHARDS = 64
"""New shards between two replacements of the manifest."""
Group = list[ShardEntry]
"""Shards that become one."""


@dataclass
class Compacted:
    """What was done in one folder."""

    shards_before: int
    shards_after: int
    games: int = 0
    """Games that were moved to larger shards."""


def compact(
    manifest: Manifest, run_id: str, shard_games: int, generation: int, report_line: ReportLine
) -> Compacted:
    """Compact the games of the run ``run_id`` into shards of ``shard_games`` games.

    generation: segments of one generation, which stay apart; 0: there are none. Damaged shards are
    reported and stay as they are; so do those of a training that still has the unfinished games of
    their segments. Raises FileBusy where another process rewrites the folder,
    FileUnreadable or DataError where the disk fails: every game is still recorded once then.
    """
    with rewriting(manifest):
        done = Compacted(len(manifest.entries), len(manifest.entries))
        cuts = manifest.folder.parent / CUTS
        entries = [
            each for each in manifest.entries if not each.cut or not (cuts / each.file).exists()
        ]
        groups = list(small_groups(entries, shard_games, generation))
        at_once = max(_LEAST_SHARDS, -(-len(groups) // _TURNS))
        for first in range(0, len(groups), at_once):
            _merge(manifest, groups[first : first + at_once], run_id, report_line, done)
        done.shards_after = len(manifest.entries)
        return done


def small_groups(
    entries: Sequence[ShardEntry], shard_games: int, generation: int
) -> Iterator[Group]:
    """Groups of shards with fewer than ``shard_games`` games each, in the order of their games."""
    small = [entry for entry in entries if 0 < entry.stats.games < shard_games]
    small.sort(key=lambda entry: entry.age_span)
    for _, part in groupby(small, lambda entry: entry.age_span[0] // (generation or 1 << 62)):
        group: Group = []
        for entry in part:
            group.append(entry)
            if sum(each.stats.games for each in group) >= shard_games:
                yield group
                group = []
        if len(group) > 1:
            yield group


def _merge(
    manifest: Manifest,
    groups: list[Group],
    run_id: str,
    report_line: ReportLine,
    done: Compacted,
) -> None:
    """Replace the shards of each of ``groups`` by one."""
    sound = [[each for each in group if _is_sound(manifest, each, report_line)] for group in groups]
    groups = [group for group in sound if len(group) > 1]
    if not groups:
        return
    stem = f"{REWRITTEN_PREFIX}{token_hex(6)}"
    named = [(f"{stem}-{number:06d}.npz", group) for number, group in enumerate(groups)]
    write = partial(_written, manifest, named, run_id)
    replace_shards(manifest, [each for group in groups for each in group], dict(named), write)
    done.games += sum(each.stats.games for group in groups for each in group)


def _written(manifest: Manifest, named: list[tuple[str, Group]], run_id: str) -> list[ShardEntry]:
    """The entries of new shards, each with the games of a group."""
    new = []
    for name, group in named:
        records = concatenate([manifest.shard(each).read() for each in group]).by_number()
        sha256 = write_shard(manifest.folder / name, records, run_id)
        segments = IdSet.union(each.segments for each in group)
        entry = replace(ShardEntry.of(name, sha256, records), segments=segments)
        if entry.stats.games != sum(each.stats.games for each in group):
            raise DataError(f"{manifest.path}: the games of {group[0].file} are not those listed")
        new.append(entry)
    return new


def _is_sound(manifest: Manifest, entry: ShardEntry, report_line: ReportLine) -> bool:
    """Whether a shard is the file that was written; raises FileUnreadable."""
    path = manifest.folder / entry.file
    is_sound = hashlib.sha256(retried(read_file, path)).hexdigest() == entry.sha256
    if not is_sound:
        report_line(f"{path} is damaged, and stays as it is: its sha256 differs")
    return is_sound
