"""The first difference of two records of a game: found, and named by its ply."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.store.games import made_up
from vecchess.replay.compare_records import (
    GAME_NAMES,
    LENGTH,
    PLY_NAMES,
    START,
    TARGET,
    RecordChange,
    first_difference,
)
from vecchess.store.records import GAME_COLUMNS, PLY_COLUMNS, GameRecords, empty_fingerprint_columns


@pytest.fixture
def game() -> GameRecords:
    """Of 20 plies or more, most of them with a target."""
    game = made_up([7], seed=4)
    assert len(game.action) > 20
    assert np.diff(game.target_offsets)[:20].min() == 0 < np.diff(game.target_offsets)[18]
    return game


def changed(game: GameRecords, column: str, index: int, by: Any = 1) -> GameRecords:
    values = getattr(game, column).copy()
    values[index] += by
    return replace(game, **{column: values})


def test_every_column_is_compared() -> None:
    assert set(PLY_NAMES) == set(PLY_COLUMNS)
    assert set(GAME_NAMES) == set(GAME_COLUMNS) - {"numbers"}


def test_the_same_game(game: GameRecords) -> None:
    assert first_difference(game, game.take(np.array([0]))) is None


@pytest.mark.parametrize("column", PLY_NAMES)
def test_a_changed_ply_is_named(game: GameRecords, column: str) -> None:
    other = changed(changed(game, column, 11), column, 15)
    difference = first_difference(game, other)
    assert difference is not None
    assert (difference.game, difference.ply) == (7, 11)
    before = getattr(game, column)[11].item()
    assert difference.changes == (RecordChange(column, before, getattr(other, column)[11].item()),)


@pytest.mark.parametrize("column", ["target_action", "target_prob"])
@pytest.mark.parametrize("place", [0, -1])
def test_a_changed_target_is_named(game: GameRecords, column: str, place: int) -> None:
    entry = np.arange(*game.target_offsets[18:20])[place]
    difference = first_difference(game, changed(game, column, entry))
    assert difference is not None
    assert (difference.ply, [change.what for change in difference.changes]) == (18, [TARGET])


@pytest.mark.parametrize("ply", [0, 18])
def test_a_shorter_target_is_named(game: GameRecords, ply: int) -> None:
    ply += int(np.flatnonzero(np.diff(game.target_offsets)[ply:])[0])
    offsets = game.target_offsets.copy()
    offsets[ply + 1 :] -= 1
    entry = game.target_offsets[ply + 1] - 1
    kept = {
        name: np.delete(getattr(game, name), entry) for name in ("target_action", "target_prob")
    }
    other = replace(game, target_offsets=offsets, **kept)
    for one, two in ((game, other), (other, game)):
        difference = first_difference(one, two)
        assert difference is not None
        assert (difference.ply, [change.what for change in difference.changes]) == (ply, [TARGET])


def test_all_that_differs_at_a_ply_is_told(game: GameRecords) -> None:
    other = changed(changed(changed(game, "win", 5), "tag", 5), "action", 6)
    difference = first_difference(game, other)
    assert difference is not None
    assert (difference.ply, [change.what for change in difference.changes]) == (5, ["win", "tag"])


@pytest.mark.parametrize("column", GAME_NAMES)
def test_what_is_known_of_the_whole_game_counts(game: GameRecords, column: str) -> None:
    by = -1 if column == "termination" else 1
    difference = first_difference(game, changed(game, column, 0, np.array(by).astype(np.int8)))
    assert difference is not None
    assert difference.ply is None
    assert [change.what for change in difference.changes] == [column]


def test_a_game_that_goes_on(game: GameRecords) -> None:
    half = {name: getattr(game, name)[:20] for name in PLY_COLUMNS}
    entries = game.target_offsets[20]
    half |= {name: getattr(game, name)[:entries] for name in ("target_action", "target_prob")}
    shorter = replace(
        game, **half, target_offsets=game.target_offsets[:21], offsets=np.array([0, 20])
    )
    difference = first_difference(shorter, game)
    assert difference is not None
    assert (difference.ply, difference.changes) == (
        20,
        (RecordChange(LENGTH, 20, len(game.action)),),
    )


def test_another_start(game: GameRecords) -> None:
    difference = first_difference(game, changed(game, "start", 0, np.uint64(1)))
    assert difference is not None
    assert (difference.ply, difference.changes[0].what) == (0, START)


def test_hashes_that_nobody_recorded_are_not_compared(game: GameRecords) -> None:
    older = replace(game, **empty_fingerprint_columns(1, len(game.action)))
    assert first_difference(older, game) is None
    assert first_difference(game, older) is not None
    difference = first_difference(changed(older, "win", 3), game)
    assert difference is not None
    assert difference.ply == 3
