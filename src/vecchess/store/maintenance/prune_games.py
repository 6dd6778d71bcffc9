"""Deletes the oldest games of a run; their numbers stay recorded: ``vecchess games prune``.

Games are old by their numbers, those of a training by the segments in which they ended. Whole
shards are deleted. What a training still reads, or reads again when it is resumed from a checkpoint
that it keeps, is not deleted: ``needed.json`` has the first segment of that.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vecchess.errors import ConfigError, DataError, FileUnreadable
from vecchess.runtime.atomic_write import write_atomically
from vecchess.runtime.retried_read import read_json
from vecchess.safe_parse import clip_line
from vecchess.store.maintenance.games_folder import GamesFolder
from vecchess.store.maintenance.rewrite import replace_shards, rewriting
from vecchess.store.manifest import Manifest, ShardEntry

SCHEMA = 2
NEEDED_NAME = "needed.json"
ALL_GAMES = 1 << 62
GB = 1e9


@dataclass(frozen=True)
class Pruned:
    """What was deleted in one folder, or would be."""

    games: int = 0
    shards: int = 0
    num_bytes: int = 0
    bytes_left: int = 0
    is_short: bool = False
    """More would have been deleted but for what a training still reads."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def write_needed(folder: Path, first_segment: int) -> None:
    """Note in a ``games`` folder that games are still read that ended from ``first_segment`` on.

    Raises DataError where writing fails.
    """
    text = f'{{"schema": {SCHEMA}, "first_segment": {first_segment}}}\n'
    write_atomically(folder / NEEDED_NAME, text.encode())


def first_needed(folder: Path, is_training: bool) -> int:
    """The first segment that a training still reads; ``ALL_GAMES`` where there is no training.

    0 where ``is_training`` and it has not noted one yet. Raises DataError.
    """
    path = folder / NEEDED_NAME
    try:
        if not path.exists():
            return 0 if is_training else ALL_GAMES
        return int(read_json(path, SCHEMA)["first_segment"])
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} is damaged: {clip_line(error)}") from None


def prune(
    manifest: Manifest, choose: "Choice", is_training: bool, is_dry_run: bool = False
) -> Pruned:
    """Delete the shards that ``manifest`` lists and ``choose`` names.

    is_dry_run: delete nothing. Raises FileBusy where another process rewrites the folder, DataError
    where the disk fails: every game is recorded still.
    """
    needed = first_needed(manifest.folder, is_training)
    if is_dry_run:
        return _pruned(manifest, choose, needed)[0]
    with rewriting(manifest):
        done, old = _pruned(manifest, choose, needed)
        if old:
            replace_shards(manifest, old, [], list, is_pruning=True)
        return done


Choice = Callable[[Sequence[ShardEntry], dict[str, int]], list[ShardEntry]]
"""Takes all entries by age, oldest first, and the bytes of each file; returns those to delete."""


def before_game(first_kept: int) -> Choice:
    """Chooses shards that have only games, or segments of a training, below ``first_kept``."""
    return lambda entries, _: [each for each in entries if each.age_span[1] <= first_kept]


def down_to(most_bytes: float) -> Choice:
    """Chooses the oldest shards, so that the others take no more than ``most_bytes``."""

    def choose(entries: Sequence[ShardEntry], sizes: dict[str, int]) -> list[ShardEntry]:
        chosen, left = [], sum(sizes.values())
        for entry in entries:
            if left <= most_bytes:
                break
            chosen.append(entry)
            left -= sizes[entry.file]
        return chosen

    return choose


def choice_of(folder: GamesFolder, keep_generations: int | None, keep_gb: float | None) -> Choice:
    """What is to be deleted of a folder.

    Raises ConfigError where not exactly one of the two is given, or there are no generations.
    """
    if (keep_generations is None) == (keep_gb is None):
        raise ConfigError("give --keep-generations or --keep-gb: one of the two")
    if keep_gb is not None:
        return down_to(keep_gb * GB)
    if not folder.generation:
        raise ConfigError(f"{folder.path} has no generations, for no training plays: use --keep-gb")
    end = Manifest(folder.path, must_exist=True).segments.span[1]
    newest = -(-end // folder.generation)
    return before_game((newest - (keep_generations or 0)) * folder.generation)


def _pruned(manifest: Manifest, choose: Choice, needed: int) -> tuple[Pruned, list[ShardEntry]]:
    entries = sorted(manifest.entries, key=lambda entry: entry.age_span)
    sizes = {entry.file: _size(manifest.folder / entry.file) for entry in entries}
    chosen = choose(entries, sizes)
    old = [entry for entry in chosen if entry.age_span[1] <= needed]
    num_bytes = sum(sizes[entry.file] for entry in old)
    num_games = sum(entry.stats.games for entry in old)
    left = sum(sizes.values()) - num_bytes
    return Pruned(num_games, len(old), num_bytes, left, len(old) < len(chosen)), old


def _size(path: Path) -> int:
    """Bytes of a listed shard; 0 where it is gone."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise FileUnreadable(f"cannot look at {path}: {error.strerror}") from None
