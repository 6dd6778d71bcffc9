"""Labels blended into recorded games, against dictionaries."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bench.learning import blend_labels
from bench.learning.blend_labels import blended

from tests.store.games import made_up, made_up_searches, same
from vecchess.errors import DataError
from vecchess.store.records import VALUE_UNIT, GameRecords
from vecchess.store.shard import NO_RUN, write_shard
from vecchess.store.sources import read_games


def labelled(games: GameRecords, seed: int) -> GameRecords:
    """The same games as another judge labelled them."""
    draw = np.random.default_rng(seed)
    plies = len(games.action)
    win = draw.integers(0, VALUE_UNIT + 1, plies)
    columns = {"win": win, "draw": draw.integers(0, VALUE_UNIT + 1 - win)}
    values = {name: column.astype(np.uint16) for name, column in columns.items()}
    return replace(games, **values, **made_up_searches(draw, plies))


def target_of(games: GameRecords, ply: int) -> dict[int, int]:
    moves = slice(*games.target_offsets[ply : ply + 2])
    codes, probs = games.target_action[moves].tolist(), games.target_prob[moves].tolist()
    return dict(zip(codes, probs, strict=True))


@pytest.mark.parametrize(("value", "policy"), [(0.0, 0.0), (1.0, 0.0), (0.25, 0.5), (1.0, 1.0)])
def test_shares_of_the_labels(value: float, policy: float) -> None:
    games = made_up([3, 4, 5], seed=1)
    labels = labelled(games, 2)
    found = blended(games, labels, value, policy)
    kept = (games.visits > 0) & (labels.visits > 0)
    assert kept.any()
    assert not kept.all()
    for ply, is_kept in enumerate(kept):
        if not is_kept:
            assert not found.visits[ply] + found.steps[ply]
            assert not target_of(found, ply)
            continue
        for name in ("win", "draw"):
            ours, theirs = (int(getattr(records, name)[ply]) for records in (games, labels))
            mean = value * theirs + (1 - value) * ours  # a draw gives way to a win rounded up
            assert -1 <= getattr(found, name)[ply] - mean <= 0.5
        assert found.win[ply] + found.draw[ply] <= VALUE_UNIT
        assert found.full[ply] == (games.full[ply] or (policy > 0 and labels.full[ply]))
        ours, theirs = target_of(games, ply), target_of(labels, ply)
        target = target_of(found, ply)
        wanted = set(theirs if policy else ()) | set(ours if policy < 1 else ())
        assert list(target) == sorted(wanted)
        for code in wanted:
            share = policy * theirs.get(code, 0) + (1 - policy) * ours.get(code, 0)
            assert abs(target[code] - share) <= 0.5


def test_games_without_labels_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    games = made_up([3, 4, 5, 9])
    for folder, name, chosen in (
        ("games", "0.npz", [0, 1]),
        ("games", "1.npz", [2, 3]),
        ("labels", "0.npz", [0, 1, 3]),
    ):
        (tmp_path / folder).mkdir(exist_ok=True)
        write_shard(tmp_path / folder / name, games.take(np.array(chosen)), NO_RUN)
    places = [str(tmp_path / name) for name in ("games", "labels")]
    command = ["blend", *places, "--value", "0", "--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", command)
    blend_labels.main()
    out = read_games([tmp_path / "out"]).by_number()
    assert out.numbers.tolist() == [3, 4, 9]
    monkeypatch.setattr(sys, "argv", [*command, "--policy", "1.5"])
    with pytest.raises(SystemExit) as ended:
        blend_labels.main()
    assert ended.value.code == 2
    assert "from 0 to 1" in capsys.readouterr().err


def test_a_shard_without_any_labels_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As where the labels number the games otherwise."""
    games = made_up([3, 4])
    for folder, chosen in (("games", 0), ("labels", 1)):
        (tmp_path / folder).mkdir()
        write_shard(tmp_path / folder / "0.npz", games.take(np.array([chosen])), NO_RUN)
    places = [str(tmp_path / name) for name in ("games", "labels", "out")]
    monkeypatch.setattr(sys, "argv", ["blend", *places[:2], "--out", places[2]])
    with pytest.raises(SystemExit) as ended:
        blend_labels.main()
    assert ended.value.code == 2
    assert f"no labels of the games in {tmp_path / 'games' / '0.npz'}" in capsys.readouterr().err


def test_labels_of_other_games_are_refused() -> None:
    games = made_up([3])
    with pytest.raises(DataError, match="other games"):
        blended(games, replace(games, action=games.action[::-1]), 1.0, 0.0)


def test_a_judge_that_agrees_changes_nothing() -> None:
    games = made_up([7, 8], seed=4)
    found = blended(games, games, 0.5, 0.5)
    searched = games.visits > 0
    assert np.array_equal(found.win[searched], games.win[searched])
    assert same(replace(found, win=games.win, draw=games.draw, steps=games.steps), games)
