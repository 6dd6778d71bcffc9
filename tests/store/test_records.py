import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.games import made_up, same
from vecchess.errors import DataError
from vecchess.store.records import concatenate
from vecchess.store.stats import GameStats


@given(st.permutations(range(12)), st.integers(1, 11))
def test_the_digest_does_not_depend_on_order_or_split(order: list[int], cut: int) -> None:
    games = made_up(list(range(12)), nets=("a" * 64, "b" * 64))
    mixed = games.take(np.array(order))
    parts = [mixed.take(np.arange(cut)), mixed.take(np.arange(cut, 12))]
    assert concatenate(parts).digest() == games.digest()
    assert same(concatenate(parts).by_number(), games)


@pytest.mark.parametrize("column", ["action", "steps", "win", "draw", "prob", "result", "numbers"])
def test_the_digest_sees_every_column(column: str) -> None:
    games = made_up(list(range(5)))
    digest = games.digest()
    getattr(games, column)[3] += 1
    assert games.digest() != digest


def test_the_digest_sees_the_network() -> None:
    assert made_up([1], nets=("a" * 64,)).digest() != made_up([1], nets=("b" * 64,)).digest()


@pytest.mark.parametrize("column", ["action", "start", "offsets", "span_net", "termination"])
def test_columns_that_do_not_fit_are_refused(column: str) -> None:
    games = made_up(list(range(5)))
    object.__setattr__(games, column, getattr(games, column)[:-1])
    with pytest.raises(DataError):
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


def test_wrong_resignations_are_counted() -> None:
    games = made_up(list(range(5)))
    games.resign[:] = [1 | 2, 1 | 2, 1 | 4, 2, 1]  # the fourth really resigned, the last never
    games.result[:] = [1, -1, 0, -1, 0]
    stats = GameStats.of(games)
    assert (stats.resign_checks, stats.resign_false_positives) == (3, 2)
