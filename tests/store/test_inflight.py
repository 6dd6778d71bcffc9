"""Files of games in progress: what comes back, what counts, and what goes."""

import errno
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.store.games import made_up, same
from vecchess.errors import DataError, FileUnreadable
from vecchess.runtime import retried_read
from vecchess.shapes import MAX_MOVES
from vecchess.store import inflight, shard
from vecchess.store.id_set import IdSet
from vecchess.store.inflight import (
    InflightFolder,
    SavedGames,
    join_saved,
    read_saved,
    read_saved_games,
)
from vecchess.store.records import PLY_COLUMNS, VALUE_UNIT, empty_search_columns
from vecchess.store.shard import read_shard, write_shard

pytestmark = pytest.mark.plain

NET, OTHER = "a" * 64, "b" * 64


def saved(numbers: list[int], seed: int = 0, nets: tuple[str, ...] = (NET,)) -> SavedGames:
    """Made-up games with values and probabilities as logs hold them."""
    games, draw = made_up(numbers, seed, nets), np.random.default_rng([seed, 2])
    most = VALUE_UNIT - games.win
    games = replace(
        games,
        draw=np.minimum(games.draw, most).astype(np.uint16),
        prob=np.maximum(games.prob, 1 / 256).astype(np.float32),
    )
    low = draw.integers(0, 9, (len(numbers), 2)).astype(np.uint8)
    return SavedGames(games, low, draw.integers(0, 9, len(numbers)).astype(np.uint8))


def beginnings(games: SavedGames, plies: int) -> SavedGames:
    """The same games, each cut after so many plies, without searches."""
    records = games.records
    lengths = np.minimum(records.lengths, plies)
    is_kept = np.concatenate([np.arange(length) < plies for length in records.lengths])
    columns = {name: getattr(records, name)[is_kept] for name in PLY_COLUMNS}
    cut = replace(
        records,
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        **columns | empty_search_columns(int(lengths.sum())),
    )
    return replace(games, records=cut)


def require_same(one: SavedGames, other: SavedGames) -> None:
    assert same(one.records, other.records)
    assert one.low_turns.tolist() == other.low_turns.tolist()
    assert one.level_plies.tolist() == other.level_plies.tolist()


def test_what_is_saved_comes_back(tmp_path: Path) -> None:
    games = saved([4, 1, 9])
    (tmp_path / "0.npz").write_bytes(games.to_bytes())
    require_same(read_saved(tmp_path / "0.npz"), games)
    assert games.num_games == 3


def test_games_are_taken_and_joined_with_what_belongs_to_them() -> None:
    one, other = saved([4, 1, 9]), saved([7, 8], seed=1)
    joined = join_saved([one, other])
    assert joined.records.numbers.tolist() == [4, 1, 9, 7, 8]
    assert joined.level_plies.tolist() == [*one.level_plies, *other.level_plies]
    require_same(joined.take(np.array([3, 4])), other)
    require_same(joined.take(np.array([0, 1, 2])), one)


def test_of_two_beginnings_the_longer_is_taken() -> None:
    parts = [saved([4, 1, 9], seed) for seed in range(4)]
    longest = join_saved(parts).longest()
    assert longest.records.numbers.tolist() == [1, 4, 9]
    for row, place in enumerate((1, 0, 2)):
        lengths = [int(part.records.lengths[place]) for part in parts]
        assert longest.records.lengths[row] == max(lengths)
        best = parts[lengths.index(max(lengths))]
        assert longest.low_turns[row].tolist() == best.low_turns[place].tolist()
        assert longest.level_plies[row] == best.level_plies[place]
    assert saved([0, 5]).longest().records.numbers.tolist() == [0, 5]


def test_of_a_game_and_its_beginning_the_game_is_taken() -> None:
    games = saved([4, 2, 9], seed=1)
    short = beginnings(games, 3)
    longest = join_saved([short, games.take(np.array([0, 1])), short]).longest()
    lengths = games.records.lengths
    assert longest.records.numbers.tolist() == [2, 4, 9]
    assert longest.records.lengths.tolist() == [lengths[1], lengths[0], min(lengths[2], 3)]
    assert longest.low_turns.tolist() == games.low_turns[[1, 0, 2]].tolist()


def spoilt(**values: float) -> Callable[[SavedGames], SavedGames]:
    """Sets one ply of each of these columns."""

    def spoil(games: SavedGames) -> SavedGames:
        columns = {name: getattr(games.records, name).copy() for name in values}
        for name, value in values.items():
            columns[name][7] = value
        return replace(games, records=replace(games.records, **columns))

    return spoil


