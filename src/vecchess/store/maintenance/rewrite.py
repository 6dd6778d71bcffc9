"""Replaces shards that a manifest lists, while a run writes and others read.

    1. ``rewriting.json`` names the files that this may make superfluous, old and new ones.
    2. The new shards are written. They are in no manifest yet, and no run adopts them.
    3. The manifest is replaced, under the lock that its writers take for a line.
    4. The files named in 1 that the manifest does not list are removed, then ``rewriting.json``.

A process killed at any point leaves a manifest that is right; the next rewrite does step 4. Of
several processes one rewrites at a time. Readers that find a listed file gone read the manifest
again.

Decision 220.
"""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress

from vecchess.errors import DataError, FileBusy
from vecchess.runtime.atomic_write import (
    PARTIAL_PREFIX,
    remove_file,
    sync_directory,
    write_atomically,
)
from vecchess.runtime.file_lock import file_lock
from vecchess.runtime.retried_read import list_folder, retried
from vecchess.store.manifest import (
    JOURNAL_NAME,
    JOURNAL_SCHEMA,
    REWRITTEN_PREFIX,
    Manifest,
    ShardEntry,
    journal_names,
)

_LOCK_NAME = ".rewriting.lock"


def finish_rewriting(manifest: Manifest) -> None:
    """Remove what a killed rewrite left behind, unless another process rewrites the folder now."""
    with suppress(FileBusy), _alone(manifest):
        _remove_unlisted(manifest)


@contextmanager
def rewriting(manifest: Manifest) -> Iterator[None]:
    """Let this process alone change which shards ``manifest`` lists, with ``replace_shards``.

    What a killed rewrite left behind is removed first, and what a failed one leaves, after it.
    Raises FileBusy where another process rewrites it.
    """
    with _alone(manifest):
        _remove_unlisted(manifest)
        try:
            yield
        finally:
            _remove_unlisted(manifest)


@contextmanager
def _alone(manifest: Manifest) -> Iterator[None]:
    lock = manifest.folder / _LOCK_NAME
    with file_lock(lock, 0.0, "another vecchess, which compacts or prunes"):
        manifest.refresh()
        yield


def replace_shards(
    manifest: Manifest,
    old: Sequence[ShardEntry],
    new_names: Collection[str],
    write_new: Callable[[], Sequence[ShardEntry]],
    is_pruning: bool = False,
) -> None:
    """List what ``write_new`` returns in place of the entries ``old``, and remove their files.

    ``write_new`` writes shards with ``new_names``. is_pruning: the games of ``old`` that no new
    shard has count as recorded from now on, without a shard. Raises DataError where a file cannot
    be written or removed; the games are as before, or as after.
    """
    names = [*(entry.file for entry in old), *new_names]
    text = json.dumps({"schema": JOURNAL_SCHEMA, "files": names}) + "\n"
    write_atomically(manifest.folder / JOURNAL_NAME, text.encode())
    new = list(write_new())
    gone = {entry.file for entry in old}
    with manifest.locked():
        if missing := gone - {entry.file for entry in manifest.entries}:
            raise DataError(f"{manifest.path} does not list {min(missing)} any more: try again")
        manifest.replace(_spliced(manifest.entries, gone, new), old if is_pruning else ())
    _remove_unlisted(manifest)


def _spliced(
    entries: Sequence[ShardEntry], gone: Collection[str], new: Sequence[ShardEntry]
) -> list[ShardEntry]:
    """``entries`` with ``new`` where the first of those ``gone`` was."""
    place = next(index for index, entry in enumerate(entries) if entry.file in gone)
    rest = [entry for entry in entries[place:] if entry.file not in gone]
    return [*entries[:place], *new, *rest]


def _remove_unlisted(manifest: Manifest) -> None:
    """Remove the files of the journal that the manifest does not list, and the journal."""
    folder = manifest.folder
    partial = tuple(PARTIAL_PREFIX + name for name in (JOURNAL_NAME, REWRITTEN_PREFIX))
    for name in retried(list_folder, folder):
        if name.startswith(partial):
            remove_file(folder / name)
    if not (names := journal_names(folder)):
        return
    with manifest.locked():
        for name in names - {entry.file for entry in manifest.entries}:
            remove_file(folder / name)
        with suppress(OSError):
            sync_directory(folder)
        remove_file(folder / JOURNAL_NAME)
