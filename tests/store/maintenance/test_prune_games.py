"""Pruning deletes the oldest games, keeps their numbers, and spares what a training reads."""

import shutil
from itertools import count
from pathlib import Path

import pytest

from tests.store.maintenance.made import files, killed_at, listed, made_run
from vecchess.errors import ConfigError, DataError
from vecchess.selfplay.supervisor.game_ledger import GameLedger
from vecchess.store.id_set import IdSet
from vecchess.store.maintenance.games_folder import GamesFolder
from vecchess.store.maintenance.prune_games import (
    ALL_GAMES,
    Pruned,
    before_game,
    choice_of,
    down_to,
    first_needed,
    prune,
    write_needed,
)
from vecchess.store.maintenance.verify_games import verify
from vecchess.store.run_folder import RunFolder
from vecchess.train.data.replay_window import ManifestShards

pytestmark = pytest.mark.plain


def pruned(run: RunFolder, first_kept: int) -> Pruned:
    return prune(run.manifest(), before_game(first_kept), is_training=False)


def test_pruned_games_stay_recorded(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")
    stats = run.manifest().stats
    done = pruned(run, 10)
    assert (done.games, done.shards, done.is_short) == (9, 3, False)
    manifest = run.manifest()
    assert (manifest.ids, manifest.pruned) == (IdSet([(0, 36)]), IdSet([(0, 9)]))
    assert manifest.stats == stats
    assert manifest.pruned_stats.games == 9
    assert files(run) == {"manifest.jsonl"} | listed(run)
    assert len(listed(run)) == 9
    found = verify(run.games, run.run_id)
    assert (found.verdict, found.games, found.pruned, found.gaps) == ("good", 27, 9, [])
    ledger = GameLedger(manifest, run.run_id)
    ledger.open(IdSet([(0, 40)]))
    assert ledger.missing == IdSet([(36, 40)])
    assert (ledger.num_recorded, ledger.stats) == (36, stats)
    assert pruned(run, 20).games == 9
    assert run.manifest().pruned == IdSet([(0, 18)])
    assert run.manifest().stats == stats


@pytest.mark.thorough
def test_it_is_killed_at_each_of_its_steps(tmp_path: Path) -> None:
    origin = made_run(tmp_path / "origin", num_shards=5)
    for number in count(1):
        run = RunFolder(tmp_path / f"run-{number}")
        shutil.copytree(origin.path, run.path)
        was_killed = killed_at(number, run.path, lambda run=run: pruned(run, 9))
        assert verify(run.games, run.run_id).verdict == "good"
        assert run.manifest().ids == IdSet([(0, 15)])
        ledger = GameLedger(run.manifest(), run.run_id)
        ledger.open(IdSet([(0, 15)]))
        assert ledger.is_complete
        assert files(run) == {"manifest.jsonl"} | listed(run)
        pruned(run, 9)
        assert run.manifest().pruned == IdSet([(0, 9)])
        if not was_killed:
            break
    assert number > 6


def test_a_dry_run_deletes_nothing(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")
    before = files(run)
    done = prune(run.manifest(), before_game(10), is_training=False, is_dry_run=True)
    assert (done.games, files(run)) == (9, before)
    assert done == pruned(run, 10)


def test_what_a_training_reads_is_spared(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")
    assert prune(run.manifest(), before_game(30), is_training=True).games == 0  # nothing is noted
    write_needed(run.games, 12)
    done = prune(run.manifest(), before_game(30), is_training=True)
    assert (done.games, done.is_short) == (12, True)
    parts = ManifestShards(run.games).parts(12, 36)
    assert sum(part.read().num_games for part in parts) == 24
    with pytest.raises(
        DataError, match="lacks 12 of the segments 0 to 35: were games of the window"
    ):
        ManifestShards(run.games).parts(0, 36)


def test_what_is_needed_is_read_back(tmp_path: Path) -> None:
    assert first_needed(tmp_path, is_training=False) == ALL_GAMES
    assert first_needed(tmp_path, is_training=True) == 0
    write_needed(tmp_path, 77)
    assert first_needed(tmp_path, is_training=True) == 77
    (tmp_path / "needed.json").write_text("[]")
    with pytest.raises(DataError, match=r"needed\.json is damaged"):
        first_needed(tmp_path, is_training=True)


def test_the_newest_stay_within_a_size(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")
    sizes = [(run.games / entry.file).stat().st_size for entry in run.manifest().entries]
    done = prune(run.manifest(), down_to(sum(sizes[-4:])), is_training=False)
    assert (done.shards, done.bytes_left) == (8, sum(sizes[-4:]))
    assert len(listed(run)) == 4
    assert prune(run.manifest(), down_to(sum(sizes)), is_training=False).shards == 0


def test_generations_are_counted_from_the_newest(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")
    folder = GamesFolder(run.games, run.run_id, generation=9)
    done = prune(run.manifest(), choice_of(folder, 2, None), is_training=False)
    assert run.manifest().pruned == IdSet([(0, 18)])
    assert done.games == 18
    for both in ((None, None), (1, 1.0)):
        with pytest.raises(ConfigError, match="one of the two"):
            choice_of(folder, *both)
    with pytest.raises(ConfigError, match="no generations"):
        choice_of(GamesFolder(run.games, run.run_id), 2, None)