def with_a_long_target(games: SavedGames) -> SavedGames:
    sizes = np.diff(games.records.target_offsets)
    sizes[3] = MAX_MOVES + 1
    total = int(sizes.sum())
    records = replace(
        games.records,
        target_offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        target_action=np.zeros(total, np.uint16),
        target_prob=np.ones(total, np.uint16),
    )
    return replace(games, records=records)


def with_spans(ends: list[int], plies: list[int]) -> Callable[[SavedGames], SavedGames]:
    """Networks from these plies on, those of each game before ``ends``."""

    def spoil(games: SavedGames) -> SavedGames:
        records = replace(
            games.records,
            span_offsets=np.array([0, *ends], np.int64),
            span_net=np.zeros(len(plies), np.int32),
            span_ply=np.array(plies, np.int32),
        )
        return replace(games, records=records)

    return spoil


NO_GAME = "cannot be put back into a log"


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (spoilt(win=VALUE_UNIT, draw=1), "a win and a draw"),
        (spoilt(prob=0), NO_GAME),
        (spoilt(prob=1.01), "a probability"),
        (with_a_long_target, NO_GAME),
        (
            lambda games: replace(games, low_turns=games.low_turns[:, :1]),
            r'column "low_turns" has \(3, 1\), not \(3, 2\)',
        ),
        (
            lambda games: replace(games, low_turns=games.low_turns[:1]),
            r'column "low_turns" has \(1, 2\), not \(3, 2\)',
        ),
        (
            lambda games: replace(games, level_plies=games.level_plies[:2]),
            r'column "level_plies" has \(2,\), not \(3,\)',
        ),
        (with_spans([0, 0, 0], []), "played by no network"),
    ],
)
def test_what_fits_into_no_game_is_refused(
    tmp_path: Path, spoil: Callable[[SavedGames], SavedGames], reason: str
) -> None:
    (tmp_path / "0.npz").write_bytes(spoil(saved([4, 1, 9])).to_bytes())
    with pytest.raises(DataError, match=reason):
        read_saved(tmp_path / "0.npz")


def test_the_edges_of_what_fits_are_read(tmp_path: Path) -> None:
    games = saved([4])
    games.records.prob[:2] = 1, 1e-9
    games.records.win[3], games.records.draw[3] = VALUE_UNIT, 0
    (tmp_path / "0.npz").write_bytes(games.to_bytes())
    require_same(read_saved(tmp_path / "0.npz"), games)


def test_a_shard_is_no_file_of_games_in_progress(tmp_path: Path) -> None:
    write_shard(tmp_path / "0.npz", saved([4]).records)
    with pytest.raises(DataError, match='lacks the column "level_plies"'):
        read_saved(tmp_path / "0.npz")
    with pytest.raises(DataError, match="cannot read"):
        read_saved(tmp_path / "1.npz")


def any_number(numbers: np.ndarray) -> bool:
    return True


@pytest.fixture
def folder(tmp_path: Path) -> InflightFolder:
    """Workers 0, 1 and 2 left files; a fourth is no file, a fifth was half written."""
    for name, numbers in (("0", [1, 5]), ("1", [5, 12]), ("2", [20])):
        (tmp_path / f"{name}.npz").write_bytes(saved(numbers, seed=int(name)).to_bytes())
    (tmp_path / "3.npz").write_bytes(b"nothing of use")
    (tmp_path / ".partial-4.npz").write_bytes(b"half")
    return InflightFolder(tmp_path)


def test_files_of_workers_that_are_gone_are_found(folder: InflightFolder) -> None:
    assert folder.files_with(IdSet([(0, 100)])) == []  # nobody looked yet
    assert folder.count(IdSet([(0, 100)])) == 0
    folder.survey(any_number, ())
    assert folder.files_with(IdSet([(0, 100)])) == ["0.npz", "1.npz", "2.npz"]
    assert folder.files_with(IdSet([(5, 6)])) == ["0.npz", "1.npz"]
    assert folder.files_with(IdSet([(2, 5), (6, 12), (13, 20)])) == []
    assert folder.count(IdSet([(0, 100)])) == 4
    assert folder.count(IdSet([(0, 6), (20, 21)])) == 3
    first, second = (read_shard(folder.path / name).lengths for name in ("0.npz", "1.npz"))
    assert first[1] != second[0]
    assert folder.num_plies(IdSet([(0, 6)])) == first[0] + max(first[1], second[0])
    assert folder.num_plies(IdSet([(6, 10)])) == 0
    folder.survey(any_number, ("1", "2"))
    assert folder.files_with(IdSet([(0, 100)])) == ["0.npz"]
    assert folder.count(IdSet([(0, 100)])) == 2


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    folder = InflightFolder(tmp_path / "inflight")
    folder.survey(any_number, ())
    assert folder.files_with(IdSet([(0, 100)])) == []
    assert folder.count(IdSet([(0, 100)])) == 0


