"""The window: what it holds depends on what is listed, and bad shards do not stop it."""

from pathlib import Path

import numpy as np
import pytest

from tests.store.games import made_up
from tests.train.games import games, searched
from vecchess.errors import ConfigError, DataError
from vecchess.store.manifest import Manifest, ShardEntry
from vecchess.store.records import GameRecords, empty_search_columns
from vecchess.store.shard import write_shard
from vecchess.store.stats import GameStats
from vecchess.train.data.collate import collate, make_samples
from vecchess.train.data.replay_window import GivenShards, ManifestShards, ReplayWindow
from vecchess.train.data.samples import empty_samples
from vecchess.train.data.shard_block import ShardBlock, trainable_plies

SHARDS = 6


@pytest.fixture(scope="module")
def records() -> GameRecords:
    return searched(games(2 * SHARDS))


@pytest.fixture
def parts(records: GameRecords) -> list[GameRecords]:
    return [records.take(np.arange(2 * i, 2 * i + 2)) for i in range(SHARDS)]


@pytest.fixture
def folder(tmp_path: Path, parts: list[GameRecords]) -> Path:
    manifest = Manifest(tmp_path)
    for index, part in enumerate(parts):
        sha256 = write_shard(tmp_path / f"{index}.npz", part)
        manifest.append(ShardEntry(f"{index}.npz", sha256, GameStats.of(part)))
    return tmp_path


def planes_of(window: ReplayWindow) -> np.ndarray:
    rows = empty_samples(window.num_positions)
    collate(window.table, *window.find(np.arange(window.num_positions)), rows)
    return rows.planes


def planes_in(parts: list[GameRecords]) -> np.ndarray:
    return np.concatenate([make_samples(part, trainable_plies(part)).planes for part in parts])


def test_everything_in_order(folder, parts) -> None:
    window = ReplayWindow(ManifestShards(folder))
    window.update(4)
    assert np.array_equal(planes_of(window), planes_in(parts[:4]))
    window.update(SHARDS)
    assert np.array_equal(planes_of(window), planes_in(parts))
    window.update(5, first_shard=3)
    assert np.array_equal(planes_of(window), planes_in(parts[3:5]))
    with pytest.raises(DataError, match="lists 6 shards, not 7"):
        window.update(7)


def test_in_which_shard_a_game_is_does_not_matter(records, folder, parts, tmp_path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    manifest = Manifest(other)
    order = np.array([7, 2, 11, 0, 9, 4, 1, 6, 3, 10, 5, 8])
    for index, taken in enumerate(np.split(order, [5, 6])):
        part = records.take(taken)
        sha256 = write_shard(other / f"{index}.npz", part)
        manifest.append(ShardEntry(f"{index}.npz", sha256, GameStats.of(part)))
    window = ReplayWindow(ManifestShards(other))
    window.update(3)
    assert np.array_equal(planes_of(window), planes_in(parts))


def test_what_is_left_out_is_let_go(folder, parts) -> None:
    grown, fresh = ReplayWindow(ManifestShards(folder)), ReplayWindow(ManifestShards(folder))
    for num in range(1, SHARDS + 1):
        grown.update(num, max(num - 2, 0))
        assert grown.num_shards == min(num, 2)
    fresh.update(SHARDS, SHARDS - 2)
    assert np.array_equal(planes_of(grown), planes_of(fresh))
    assert grown.nbytes == fresh.nbytes


def test_bad_shards_are_set_aside(folder, parts) -> None:
    (folder / "1.npz").write_bytes(b"no shard")
    (folder / "3.npz").unlink()
    said: list[str] = []
    window = ReplayWindow(ManifestShards(folder), report_line=said.append)
    window.update(SHARDS)
    good = [parts[i] for i in (0, 2, 4, 5)]
    assert np.array_equal(planes_of(window), planes_in(good))
    assert (folder / "1.npz.set-aside").exists()
    assert not (folder / "1.npz").exists()
    assert sorted("1.npz" in line for line in said) == [False, True]
    assert all("\n" not in line for line in said)
    window.update(5)
    window.update(SHARDS)
    assert len(said) == 2
    again = ReplayWindow(ManifestShards(folder), report_line=said.append)
    again.update(SHARDS)
    assert np.array_equal(planes_of(again), planes_in(good))
    assert sum("1.npz" in line for line in said) == 1


def test_games_that_break_the_rules_are_set_aside(folder, parts) -> None:
    bad = parts[0].take(np.arange(2))
    bad.action[4] = 4671  # no game begins with such a promotion
    manifest = Manifest(folder)
    sha256 = write_shard(folder / "bad.npz", bad)
    manifest.append(ShardEntry("bad.npz", sha256, GameStats.of(bad)))
    said: list[str] = []
    window = ReplayWindow(ManifestShards(folder), report_line=said.append)
    window.update(SHARDS + 1)
    assert window.num_shards == SHARDS
    assert "game 0: the move recorded at ply 4 is illegal" in said[0]


def test_what_is_learnt_from(records) -> None:
    plies = trainable_plies(records)
    judged = (records.steps > 0) | (records.visits > 0)
    assert np.array_equal(plies, np.flatnonzero(judged))
    asked_nobody = records.steps.copy()
    first = slice(*records.offsets[1:3])
    asked_nobody[first] = 0
    visits = records.visits.copy()
    visits[first] = 0
    imported = GameRecords(**vars(records) | {"steps": asked_nobody, "visits": visits})
    plies = trainable_plies(imported)
    judged[first] = True
    assert np.array_equal(plies, np.flatnonzero(judged))


def test_places_of_a_user(folder, parts, tmp_path) -> None:
    (folder / "unlisted.npz").write_bytes(b"no shard")
    single = tmp_path / "one"
    single.mkdir()
    write_shard(single / "a.npz", parts[0])
    (single / "b.npz").write_bytes(b"no shard")
    shelf, said = GivenShards([folder, single, single / "a.npz"]), []
    assert len(shelf) == SHARDS + 3
    window = ReplayWindow(shelf, report_line=said.append)
    window.update(len(shelf))
    assert np.array_equal(planes_of(window)[: len(planes_in(parts))], planes_in(parts))
    rest = planes_of(window)[len(planes_in(parts)) :]
    assert np.array_equal(np.sort(rest, 0), np.sort(np.tile(planes_in(parts[:1]), (2, 1)), 0))
    assert len(said) == 1
    assert (single / "b.npz").exists()
    (tmp_path / "empty").mkdir()
    for place in ("empty", "nowhere"):
        with pytest.raises(ConfigError, match=place):
            GivenShards([tmp_path / place])


def test_ten_million_positions_fit_in_two_gigabytes() -> None:
    """A target of 20 moves on every ply, 120 plies a game: bytes a position, by what is held."""
    games, plies = 64, 120
    made = made_up(list(range(games)), searched=False)
    num = games * plies
    columns = {name: np.resize(getattr(made, name), num) for name in ("action", "win", "draw")}
    columns |= {name: np.ones(num, getattr(made, name).dtype) for name in ("prob", "steps", "tag")}
    searches = empty_search_columns(num) | {
        "target_offsets": np.arange(num + 1) * 20,
        "target_action": np.zeros(num * 20, np.uint16),
        "target_prob": np.zeros(num * 20, np.uint16),
    }
    records = GameRecords(
        **vars(made) | columns | searches | {"offsets": np.arange(games + 1) * plies}
    )
    records.validate()
    block = ShardBlock.narrowed(records, 1.0)
    assert block.num_positions == num
    assert block.nbytes / num * 10_000_000 < 1.3e9
