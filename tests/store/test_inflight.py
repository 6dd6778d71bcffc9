"""Files of games in progress: the longest beginning counts, and damage costs nobody a game."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.store.games import made_up, same
from vecchess.chess.rules import Termination
from vecchess.errors import DataError
from vecchess.store.inflight import (
    InflightFolder,
    SavedGames,
    join_saved,
    read_games_of,
    read_saved,
)
from vecchess.store.records import GameRecords

pytestmark = pytest.mark.plain

NET, OTHER = "a" * 64, "b" * 64


def saved_games(numbers: list[int], seed: int = 0, net: str = NET) -> SavedGames:
    games = made_up(numbers, seed, (net,))
    most = np.maximum(games.win.astype(int) + games.draw - 511, 0)
    whole = replace(
        games,
        termination=np.full(len(numbers), Termination.ONGOING, np.uint8),
        draw=(games.draw - np.minimum(most, games.draw)).astype(np.uint16),
        win=np.minimum(games.win, 511).astype(np.uint16),
        prob=np.maximum(games.prob, np.float32(1e-6)),
    )
    draw = np.random.default_rng([seed, 2])
    turns = draw.integers(0, 5, (len(numbers), 3)).astype(np.uint8)
    return SavedGames(whole, turns[:, :2], turns[:, 2])


def beginnings(saved: SavedGames, plies: int) -> SavedGames:
    """The same games, each cut after so many plies, without searches."""
    records = saved.records
    lengths = np.minimum(records.lengths, plies)
    keep = np.concatenate(
        [np.arange(first, first + n) for first, n in zip(records.offsets, lengths, strict=False)]
    )
    columns = {
        name: getattr(records, name)[keep]
        for name in ("action", "steps", "win", "draw", "prob", "tag", "visits", "full", "thought")
    }
    cut = replace(
        records,
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        target_offsets=np.zeros(len(keep) + 1, np.int64),
        target_action=np.zeros(0, np.uint16),
        target_prob=np.zeros(0, np.uint16),
        **columns,
    )
    return replace(saved, records=cut)


def write(folder: Path, name: str, saved: SavedGames) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(saved.to_bytes())
    return folder / name


def test_what_is_saved_reads_back(tmp_path: Path) -> None:
    games = saved_games([3, 1, 7])
    back = read_saved(write(tmp_path, "a.npz", games))
    assert same(back.records, games.records)
    assert (back.low_turns == games.low_turns).all()
    assert (back.level_plies == games.level_plies).all()


def test_of_two_beginnings_the_longer_counts() -> None:
    games = saved_games([4, 2, 9], seed=1)
    short = beginnings(games, 3)
    joined = join_saved([short, games.take(np.array([0, 1])), short]).longest()
    assert joined.records.numbers.tolist() == [2, 4, 9]
    lengths = games.records.lengths
    assert joined.records.lengths.tolist() == [lengths[1], lengths[0], min(lengths[2], 3)]
    assert (joined.low_turns == games.low_turns[[1, 0, 2]]).all()


def test_only_games_that_are_wanted_come_back(tmp_path: Path) -> None:
    write(tmp_path, "a.npz", saved_games([1, 2, 3]))
    write(tmp_path, "b.npz", saved_games([4, 5], net=OTHER))
    (tmp_path / "c.npz").write_bytes(b"not a file of games")
    lines = list[str]()
    names = ["a.npz", "b.npz", "c.npz", "gone.npz"]
    found = read_games_of(tmp_path, names, [(2, 5)], NET, lines.append)
    assert found is not None
    assert found.records.numbers.tolist() == [2, 3]
    assert len(lines) == 2
    assert all("played from the start" in line for line in lines)
    assert read_games_of(tmp_path, ["b.npz"], [(0, 9)], NET, lines.append) is None


def test_a_folder_is_surveyed_and_tidied(tmp_path: Path) -> None:
    folder = InflightFolder(tmp_path / "inflight")
    folder.survey(())
    assert folder.holding([(0, 100)]) == []
    assert folder.count([(0, 100)]) == 0
    folder.drop(lambda numbers: True, ())

    write(folder.path, "dead.npz", saved_games([1, 2]))
    write(folder.path, "older.npz", saved_games([2, 3]))
    write(folder.path, "alive.npz", saved_games([8]))
    (folder.path / "bad.npz").write_bytes(b"PK")
    (folder.path / ".partial-dead.npz").write_bytes(b"PK")
    (folder.path / ".partial-alive.npz").write_bytes(b"PK")
    folder.survey({"alive"})
    assert folder.count([(0, 100)]) == 3
    assert folder.count([(2, 3), (8, 9)]) == 1
    assert folder.holding([(1, 2)]) == ["dead.npz"]
    assert folder.holding([(2, 4)]) == ["dead.npz", "older.npz"]
    assert folder.holding([(8, 9)]) == []

    folder.drop(lambda numbers: bool((numbers == 3).any()), {"alive"})
    left = sorted(path.name for path in folder.path.iterdir())
    assert left == [".partial-alive.npz", "alive.npz", "older.npz"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda r: replace(r, win=np.full_like(r.win, 512)),
        lambda r: replace(r, prob=np.zeros_like(r.prob)),
        lambda r: replace(r, prob=np.full_like(r.prob, np.nan)),
        lambda r: replace(r, span_offsets=r.span_offsets * 0, span_net=r.span_net[:0],
                          span_ply=r.span_ply[:0]),
    ],
)  # fmt: skip
def test_what_no_log_can_hold_is_refused(spoil, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    games = saved_games([1, 2])
    records: GameRecords = spoil(games.records)
    with pytest.raises(DataError):
        read_saved(write(tmp_path, "a.npz", replace(games, records=records)))


def test_columns_of_other_shapes_are_refused(tmp_path: Path) -> None:
    games = saved_games([1, 2])
    with pytest.raises(DataError, match="low_turns"):
        read_saved(write(tmp_path, "a.npz", replace(games, low_turns=games.low_turns[:1])))
