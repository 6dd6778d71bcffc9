"""A match of which every rank plays a share is the match that one would play."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

from tests.train.distributed.meeting import Meeting, on_all, stop
from vecchess.arena.match.play_match import play_match
from vecchess.arena.player_protocol import Player
from vecchess.arena.players.player_registry import NetPlayer
from vecchess.arena.players.simple import GreedyPlayer, RandomPlayer
from vecchess.config import MatchConfig, TrainConfig, build
from vecchess.errors import ConfigError
from vecchess.runtime.signals import StopSignals
from vecchess.spec import Spec
from vecchess.train.distributed.ranks import Ranks
from vecchess.train.training_matches import OpenPlayers, SharedMatch, own_players


@pytest.fixture
def ranks() -> Iterator[list[Ranks]]:
    meeting = Meeting()
    yield meeting.of(3, timeout_s=60.0)
    for one in meeting.ranks:
        stop(one)


def greedy_and_random() -> AbstractContextManager[tuple[Player, Player]]:
    return nullcontext((GreedyPlayer(), RandomPlayer(4)))


def shared(ranks: list[Ranks], config: MatchConfig, open_players: OpenPlayers) -> list[Any]:
    return on_all(ranks, lambda one: SharedMatch(config, open_players, one, StopSignals()).play())


def facts(result: Any) -> dict[str, Any]:
    times = ("seconds", "plies_per_s")
    return {name: fact for name, fact in result.to_dict().items() if name not in times}


@pytest.mark.parametrize("games", [2, 34])
def test_its_result_is_that_of_one_rank(ranks: list[Ranks], games: int) -> None:
    config = MatchConfig(games=games, random_plies=6, seed=4)
    with greedy_and_random() as players:
        wanted = facts(play_match(*players, config))
    assert [facts(result) for result in shared(ranks, config, greedy_and_random)] == [wanted] * 3


@pytest.mark.thorough
@pytest.mark.thorough
def test_a_test_is_decided_by_the_same_games(ranks: list[Ranks]) -> None:
    config = MatchConfig(games=400, random_plies=6, seed=4, sprt="-200,0", concurrency=4)
    with greedy_and_random() as players:
        alone = play_match(*players, config)
    assert alone.stopped_by == "sprt"
    for result in shared(ranks, config, greedy_and_random):
        assert result.stopped_by == "sprt"
        assert result.counter.facts() == alone.counter.facts()
        assert result.score == alone.score


def test_a_stop_on_one_rank_ends_it_on_all(ranks: list[Ranks]) -> None:
    config, stops = MatchConfig(games=4000, random_plies=6), [StopSignals() for _ in ranks]
    stops[1].request_stop("SIGTERM")
    results = on_all(
        ranks, lambda one: SharedMatch(config, greedy_and_random, one, stops[one.rank]).play()
    )
    assert (results, [each.reason for each in stops]) == ([None] * 3, ["SIGTERM"] * 3)


def test_a_player_that_cannot_be_opened_is_an_error_of_its_rank(ranks: list[Ranks]) -> None:
    def nothing() -> AbstractContextManager[tuple[Player, Player]]:
        raise ConfigError("no such player")

    (result,) = shared([Ranks.alone(ranks[0].device)], MatchConfig(games=2), nothing)
    assert isinstance(result, ConfigError)


@pytest.mark.parametrize(
    ("given", "held"),
    [
        ({"tree": {"search": "puct", "sims": 100}}, {}),
        ({"tree": {"cache_mb": 128}}, {}),
        ({"tree": {"c_scale": 0.25, "considered": 4}}, {"c_scale": 0.25, "considered": 4}),
        (
            {"tree": {"search": "puct", "policy_temperature": 1.6, "solve": False}},
            {"policy_temperature": 1.6, "solve": False},
        ),
        ({"exits": False}, {"exits": False}),
    ],
)
def test_matches_of_a_run_are_played_with_its_settings(
    given: dict[str, Any], held: dict[str, Any]
) -> None:
    config = build(TrainConfig, given)
    settings = [
        NetPlayer.of(Spec("net:default", given)).settings for given in own_players(config).values()
    ]
    exits = {"exits": False} if "exits" in held else {}
    searched = {"search": config.tree.search, "sims": config.tree.sims}
    assert settings == [exits, searched | held]
