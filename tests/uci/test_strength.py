"""Weaker play on demand."""

import pytest

from vecchess.config import MATERIAL_NET, UciConfig
from vecchess.config.uci_settings import LEAST_ELO, MOST_ELO
from vecchess.uci.go_command import MATERIAL, NETWORK, Level, limit_of

LADDERS = {MATERIAL_NET: MATERIAL, "default": NETWORK}
RATINGS = range(LEAST_ELO, MOST_ELO + 1)


def level(net: str, elo: int) -> Level:
    found = limit_of(UciConfig(net=net, limit_strength=True, elo=elo))
    assert found
    return found


def test_full_strength_has_no_limit() -> None:
    assert limit_of(UciConfig(elo=LEAST_ELO)) is None
    assert limit_of(UciConfig(limit_strength=True, analyse_mode=True)) is None


def test_the_option_covers_all_that_was_measured() -> None:
    ratings = [step.elo for ladder in LADDERS.values() for step in ladder]
    assert (min(ratings), max(ratings)) == (LEAST_ELO, MOST_ELO)


@pytest.mark.parametrize("net", LADDERS)
def test_more_rating_takes_more_simulations_and_sharper_draws(net: str) -> None:
    assert [level(net, step.elo) for step in LADDERS[net]] == [*LADDERS[net]]
    levels = [level(net, elo) for elo in RATINGS]
    for place in range(3):
        values = [step[place] for step in levels]
        assert values == sorted(values)


@pytest.mark.parametrize("net", LADDERS)
def test_ratings_that_were_not_measured_mean_the_nearest(net: str) -> None:
    assert level(net, LEAST_ELO) == LADDERS[net][0]
    assert level(net, MOST_ELO) == LADDERS[net][-1]
