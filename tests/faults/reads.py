"""Reads that fail at random points of a run's files: ``python -m tests.faults.reads --times N``.

In this process, on a copy of a small run each time: self-play is resumed (with shards of a lost
parent to adopt, and games in progress), a window of a training moves, the games are exported and
looked up. At a random one of the reads the disk refuses, for that read or for many. What is asked
for has to come as if nothing had been, or not at all, with one line; afterwards every game is
there once and no file was renamed. Prints one JSON object; exit code 3 where anything was wrong.
"""

import argparse
import itertools
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from tests.export.made import make_run, played
from tests.faults.injector import READ_POINTS, Fault, Injector
from vecchess.errors import VecchessError
from vecchess.export.game_source import ExportSource
from vecchess.export.pgn_export import export_pgn
from vecchess.replay.run_replay import RecordedGames
from vecchess.runtime import retried_read
from vecchess.selfplay.supervisor.game_ledger import GameLedger
from vecchess.store.id_set import IdSet
from vecchess.store.inflight import InflightFolder, SavedGames, read_saved_games
from vecchess.store.records import GameRecords
from vecchess.store.run_folder import RunFolder
from vecchess.store.shard import SET_ASIDE_SUFFIX, write_shard
from vecchess.train.data.replay_window import ManifestShards, ReplayWindow

ATTEMPTS = len(retried_read.PAUSES_S) + 1
ERRORS = ("eio", "estale", "emfile", "enoent", "eacces")
LASTING = (2, 3, ATTEMPTS, 10**9)
"""So many reads but one fail in a row; the last of them for good."""


@dataclass
class Tally:
    """What became of all points."""

    ended: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    doubled: int = 0
    set_aside: int = 0
    wrong: list[str] = field(default_factory=list)


