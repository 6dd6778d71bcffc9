import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.games import made_up, same
from vecchess.errors import DataError
from vecchess.store.records import SEARCH_COLUMNS, WITNESS_COLUMNS, GameRecords, concatenate
from vecchess.store.stats import GameStats


@given(st.permutations(range(12)), st.integers(1, 11))
def test_the_digest_does_not_depend_on_order_or_split(order: list[int], cut: int) -> None:
    games = made_up(list(range(12)), nets=("a" * 64, "b" * 64))
    mixed = games.take(np.array(order))
    parts = [mixed.take(np.arange(cut)), mixed.take(np.arange(cut, 12))]
    assert concatenate(parts).digest() == games.digest()
    assert same(concatenate(parts).by_number(), games)


@pytest.mark.parametrize(
    "column",
    ["action", "steps", "win", "draw", "prob", "result", "numbers", *SEARCH_COLUMNS],
)
def test_the_digest_sees_every_column(column: str) -> None:
    games = made_up(list(range(5)))
    digest = games.digest()
    getattr(games, column)[3] += 1
    assert games.digest() != digest


@pytest.mark.parametrize("column", ["visits", "full", "thought"])
def test_the_digest_sees_a_single_search(column: str) -> None:
    games = made_up(list(range(5)), searched=False)
    digest = games.digest()
    getattr(games, column)[3] = 1
    assert games.digest() != digest


@pytest.mark.parametrize("column", WITNESS_COLUMNS)
def test_the_digest_is_that_of_the_games_whoever_bears_witness(column: str) -> None:
    games = made_up(list(range(5)))
    digest = games.digest()
    getattr(games, column)[3] += 1
    assert games.digest() == digest


def test_games_without_search_keep_their_digest() -> None:
    """The one they had before records knew of searches: of these columns in this order."""
    games = made_up(list(range(5)), nets=("a" * 64, "b" * 64), searched=False)
    names = "numbers start result termination resign offsets action steps win draw prob"
    digest = hashlib.sha256()
    for name in (*names.split(), "span_offsets", "span_ply"):
        digest.update(getattr(games, name).tobytes())
    digest.update("".join(games.nets[net] for net in games.span_net).encode())
    assert games.digest() == digest.hexdigest()


def test_targets_follow_their_games() -> None:
    games = made_up(list(range(6)))
    order = [4, 0, 5]
    taken = games.take(np.array(order))
    taken.validate()
    assert targets_of(taken) == [target for game in order for target in targets_of(games, game)]
    assert targets_of(concatenate([taken, games])) == targets_of(taken) + targets_of(games)


def targets_of(games: GameRecords, game: int | None = None) -> list[list[tuple[int, int]]]:
    """The targets of all plies, or of one game's."""
    plies = range(len(games.action)) if game is None else range(*games.offsets[game : game + 2])
    moves = list(zip(games.target_action.tolist(), games.target_prob.tolist(), strict=True))
    return [moves[slice(*games.target_offsets[ply : ply + 2])] for ply in plies]


def test_the_digest_sees_the_network() -> None:
    assert made_up([1], nets=("a" * 64,)).digest() != made_up([1], nets=("b" * 64,)).digest()


@pytest.mark.parametrize(
    "column",
    [
        *("action", "start", "offsets", "span_net", "span_offsets", "termination"),
        *(*SEARCH_COLUMNS, *WITNESS_COLUMNS),
    ],
)
def test_columns_that_do_not_fit_are_refused(column: str) -> None:
    games = made_up(list(range(5)))
    object.__setattr__(games, column, getattr(games, column)[:-1])
    with pytest.raises(DataError):
        games.validate()


@pytest.mark.parametrize("column", ["offsets", "span_offsets", "target_offsets"])
def test_offsets_that_do_not_ascend_are_refused(column: str) -> None:
    games = made_up(list(range(5)))
    getattr(games, column)[2] = getattr(games, column)[-1] + 1
    with pytest.raises(DataError, match=f'"{column}" does not ascend'):
        games.validate()


def test_statistics_add_up() -> None:
    games = made_up(list(range(50)))
    total = GameStats()
    for part in (games.take(np.arange(20)), games.take(np.arange(20, 50))):
        total.add(GameStats.of(part))
    assert total == GameStats.of(games)
    assert total.white_wins + total.draws + total.black_wins == total.games == 50
    assert sum(total.terminations.values()) == sum(total.lengths.values()) == 50
    assert total.plies == games.lengths.sum()
    assert sum(total.time_steps.values()) == (games.steps > 0).sum()
    assert total.searched_plies == (games.visits > 0).sum()
    assert total.mean_visits == games.visits[games.visits > 0].mean()
    assert 0 < total.full_searches == games.full.sum() < total.searched_plies
    assert GameStats.of(made_up([1], searched=False)).mean_visits == 0


def test_wrong_resignations_are_counted() -> None:
    games = made_up(list(range(5)))
    games.resign[:] = [1 | 2, 1 | 2, 1 | 4, 2, 1]  # the fourth really resigned, the last never
    games.result[:] = [1, -1, 0, -1, 0]
    stats = GameStats.of(games)
    assert (stats.resign_checks, stats.resign_false_positives) == (3, 2)
