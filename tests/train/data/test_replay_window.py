"""The replay window: its content depends on the shards asked for, and bad shards are skipped."""

import hashlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.store.games import made_up
from tests.train.games import games, searched
from vecchess.bench.training_speed import made_up_searches
from vecchess.chess.rules import Termination
from vecchess.errors import ConfigError, DataError
from vecchess.store.id_set import IdSet
from vecchess.store.inflight import SavedGames
from vecchess.store.manifest import Manifest, ShardEntry
from vecchess.store.records import GameRecords, empty_search_columns, span_columns
from vecchess.store.run_folder import RunFolder
from vecchess.store.shard import write_shard
from vecchess.train.data import shard_block
from vecchess.train.data.replay_window import (
    GivenShards,
    ManifestShards,
    ReplayWindow,
    window_size,
)
from vecchess.train.data.samples import collate, empty_samples, make_samples
from vecchess.train.data.shard_block import ShardBlock, newest_plies, trainable_plies
from vecchess.train.data.value_targets import SampleRules

SHARDS = 6
POSITIONS = 10_000_000
LIMIT_KIB = 2 * 1024 * 1024
PROGRAM = """
import sys
import numpy as np
from pathlib import Path
from vecchess.train.data.samples import collate
from vecchess.train.data.samples import empty_samples
from vecchess.train.data.replay_window import GivenShards, ReplayWindow

place, wanted = Path(sys.argv[1]), int(sys.argv[2])
one = ReplayWindow(GivenShards([place]))
one.update(1)
copies = -(-wanted // one.num_positions)
window = ReplayWindow(GivenShards([place] * copies))
window.update(copies)
places = window.find(np.arange(0, wanted, wanted // 1000))
collate(window.table, *places, empty_samples(1000))
status = Path("/proc/self/status").read_text().splitlines()  # ru_maxrss has the parent's peak
print(window.num_positions, *(line.split()[1] for line in status if line.startswith("VmHWM")))
"""


@pytest.fixture(scope="module")
def records() -> GameRecords:
    return searched(games(2 * SHARDS))


@pytest.fixture
def parts(records: GameRecords) -> list[GameRecords]:
    return [records.take(np.arange(2 * i, 2 * i + 2)) for i in range(SHARDS)]


@pytest.fixture
def folder(tmp_path: Path, parts: list[GameRecords]) -> Path:
    games = tmp_path / "games"
    games.mkdir()
    manifest = Manifest(games)
    for index, part in enumerate(parts):
        sha256 = write_shard(games / f"{index}.npz", part)
        manifest.append(in_segments(ShardEntry.of(f"{index}.npz", sha256, part)))
    return games


def in_segments(entry: ShardEntry) -> ShardEntry:
    """The line of a training: each game ended in the segment with its number."""
    return replace(entry, segments=entry.ids)


def planes_of(window: ReplayWindow) -> np.ndarray:
    rows = empty_samples(window.num_positions)
    collate(window.table, *window.find(np.arange(window.num_positions)), rows)
    return rows.planes


def planes_in(parts: list[GameRecords]) -> np.ndarray:
    return np.concatenate([make_samples(part, trainable_plies(part)).planes for part in parts])


def test_everything_in_order(folder, parts) -> None:
    window = ReplayWindow(ManifestShards(folder))
    window.update(8)
    assert np.array_equal(planes_of(window), planes_in(parts[:4]))
    window.update(2 * SHARDS)
    assert np.array_equal(planes_of(window), planes_in(parts))
    window.update(10, 6)
    assert np.array_equal(planes_of(window), planes_in(parts[3:5]))
    with pytest.raises(DataError, match=r"lacks 2 of the segments 0 to 13"):
        window.update(14)


def test_the_shard_that_a_game_is_in_does_not_matter(records, folder, parts, tmp_path) -> None:
    other = tmp_path / "other/games"
    other.mkdir(parents=True)
    manifest = Manifest(other)
    order = np.array([7, 2, 11, 0, 9, 4, 1, 6, 3, 10, 5, 8])
    for index, taken in enumerate(np.split(order, [5, 6])):
        part = records.take(taken)
        sha256 = write_shard(other / f"{index}.npz", part)
        segments = IdSet([(4 * index, 4 * index + 4)])
        entry = ShardEntry.of(f"{index}.npz", sha256, part)
        manifest.append(replace(entry, segments=segments))
    window = ReplayWindow(ManifestShards(other))
    window.update(12)
    assert np.array_equal(planes_of(window), planes_in(parts))
    window.update(8, 4)
    assert np.array_equal(planes_of(window), planes_in([records.take(order[5:6])]))


