"""A run whose games take too much room deletes the oldest, and goes on."""

from pathlib import Path
from typing import Any

import pytest

from tests.selfplay.test_supervisor import Notes
from tests.store.maintenance.made import listed, made_run
from vecchess.config import GameConfig, SelfplayConfig
from vecchess.runtime.devices import CPU
from vecchess.selfplay.supervisor import disk_quota
from vecchess.selfplay.supervisor.disk_quota import DiskQuota
from vecchess.selfplay.supervisor.supervisor import Supervisor
from vecchess.store.id_set import IdSet
from vecchess.store.maintenance.compact_games import compact
from vecchess.store.maintenance.prune_games import write_needed
from vecchess.store.maintenance.rewrite import rewriting
from vecchess.store.maintenance.verify_games import verify
from vecchess.store.manifest import Manifest
from vecchess.store.run_folder import RunFolder


class Told:
    """What is reported and logged."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.events: list[dict[str, Any]] = []

    def log(self, event: str, **facts: Any) -> None:
        self.events.append({"event": event, **facts})


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.setattr(disk_quota, "INTERVAL_S", 0.0)
    return made_run(tmp_path / "run")


def size(run: RunFolder) -> int:
    return sum((run.games / name).stat().st_size for name in listed(run))


def quota(manifest: Manifest, keep_gb: float, told: Told) -> DiskQuota:
    return DiskQuota(manifest, keep_gb, told.lines.append, told.log)


def test_the_oldest_games_make_room(run: RunFolder) -> None:
    told, most = Told(), size(run) // 2
    manifest = run.manifest()
    kept = quota(manifest, most / 1e9, told)
    for _ in range(3):
        kept.enforce()
    assert 0.7 * most < size(run) <= most
    [event] = told.events
    assert event["event"] == "pruned"
    assert event["games"] == len(manifest.pruned) > 12
    assert manifest.ids == run.manifest().ids == IdSet([(0, 36)])
    assert told.lines == []


def test_without_a_quota_nothing_is_looked_at(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DiskQuota, "_num_bytes", lambda self: pytest.fail("it looked"))
    quota(run.manifest(), 0.0, Told()).enforce()


def test_what_a_training_reads_stays_and_is_reported_once(run: RunFolder) -> None:
    write_needed(run.games, 6)
    told = Told()
    kept = quota(run.manifest(), 1e-9, told)
    for _ in range(2):
        kept.enforce()
    assert run.manifest().pruned == IdSet([(0, 6)])
    [line] = told.lines
    assert line.endswith("the training still reads them")


def test_it_waits_for_another_that_rewrites(run: RunFolder) -> None:
    told = Told()
    kept = quota(run.manifest(), 1e-9, told)
    with rewriting(run.manifest()):
        kept.enforce()
    assert (told.events, len(listed(run))) == ([], 12)
    kept.enforce()
    assert len(listed(run)) == 0


@pytest.mark.thorough
def test_a_run_is_compacted_and_pruned_while_it_plays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its quota, and by another that compacts in between; resumed, it plays nothing again."""
    monkeypatch.setattr(disk_quota, "INTERVAL_S", 0.0)
    run, notes = RunFolder(tmp_path / "run"), Notes()
    run.create()
    config = SelfplayConfig(
        net="constant", shard_games=4, shard_interval_s=0.01, concurrent_games=8, keep_gb=3e-5,
        game=GameConfig(max_plies=20),
    )  # fmt: skip
    moved, damaged = 0, list[str]()

    def compact_now(supervisor: Supervisor) -> None:
        nonlocal moved
        if len(run.manifest().entries) > 4:
            moved += compact(run.manifest(), run.run_id, 16, 0, damaged.append).games

    notes.do = compact_now
    for games in (60, 100):
        with Supervisor(config, run, [CPU], notes) as supervisor:
            result = supervisor.play("constant", IdSet([(0, games)]))
        assert (result.stats.games, supervisor.assigner.restarts) == (games, 0)
    manifest = run.manifest()
    assert manifest.ids == IdSet([(0, 100)])
    assert 0 < len(manifest.pruned) < 100
    assert moved > 20
    assert (damaged, notes.deaths) == ([], [])
    found = verify(run.games, run.run_id)
    assert (found.verdict, found.unlisted, found.set_aside) == ("good", [], [])
