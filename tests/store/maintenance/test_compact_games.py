"""Compaction keeps every game, bit by bit, whatever happens meanwhile."""

import shutil
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.store.games import same
from tests.store.maintenance.made import (
    add_shard,
    digest,
    files,
    killed_at,
    listed,
    made_run,
    shards_by_number,
)
from vecchess.errors import DataError, DiskFull, FileBusy
from vecchess.selfplay.supervisor.game_ledger import GameLedger
from vecchess.store.id_set import IdSet
from vecchess.store.maintenance import compact_games, rewrite
from vecchess.store.maintenance.compact_games import compact, small_groups
from vecchess.store.maintenance.prune_games import before_game, prune
from vecchess.store.maintenance.rewrite import finish_rewriting, rewriting
from vecchess.store.maintenance.verify_games import verify
from vecchess.store.manifest import Manifest
from vecchess.store.run_folder import RunFolder
from vecchess.train.data.replay_window import ManifestShards, ReplayWindow

pytestmark = pytest.mark.plain


def compacted(run: RunFolder, shard_games: int = 8, generation: int = 0) -> list[str]:
    said: list[str] = []
    compact(run.manifest(), run.run_id, shard_games, generation, said.append)
    return said


def is_good(run: RunFolder) -> bool:
    found = verify(run.games, run.run_id)
    return found.verdict == "good" and not found.unlisted and not found.set_aside


