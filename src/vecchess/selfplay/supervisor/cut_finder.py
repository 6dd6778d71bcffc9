"""Finds the files with the games that a generation of a training left unfinished."""

from collections.abc import Callable
from pathlib import Path

from vecchess.runtime.atomic_write import remove_file
from vecchess.store.id_set import IdSet
from vecchess.store.manifest import Manifest
from vecchess.store.run_folder import RunFolder
from vecchess.store.seating import Seating

FindCuts = Callable[[IdSet], list[tuple[Path, str]]]
"""Returns the files with the games that some segments, of one generation, go on with, and the
sha256 of each."""


def recorded_cuts(
    run: RunFolder, manifest: Manifest, seating: Seating, segments: IdSet
) -> list[tuple[Path, str]]:
    """What ``FindCuts`` returns, as far as it is recorded in ``manifest``, that of ``run``."""
    entries = manifest.entries_of(seating.before(segments))
    return [(run.cuts / each.file, each.cut) for each in entries if each.cut]


def remove_cuts(run: RunFolder, manifest: Manifest, first_needed: int) -> None:
    """Remove the cuts of segments before ``first_needed``, and those that are listed nowhere.

    ``manifest``: that of the run, up to its end. No worker may be writing.
    """
    entries = manifest.entries_of(IdSet([(first_needed, 1 << 62)]))
    kept = {entry.file for entry in entries if entry.cut}
    for path in run.cuts.glob("*"):
        if path.name not in kept:
            remove_file(path)