class Subject:
    """A run of ``NUM`` games, and what it is asked."""

    def __init__(self, folder: Path) -> None:
        """Most shards are recorded, the last two are a lost parent's, two games are in progress."""
        self.records = played()
        self.num = self.records.num_games
        rows = np.array_split(np.arange(self.num), 6)
        self.run = make_run(folder, self.records, [part.tolist() for part in rows[:4]])
        manifest = self.run.manifest()
        manifest.replace([replace(entry, segments=entry.ids) for entry in manifest.entries])
        for index, part in enumerate(rows[4:], 4):
            records = self.records.take(part)
            write_shard(self.run.games / f"{index}.npz", records, self.run.run_id)
        begun = self.records.take(np.arange(2))
        columns = np.zeros((2, 2), np.uint8), np.zeros(2, np.uint8)
        saved = SavedGames(_renumbered(begun, self.num), *columns)
        self.run.inflight.mkdir()
        (self.run.inflight / "0000.npz").write_bytes(saved.to_bytes(self.run.run_id))

    def resume(self, run: RunFolder) -> str:
        """What a parent does before it plays."""
        ledger = GameLedger(run.manifest(), run.run_id)
        ledger.open(IdSet([(0, self.num + 2)]))
        inflight = InflightFolder(run.inflight, run.run_id)
        inflight.survey(ledger.has_missing, ())
        names, ids = inflight.files_with(ledger.missing), ledger.missing
        read_saved_games(run.inflight, names, ids, "", lambda line: None, run.run_id)
        return f"{ledger.num_recorded} {ledger.missing.ranges} {ledger.stats.to_dict()}"

    def train(self, run: RunFolder) -> str:
        """A window over all that is recorded, as it moves."""
        window, end = ReplayWindow(ManifestShards(run.games)), run.manifest().ids.span[1]
        counts = []
        for first, last in ((0, end // 2), (end // 3, end), (0, end)):
            window.update(last, first)
            counts.append(window.num_positions)
        return str(counts)

    def export(self, run: RunFolder) -> str:
        """A PGN file."""
        out = run.path / "games.pgn"
        export_pgn(ExportSource(run.path, report_line=lambda line: None), out)
        return out.read_text()

    def look_up(self, run: RunFolder) -> str:
        """All games, as for a replay."""
        games = RecordedGames(run, lambda line: None)
        return games.read(games.numbers).digest() + run.records(lambda line: None).digest()


def _renumbered(records: GameRecords, first: int) -> GameRecords:
    values = vars(records) | {"numbers": np.arange(first, first + records.num_games)}
    return GameRecords(**values)


def suffer(times: int, seed: int) -> dict[str, Any]:
    """So many points; returns the report."""
    tally, chance = Tally(), random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="vecchess-reads-") as name:
        folder = Path(name)
        subject = Subject(folder / "subject")
        asked = (subject.resume, subject.train, subject.export, subject.look_up)
        quiet = {ask.__name__: _quietly(subject, folder / "quiet", ask) for ask in asked}
        pauses = patch.object(retried_read, "PAUSES_S", (0.0,) * (ATTEMPTS - 1))
        with pauses:
            for _ in range(times):
                ask = chance.choice(asked)
                answer, num_reads = quiet[ask.__name__]
                point = chance.choice(sorted(point for point in num_reads if num_reads[point]))
                number, lasting = chance.randint(1, num_reads[point]), chance.choice(LASTING)
                fault = f"{chance.choice(ERRORS)} at {point} {number} for {lasting}"
                _one(subject, folder / "run", ask, fault, answer, tally)
    return {
        "schema": 1,
        "command": "python -m tests.faults.reads",
        "points": times,
        "ended": dict(sorted(tally.ended.items())),
        "games_lost": tally.lost,
        "games_doubled": tally.doubled,
        "wrongly_set_aside": tally.set_aside,
        "wrong": tally.wrong,
    }


Ask = Callable[[RunFolder], str]


def _quietly(subject: Subject, folder: Path, ask: Ask) -> tuple[str, dict[str, int]]:
    """The answer without a fault, and how many reads each point has."""
    run = _copy(subject, folder)
    faults = {point: _watch(Fault("eio", point, 10**9), run) for point in READ_POINTS}
    answer = ask(run)
    return answer, {point: _let_go(injector) for point, injector in faults.items()}


def _copy(subject: Subject, folder: Path) -> RunFolder:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(subject.run.path, folder)
    return RunFolder(folder)


_watching: list[Injector] = []


def _watch(fault: Fault, run: RunFolder) -> Injector:
    """Let a fault wait for its point; it lasts for so many reads of the run."""
    if not _watching:
        sys.addaudithook(_on_audit_event)
    injector = Injector(fault, str(run.path), itertools.count().__next__)
    _watching.append(injector)
    return injector


def _on_audit_event(event: str, arguments: tuple[Any, ...]) -> None:
    for injector in _watching:
        injector.on_audit_event(event, arguments)


def _let_go(injector: Injector) -> int:
    """The number of reads that it saw."""
    _watching.remove(injector)
    return injector.num_seen


def _one(subject: Subject, folder: Path, ask: Ask, fault: str, answer: str, tally: Tally) -> None:
    run = _copy(subject, folder)
    injector, wrong = _watch(Fault.parse(fault), run), list[str]()
    try:
        if ask(run) != answer:
            wrong.append("the answer is another one")
        ended = "as if nothing had been"
    except VecchessError as error:
        ended = "one line"
        if "\n" in str(error):
            wrong.append(f"several lines: {error}")
    except Exception as error:
        ended = "a traceback"
        wrong.append(f"{type(error).__name__}: {error}")
    _let_go(injector)
    tally.ended[f"{ask.__name__}: {ended}"] += 1
    try:
        if ask(run) != answer:
            wrong.append("the answer is another one afterwards")
        wrong += _broken(subject, run, tally)
    except Exception as error:
        wrong.append(f"afterwards {type(error).__name__}: {error}")
    tally.wrong += [f"{ask.__name__}, {fault}: {line}" for line in wrong]


def _broken(subject: Subject, run: RunFolder, tally: Tally) -> list[str]:
    """What is wrong with a run after a last resume."""
    subject.resume(run)
    shards = run.manifest().shards
    numbers = np.concatenate([shard.read().numbers for shard in shards])
    lost = len(np.setdiff1d(np.arange(subject.num), numbers))
    doubled = len(numbers) - len(np.unique(numbers))
    aside = len(list(run.path.rglob(f"*{SET_ASIDE_SUFFIX}")))
    tally.lost, tally.doubled = tally.lost + lost, tally.doubled + doubled
    tally.set_aside += aside
    found = [f"{lost} lost, {doubled} doubled, {aside} set aside"] if lost + doubled + aside else []
    if run.records().digest() != subject.records.digest():
        found.append("the games are others")
    return found


def main() -> int:
    """Suffer, and print what was seen."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    report = suffer(options.times, options.seed)
    print(json.dumps(report | {"seed": options.seed}))
    return 3 if report["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