def test_games_are_the_same_bits_in_fewer_shards(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")
    before, stats = shards_by_number(run), run.manifest().stats
    assert compacted(run) == []
    assert same(shards_by_number(run), before)
    assert shards_by_number(run).nets == before.nets
    assert run.manifest().stats == stats
    entries = run.manifest().entries
    assert [entry.stats.games for entry in entries] == [9, 9, 9, 9]
    for entry in entries:
        numbers = run.manifest().shard(entry).read().numbers
        assert numbers.tolist() == sorted(numbers.tolist())
    assert files(run) == {"manifest.jsonl"} | {entry.file for entry in entries}
    assert is_good(run)
    assert compacted(run) == []
    assert run.manifest().entries == entries, "large shards stay as they are"


def test_generations_stay_apart(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")
    compacted(run, shard_games=100, generation=12)
    spans = [entry.ids.span for entry in run.manifest().entries]
    assert spans == [(0, 12), (12, 24), (24, 36)]


def test_shards_whose_unfinished_games_are_kept_stay(tmp_path: Path) -> None:
    """A training goes on with these games, and finds them by the name of the shard."""
    run = made_run(tmp_path / "run", num_shards=6)
    manifest = run.manifest()
    entries = [replace(entry, cut="c" * 64) for entry in manifest.entries]
    manifest.replace(entries)
    run.cuts.mkdir()
    for entry in entries[3:]:
        (run.cuts / entry.file).touch()
    compacted(run, shard_games=100, generation=18)
    first, *others = run.manifest().entries
    assert (first.segments, first.cut) == (IdSet([(0, 9)]), "")
    assert others == entries[3:]


def test_groups_are_of_small_neighbours(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", num_shards=3)
    add_shard(run, "large.npz", list(range(20, 40)))
    add_shard(run, "last.npz", [50])
    groups = list(small_groups(run.manifest().entries, 6, 0))
    assert [[entry.stats.games for entry in group] for group in groups] == [[3, 3], [3, 1]]


def test_a_run_writes_and_a_training_reads_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both hold the list of shards that was valid before, and go on with it."""
    run = made_run(tmp_path / "run")
    writer, source = run.manifest(), ManifestShards(run.games)
    parts = source.parts(0, 36)
    write = compact_games.write_shard

    def write_beside(*arguments: Any) -> str:
        number = len(run.manifest().ids)
        name = f"0001-000-abcdef-{number:06d}.npz"
        writer.append(add_shard(run, name, [number], is_listed=False))
        return write(*arguments)

    monkeypatch.setattr(compact_games, "write_shard", write_beside)
    compacted(run)
    assert len(run.manifest().ids) == 40
    assert writer.refresh() or writer.entries == run.manifest().entries
    assert is_good(run)
    assert not parts[0].shard.path.exists()
    old = np.concatenate([part.read().numbers for part in parts])
    assert sorted(old.tolist()) == list(range(36))
    again = np.concatenate([part.read().numbers for part in source.parts(0, 36)])
    assert sorted(again.tolist()) == list(range(36))


@pytest.mark.thorough
@pytest.mark.parametrize("apart", [2, pytest.param(1, marks=pytest.mark.slow)])
def test_it_is_killed_at_each_of_its_steps(apart: int, tmp_path: Path) -> None:
    """Whatever access is the last: all games are there once, and the next compaction ends it."""
    origin = made_run(tmp_path / "origin", num_shards=5)
    before = digest(origin)
    for number in count(1, apart):
        run = RunFolder(tmp_path / f"run-{number}")
        shutil.copytree(origin.path, run.path)
        was_killed = killed_at(number, run.path, lambda run=run: compacted(run, 6))
        assert digest(run) == before
        assert verify(run.games, run.run_id).verdict == "good"
        GameLedger(run.manifest(), run.run_id).open(IdSet([(0, 15)]))
        assert not [name for name in files(run) if "aside" in name]
        compacted(run, 6)
        assert digest(run) == before
        assert files(run) == {"manifest.jsonl"} | listed(run)
        assert len(listed(run)) == 3
        if not was_killed:
            break
    assert number > 12


def test_a_run_that_starts_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", num_shards=4)
    before = digest(run)
    manifest = run.manifest()

    def fail() -> list[object]:
        (run.games / "compact-x-000000.npz").write_bytes(b"whole, but not listed")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rewrite.replace_shards(manifest, manifest.entries[:2], ["compact-x-000000.npz"], fail)
    assert "compact-x-000000.npz" in files(run)
    finish_rewriting(run.manifest())
    assert files(run) == {"manifest.jsonl"} | listed(run)
    assert digest(run) == before


def test_a_list_of_shards_from_before_reads_the_same_games(tmp_path: Path) -> None:
    """As an export holds it, or a replay. What is pruned is named."""
    run = made_run(tmp_path / "run")
    shards = run.manifest().shards
    before = [shard.read().by_number() for shard in shards]
    compacted(run)
    for shard, records in zip(shards, before, strict=True):
        assert not shard.path.exists()
        assert same(shard.read(), records)
    prune(run.manifest(), before_game(20), is_training=False)
    assert same(shards[-1].read(), before[-1])
    with pytest.raises(DataError, match=r"000001\.npz is gone: games 3 to 5 were pruned"):
        shards[1].read()


@pytest.mark.parametrize("step", ["write_shard", "write_atomically"])
def test_a_full_disk_leaves_everything_as_it_was(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = made_run(tmp_path / "run")
    before, had = digest(run), files(run)

    def refuse(*_: object) -> str:
        raise DiskFull("no room")

    place = compact_games if step == "write_shard" else rewrite
    monkeypatch.setattr(place, step, refuse)
    with pytest.raises(DiskFull):
        compacted(run)
    assert (digest(run), files(run)) == (before, had)


def test_one_compacts_at_a_time(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", num_shards=2)
    with rewriting(run.manifest()), pytest.raises(FileBusy, match="compacts or prunes"):
        compacted(run)
    compacted(run)
    assert len(listed(run)) == 1


def test_a_damaged_shard_stays_as_it_is(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", num_shards=4)
    bad = run.games / run.manifest().entries[1].file
    bad.write_bytes(bad.read_bytes()[:-7])
    [line] = compacted(run, 100)
    assert line == f"{bad} is damaged, and stays as it is: its sha256 differs"
    assert bad.name in listed(run)
    assert len(listed(run)) == 2


def test_a_window_learns_from_the_same_positions(tmp_path: Path) -> None:
    """Games that can be played: a window reads a shard's moves."""
    from tests.store.games import walked
    from vecchess.store.manifest import ShardEntry
    from vecchess.store.shard import write_shard

    run = RunFolder(tmp_path / "run")
    run.create()
    games, _ = walked(12)
    for number in range(6):
        part = games.take(np.array([2 * number + 1, 2 * number]))
        name = f"0000-000-abcdef-{number:06d}.npz"
        sha256 = write_shard(run.games / name, part, run.run_id)
        entry = ShardEntry.of(name, sha256, part)
        Manifest(run.games).append(replace(entry, segments=entry.ids))
    window, later = (ReplayWindow(ManifestShards(run.games)) for _ in range(2))
    window.update(22, 10)
    compacted(run, 4)
    window.update(18, 10)  # it read the manifest before
    later.update(18, 10)
    assert window.num_positions == later.num_positions > 0
    places = np.arange(window.num_positions)
    for one, other in ((window, later),):
        rows = [
            [view._blocks[row].action[ply] for row, ply in zip(*view.find(places), strict=True)]
            for view in (one, other)
        ]
        assert rows[0] == rows[1]
