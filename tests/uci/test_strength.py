"""Weaker play on demand."""

from vecchess.config import UciConfig
from vecchess.config.uci_settings import LEAST_ELO, MOST_ELO
from vecchess.uci.time_manager import LADDER, limited_sims, sims_for


def test_full_strength_has_no_limit() -> None:
    assert limited_sims(UciConfig(elo=LEAST_ELO)) is None
    assert limited_sims(UciConfig(limit_strength=True, analyse_mode=True)) is None


def test_the_ladder_covers_the_range_of_the_option() -> None:
    ratings = [rating for rating, _ in LADDER]
    assert (ratings[0], ratings[-1]) == (LEAST_ELO, MOST_ELO)
    assert ratings == sorted(ratings)


def test_more_rating_takes_more_simulations() -> None:
    assert [sims_for(rating) for rating, _ in LADDER] == [sims for _, sims in LADDER]
    sims = [sims_for(elo) for elo in range(LEAST_ELO, MOST_ELO + 1)]
    assert sims == sorted(sims)
    assert limited_sims(UciConfig(limit_strength=True, elo=MOST_ELO)) == LADDER[-1][1]
