"""TensorBoard's values of progress matches."""

from typing import Any

import pytest

from vecchess.train.train_reporter import plotted_match


def match(player: str, opponent: str) -> dict[str, Any]:
    return {"player": player, "opponent": opponent, "elo": 12.5, "score": 0.52, "games": 100}


@pytest.mark.parametrize(("player", "opponent"), [("policy", "random"), ("gumbel 16", "greedy")])
def test_each_pairing_has_tags_of_its_own(player: str, opponent: str) -> None:
    name = f"{player}-{opponent}".replace(" ", "_")
    wanted = {f"elo/{name}": 12.5, f"score/{name}": 0.52}
    assert plotted_match(match(player, opponent), best="gumbel 16") == wanted


def test_the_strongest_player_against_random_moves_is_the_networks_elo() -> None:
    assert plotted_match(match("gumbel 16", "random"), best="gumbel 16")["elo"] == 12.5
    assert plotted_match(match("policy", "random"), best="policy")["elo"] == 12.5