def test_shards_may_be_joined_while_a_window_moves(records, folder, parts) -> None:
    """Another process rewrites the manifest; what is asked for are games, not files."""
    window, plain = ReplayWindow(ManifestShards(folder)), ReplayWindow(ManifestShards(folder))
    window.update(6, 2)
    sha256 = write_shard(folder / "joined.npz", records.take(np.arange(10)))
    joined = in_segments(ShardEntry.of("joined.npz", sha256, records.take(np.arange(10))))
    manifest = Manifest(folder)
    manifest.replace([joined, *manifest.entries[5:]])
    for index in range(5):
        (folder / f"{index}.npz").unlink()
    for end, first in ((10, 0), (12, 10), (12, 0)):
        window.update(end, first)
        plain.update(end, first)
        assert np.array_equal(planes_of(window), planes_of(plain))
    assert np.array_equal(planes_of(window), planes_in(parts))


def test_older_shards_are_dropped(folder, parts) -> None:
    grown, fresh = ReplayWindow(ManifestShards(folder)), ReplayWindow(ManifestShards(folder))
    for num in range(1, SHARDS + 1):
        grown.update(2 * num, max(2 * num - 4, 0))
        assert len(grown.table) == min(num, 2)
    fresh.update(2 * SHARDS, 2 * SHARDS - 4)
    assert np.array_equal(planes_of(grown), planes_of(fresh))


def test_a_damaged_shard_is_left_out_where_it_is(folder, parts) -> None:
    """It is in the manifest, so nothing renames it; it is reported once."""
    (folder / "1.npz").write_bytes(b"no shard")
    lines: list[str] = []
    window = ReplayWindow(ManifestShards(folder), report_line=lines.append)
    window.update(2 * SHARDS)
    good = [parts[i] for i in (0, 2, 3, 4, 5)]
    assert np.array_equal(planes_of(window), planes_in(good))
    assert (folder / "1.npz").read_bytes() == b"no shard"
    assert ["1.npz" in line for line in lines] == [True]
    window.update(10)
    window.update(2 * SHARDS)
    assert len(lines) == 1


def test_games_that_break_the_rules_are_left_out(folder, parts, records) -> None:
    bad = records.take(np.arange(2))
    bad = replace(bad, numbers=bad.numbers + 2 * SHARDS)
    bad.action[4] = 4671  # no game begins with such a promotion
    manifest = Manifest(folder)
    sha256 = write_shard(folder / "bad.npz", bad)
    manifest.append(in_segments(ShardEntry.of("bad.npz", sha256, bad)))
    lines: list[str] = []
    window = ReplayWindow(ManifestShards(folder), report_line=lines.append)
    window.update(2 * SHARDS + 2)
    assert len(window.table) == SHARDS
    assert "game 12: the move recorded at ply 4 is illegal" in lines[0]


def test_plies_to_learn_from(records) -> None:
    plies = trainable_plies(records)
    evaluated = (records.steps > 0) | (records.visits > 0)
    assert np.array_equal(plies, np.flatnonzero(evaluated))
    steps = records.steps.copy()
    first = slice(*records.offsets[1:3])
    steps[first] = 0
    visits = records.visits.copy()
    visits[first] = 0
    imported = GameRecords(**vars(records) | {"steps": steps, "visits": visits})
    plies = trainable_plies(imported)
    evaluated[first] = True
    assert np.array_equal(plies, np.flatnonzero(evaluated))


def test_plies_that_the_last_network_played(records) -> None:
    """On-policy objectives learn these, but for the last one of a game that goes on."""
    spans = [[(0, "a")] for _ in range(records.num_games)]
    for game, first in ((1, 10), (3, 7), (4, 0)):
        spans[game].append((first, "b"))
    goes_on = np.isin(np.arange(records.num_games), (0, 3, 4))
    ends = np.where(goes_on, Termination.ONGOING, records.termination).astype(np.uint8)
    told = replace(records, termination=ends, **span_columns(spans))
    asked = (records.steps > 0) | (records.visits > 0)
    wanted = [
        ply
        for game in range(records.num_games)
        for ply in range(
            records.offsets[game] + spans[game][-1][0], records.offsets[game + 1] - goes_on[game]
        )
        if asked[ply]
    ]
    assert newest_plies(told).tolist() == wanted
    assert ShardBlock.of(told, SampleRules(newest_only=True)).trainable.tolist() == wanted


