"""Conditions that hold for every run, under all faults."""

from collections.abc import Iterator

import numpy as np

from vecchess.errors import VecchessError
from vecchess.runtime.atomic_write import PARTIAL_PREFIX
from vecchess.store.manifest import Manifest
from vecchess.store.run_folder import RunFolder
from vecchess.store.stats import GameStats


def broken_invariants(run: RunFolder, num_games: int, digest: str) -> list[str]:
    """Violations in a complete run of the games 0 .. ``num_games``; empty where it is right.

    digest: of the same games played without faults (``GameRecords.digest``).
    """
    try:
        manifest = run.manifest()
        found = [*_numbers(run, num_games), *_files(run, manifest), *_counts(manifest)]
        if run.records().digest() != digest:
            found.append("the games differ from those played without faults")
    except VecchessError as error:
        return [str(error)]
    return found


def broken_in_progress(run: RunFolder, num_games: int) -> list[str]:
    """Violations in a run that is not complete: fewer conditions have to hold."""
    try:
        manifest = run.manifest()
        numbers = np.concatenate(
            [np.empty(0, np.int64), *(shard.read().numbers for shard in manifest.shards)]
        )
    except VecchessError as error:
        return [str(error)]
    found = [*_counts(manifest)]
    if len(np.unique(numbers)) < len(numbers):
        found.append("a game is recorded twice")
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < num_games:
        found.append("a game is recorded that is not of the run")
    return found


def _numbers(run: RunFolder, num_games: int) -> Iterator[str]:
    numbers = run.records().numbers
    missing = np.setdiff1d(np.arange(num_games), numbers)
    if len(missing):
        yield f"{len(missing)} games are lost, the first is {missing[0]}"
    if len(numbers) != len(np.unique(numbers)):
        yield f"{len(numbers) - len(np.unique(numbers))} games are recorded twice"


def _files(run: RunFolder, manifest: Manifest) -> Iterator[str]:
    listed = {entry.file for entry in manifest.entries}
    for path in sorted(run.games.iterdir()):
        if path.suffix == ".npz" and path.name not in listed:
            yield f"{path.name} is in no manifest"
    for path in sorted(run.path.rglob("*")):
        if path.name.startswith(PARTIAL_PREFIX) and path.parent != run.live:
            yield f"{path} is half written"
    if any(run.inflight.glob("*.npz")):
        yield "games in progress are saved, though all are recorded"


def _counts(manifest: Manifest) -> Iterator[str]:
    """Every counter of the manifest against the records it counts."""
    for entry, shard in zip(manifest.entries, manifest.shards, strict=True):
        if GameStats.of(shard.read()).to_dict() != entry.stats.to_dict():
            yield f"{entry.file} does not hold what its line counts"