def test_what_nobody_needs_is_removed(
    folder: InflightFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, needed = list[str](), list[list[int]]()

    def spy(path: Path, run_id: str) -> shard.GameOutcomes:
        read.append(path.name)
        return shard.read_outcomes(path, run_id)

    def is_needed(numbers: np.ndarray) -> bool:
        needed.append(numbers.tolist())
        return 12 in numbers

    monkeypatch.setattr(inflight, "read_outcomes", spy)
    folder.survey(is_needed, ("2", "4"))
    assert needed == [[1, 5], [5, 12]]
    assert read == ["0.npz", "1.npz", "3.npz"], "each file is read once"
    left = sorted(path.name for path in folder.path.iterdir())
    assert left == [".partial-4.npz", "1.npz", "2.npz"]
    assert folder.files_with(IdSet([(0, 100)])) == ["1.npz"]
    folder.survey(is_needed, ("1", "2"))
    assert sorted(path.name for path in folder.path.iterdir()) == ["1.npz", "2.npz"]
    assert folder.files_with(IdSet([(0, 100)])) == []


def test_what_the_system_refuses_for_now_is_kept(
    folder: InflightFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where too many files are open, or a network disk is away for a moment."""
    before = sorted(folder.path.iterdir())

    def refuse(*_: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patch:
        patch.setattr(shard, "open_regular", refuse)
        patch.setattr(retried_read, "PAUSES_S", (0.0,))
        with pytest.raises(FileUnreadable, match=r"Too many open files .tried 2 times"):
            folder.survey(lambda numbers: False, ("4",))
    assert sorted(folder.path.iterdir()) == before
    folder.survey(any_number, ("4",))
    assert folder.files_with(IdSet([(0, 100)])) == ["0.npz", "1.npz", "2.npz"]


@pytest.mark.usefixtures("no_pauses")
def test_games_are_read_by_number_and_network(folder: InflightFolder) -> None:
    mixed = saved([30, 31, 32, 33], seed=3, nets=(NET, OTHER))
    (folder.path / "5.npz").write_bytes(mixed.to_bytes())
    said: list[str] = []
    names = ["0.npz", "1.npz", "3.npz", "5.npz", "9.npz"]
    found = read_saved_games(folder.path, names, IdSet([(2, 13), (30, 34)]), NET, said.append)
    assert found is not None
    ours = [
        30 + i for i, net in enumerate(mixed.records.span_net) if mixed.records.nets[net] == NET
    ]
    assert 0 < len(ours) < 4
    assert found.records.numbers.tolist() == [5, 12, *ours]
    left_out = "saved games are left out, and played from the start"
    assert [line.startswith(left_out) for line in said] == [True, True]  # 3 is damaged, 9 missing
    assert read_saved_games(folder.path, names, IdSet([(100, 200)]), NET, said.append) is None
    assert read_saved_games(folder.path, ["2.npz"], IdSet([(0, 99)]), OTHER, said.append) is None
    assert read_saved_games(folder.path, [], IdSet([(0, 99)]), NET, said.append) is None


def test_games_in_progress_of_another_run_are_left_alone(tmp_path: Path) -> None:
    file, said = tmp_path / "0.npz", list[str]()
    file.write_bytes(saved([4]).to_bytes("a" * 32))
    ours, others = InflightFolder(tmp_path, "a" * 32), InflightFolder(tmp_path, "b" * 32)
    for folder in (ours, others):
        folder.survey(any_number, ())
    assert ours.files_with(IdSet([(0, 9)])) == ["0.npz"]
    assert others.files_with(IdSet([(0, 9)])) == []
    others.survey(lambda numbers: False, ())
    ids, net = IdSet([(0, 9)]), NET
    assert read_saved_games(tmp_path, ["0.npz"], ids, net, said.append, "b" * 32) is None
    assert len(said) == 1
    assert "was written by another run" in said[0]
    assert read_saved_games(tmp_path, ["0.npz"], ids, net, said.append, "a" * 32) is not None
    ours.survey(lambda numbers: False, ())
    assert not file.exists()