def test_unfinished_games_are_learnt_from_beside_the_others(records, tmp_path) -> None:
    run = RunFolder(tmp_path / "run")
    run.create()
    run.cuts.mkdir()
    ended, waiting = records.take(np.arange(8)), records.take(np.arange(8, 12))
    waiting = replace(waiting, termination=np.zeros(4, np.uint8))
    saved = SavedGames(waiting, np.zeros((4, 2), np.uint8), np.zeros(4, np.uint8)).to_bytes()
    (run.cuts / "0.npz").write_bytes(saved)
    entry = ShardEntry.of("0.npz", write_shard(run.games / "0.npz", ended), ended)
    sha256 = hashlib.sha256(saved).hexdigest()
    run.manifest().append(replace(entry, segments=IdSet([(0, 4)]), cut=sha256))
    sources = [ManifestShards(run.games, unfinished) for unfinished in (True, False)]
    both, alone = (ReplayWindow(source, SampleRules(newest_only=True)) for source in sources)
    for window in (both, alone):
        window.update(4)
    assert alone.num_positions == len(newest_plies(ended))
    assert both.num_positions == alone.num_positions + len(newest_plies(waiting))
    assert np.array_equal(planes_of(both)[: alone.num_positions], planes_of(alone))


def test_places_lie_side_by_side(folder, parts, tmp_path) -> None:
    """So the last positions, which are held out, are the last of each place."""
    single = tmp_path / "one"
    single.mkdir()
    write_shard(single / "a.npz", parts[0])
    window = ReplayWindow(GivenShards([single, folder]))
    window.update(SHARDS + 1)
    blocks, plies = window.find(np.arange(window.num_positions))
    is_first = blocks == 0
    shares = [np.cumsum(of_place) / of_place.sum() for of_place in (is_first, ~is_first)]
    longest = max(int(part.lengths.max()) for part in parts)
    assert abs(shares[0] - shares[1]).max() <= longest / is_first.sum()
    assert (np.diff(plies[is_first]) > 0).all()
    assert np.array_equal(planes_of(window)[~is_first], planes_in(parts))


def test_places_that_a_user_names(folder, parts, tmp_path) -> None:
    (folder / "unlisted.npz").write_bytes(b"no shard")
    single = tmp_path / "one"
    single.mkdir()
    write_shard(single / "a.npz", parts[0])
    (single / "b.npz").write_bytes(b"no shard")
    source, lines = GivenShards([folder, single, single / "a.npz"]), []
    assert len(source) == SHARDS + 3
    window = ReplayWindow(source, report_line=lines.append)
    window.update(len(source))
    wanted = np.concatenate([planes_in(parts), *[planes_in(parts[:1])] * 2])
    assert np.array_equal(np.sort(planes_of(window), 0), np.sort(wanted, 0))
    assert len(lines) == 1
    assert (single / "b.npz").exists()
    (tmp_path / "empty").mkdir()
    for place in ("empty", "nowhere"):
        with pytest.raises(ConfigError, match=place):
            GivenShards([tmp_path / place])


def test_bytes_of_a_position_in_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
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
    no_leads = np.zeros(records.num_games, np.int64), np.zeros(num, np.int16)
    monkeypatch.setattr(shard_block, "_check", lambda _: no_leads)  # made up: moves are illegal
    block = shard_block.ShardBlock.of(records, SampleRules())
    assert len(block.trainable) == num
    num_bytes = sum(column.nbytes for column in vars(block).values())
    assert num_bytes / num * 10_000_000 < 1.3e9


@pytest.mark.slow
def test_ten_million_positions_take_less_than_two_gigabytes(tmp_path: Path) -> None:
    records = made_up_searches(games(64), 0)
    write_shard(tmp_path / "games.npz", records.take(np.arange(64)))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path), str(POSITIONS)],
        capture_output=True,
        text=True,
        check=True,
    )
    positions, resident_kib = map(int, done.stdout.split())
    assert positions >= POSITIONS
    assert resident_kib < LIMIT_KIB


def test_the_window_grows_as_a_power_law() -> None:
    assert window_size(0) == window_size(250_000) == 250_000
    assert window_size(1_000, scale=500) < 1_000
    sizes = [window_size(n) for n in (250_001, 2_500_000, 25_000_000, 250_000_000)]
    assert sizes == sorted(sizes)
    assert sizes[1] == round(250_000 * (1 + 0.4 * (10**0.75 - 1) / 0.75))
    growth = [window_size(n + 1000) - window_size(n) for n in range(250_000, 10**7, 10**6)]
    assert max(growth) <= 400
