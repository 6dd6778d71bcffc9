"""Finds the files with the games that a generation of a training left unfinished."""

from pathlib import Path
from typing import Protocol

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
    """The cuts of one machine, and of the run's other machines where it sees their folders."""

    def __init__(self, run: RunFolder, manifest: Manifest, seating: Seating) -> None:
        """``manifest``: this machine's. The others' are read when its own lacks something."""
        self._run, self._manifest, self._seating = run, manifest, seating

    def files_for(self, segments: IdSet) -> list[tuple[Path, str]]:
        """The files with the games that ``segments``, of one generation, go on with, as far as they
        are to be found, and the sha256 of each."""
        wanted = self._seating.before(segments)
        files, left = _cuts_in(self._run, self._manifest, wanted)
        for other in self._run.machines if left else ():
            if other.path != self._run.path and other.has_games:
                found, left = _cuts_in(other, other.manifest(), left)
                files += found
        return files


def _cuts_in(
    run: RunFolder, manifest: Manifest, wanted: IdSet
) -> tuple[list[tuple[Path, str]], IdSet]:
    """The files with the games that ``wanted`` segments left, and the segments that are missing."""
    entries = [each for each in manifest.entries_of(wanted) if each.cut]
    files = [(run.cuts / entry.file, entry.cut) for entry in entries]
    return files, wanted - IdSet.union(entry.segments for entry in entries)


def remove_cuts(run: RunFolder, first_needed: int) -> None:
    """Remove the cuts of segments before ``first_needed``, and those that no manifest lists.

    No worker may be writing.
    """
    entries = run.manifest().entries_of(IdSet([(first_needed, 1 << 62)]))
    kept = {entry.file for entry in entries if entry.cut}
    for path in run.cuts.glob("*"):
        if path.name not in kept:
            path.unlink(missing_ok=True)
