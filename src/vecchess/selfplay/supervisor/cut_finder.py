"""Finds the files with the games that a generation of a training left unfinished."""

from pathlib import Path
from typing import Protocol

from vecchess.runtime.atomic_write import remove_file
from vecchess.store.id_set import IdSet
from vecchess.store.manifest import Manifest
from vecchess.store.run_folder import RunFolder
from vecchess.store.seating import Seating


class CutSource(Protocol):
    """Says where the games lie with which segments go on."""

    def files_for(self, segments: IdSet) -> list[tuple[Path, str]]:
        """The files with the games that ``segments``, of one generation, go on with, and the sha256
        of each."""


class CutFinder:
    """The cuts of a run."""

    def __init__(self, run: RunFolder, manifest: Manifest, seating: Seating) -> None:
        """``manifest``: that of the run."""
        self._run, self._manifest, self._seating = run, manifest, seating

    def files_for(self, segments: IdSet) -> list[tuple[Path, str]]:
        """The files with the games that ``segments``, of one generation, go on with, as far as they
        are recorded, and the sha256 of each."""
        entries = self._manifest.entries_of(self._seating.before(segments))
        return [(self._run.cuts / each.file, each.cut) for each in entries if each.cut]


def remove_cuts(run: RunFolder, manifest: Manifest, first_needed: int) -> None:
    """Remove the cuts of segments before ``first_needed``, and those that are listed nowhere.

    ``manifest``: that of the run, up to its end. No worker may be writing.
    """
    entries = manifest.entries_of(IdSet([(first_needed, 1 << 62)]))
    kept = {entry.file for entry in entries if entry.cut}
    for path in run.cuts.glob("*"):
        if path.name not in kept:
            remove_file(path)
