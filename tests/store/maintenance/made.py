"""Folders of recorded games, and a kill of a process at each of its accesses to them."""

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from tests.faults.injector import Fault, Injector
from tests.store.games import walked
from vecchess.store.manifest import Manifest, ShardEntry
from vecchess.store.records import GameRecords, concatenate
from vecchess.store.run_folder import RunFolder
from vecchess.store.shard import write_shard


def add_shard(run: RunFolder, name: str, numbers: list[int], is_listed: bool = True) -> ShardEntry:
    """The line of a new shard of the run with random games; it is added to the manifest.

    Each game ended in the segment with its number, as if this were a training.
    """
    records, _ = walked(len(numbers), seed=sum(numbers), plies=12)
    records = replace(records, numbers=np.array(numbers, np.int64))
    entry = ShardEntry.of(name, write_shard(run.games / name, records, run.run_id), records)
    entry = replace(entry, segments=entry.ids)
    if is_listed:
        Manifest(run.games).append(entry)
    return entry


def made_run(path: Path, num_shards: int = 12, games: int = 3, config: str = "") -> RunFolder:
    """A run of small shards; within a shard games are in the order in which they ended."""
    run = RunFolder(path)
    run.create()
    run.config.write_text(f"games = {num_shards * games}\n{config}")
    for number in range(num_shards):
        first = number * games
        numbers = list(range(first, first + games))[::-1]
        add_shard(run, f"0000-000-abcdef-{number:06d}.npz", numbers)
    return run


def files(run: RunFolder) -> set[str]:
    """The files of games, without locks."""
    return {path.name for path in run.games.iterdir() if not path.name.endswith(".lock")}


def listed(run: RunFolder) -> set[str]:
    return {entry.file for entry in run.manifest().entries}


def digest(run: RunFolder) -> str:
    return run.records().digest()


def shards_by_number(run: RunFolder) -> GameRecords:
    return concatenate([shard.read() for shard in run.manifest().shards]).by_number()


def killed_at(number: int, folder: Path, body: Callable[[], object]) -> bool:
    """Run ``body`` in a forked process that is killed at its ``number``th access to a file below
    ``folder``; False where it came to its end before."""
    pid = os.fork()
    if pid == 0:
        try:
            Injector(Fault("kill", "any", number), str(folder)).install()
            body()
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    assert os.WIFEXITED(status) or os.WTERMSIG(status) == signal.SIGKILL
    assert not (os.WIFEXITED(status) and os.WEXITSTATUS(status)), "it failed by itself"
    return os.WIFSIGNALED(status)
