"""Matches: who beats whom, and what a result rests on."""

import json
from typing import Any

import pytest

from vecchess.arena.match.play_match import MatchResult, num_concurrent, play_match
from vecchess.arena.player_protocol import MoveRequests, Player
from vecchess.arena.players.player_registry import PlayerResources, open_player
from vecchess.arena.players.simple import GreedyPlayer, RandomPlayer
from vecchess.config import MatchConfig, build
from vecchess.errors import ConfigError


def match(first: Player, second: Player, games: int, **settings: Any) -> MatchResult:
    return play_match(first, second, MatchConfig(games=games, **({"random_plies": 6} | settings)))


def test_random_against_random_is_even() -> None:
    result = match(RandomPlayer(1), RandomPlayer(2), 200)
    low, high = result.score.interval
    assert low < 0.5 < high
    assert high - low < 0.12
    facts = result.to_dict()
    assert facts["distinct_games"] == 200
    assert facts["distinct_openings"] == 100
    assert facts["mean_plies"] > 100


def test_greedy_beats_random() -> None:
    assert match(GreedyPlayer(), RandomPlayer(), 60).score.interval[0] > 0.6


def test_a_search_by_material_beats_random() -> None:
    player = open_player(
        "net:material?search=gumbel&sims=64&temperature=1", resources=PlayerResources(20)
    )
    result = match(player, RandomPlayer(), 20)
    assert result.score.losses == 0
    assert result.score.score > 0.9
    assert result.to_dict()["terminations"]["checkmate"] > 15


def timeless(result: MatchResult) -> dict[str, Any]:
    return {k: v for k, v in result.to_dict().items() if k not in ("seconds", "plies_per_s")}


def test_the_same_seed_gives_the_same_result_however_many_games_at_a_time() -> None:
    one, again = (match(GreedyPlayer(), RandomPlayer(), 20, seed=4, concurrency=c) for c in (0, 3))
    assert timeless(one) == timeless(again)
    assert json.loads(json.dumps(one.to_dict()))["games"] == 20
    assert timeless(match(GreedyPlayer(), RandomPlayer(), 20, seed=5)) != timeless(one)


def test_exchanged_players_exchange_the_score() -> None:
    one = match(GreedyPlayer(), RandomPlayer(), 20).score
    other = match(RandomPlayer(), GreedyPlayer(), 20).score
    assert one.score > 0.6 > 0.4 > other.score


class Recorder(RandomPlayer):
    """Keeps which games it moved in, and whether it was White."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.colours: dict[int, set[int]] = {}

    def ask(self, turns: MoveRequests) -> None:
        for game, ply in zip(turns.games.tolist(), turns.plies.tolist(), strict=True):
            self.colours.setdefault(game, set()).add(ply % 2)
        super().ask(turns)


@pytest.mark.parametrize("plies", [4, 5])
def test_both_have_both_colours_in_each_opening(plies: int) -> None:
    one, two = Recorder(1), Recorder(2)
    games = match(one, two, 16, random_plies=plies, max_plies=61).counter.games
    for pair in range(8):
        even, odd = games[2 * pair], games[2 * pair + 1]
        assert (even.moves[:plies] == odd.moves[:plies]).all()
        assert [even.number, odd.number] == [2 * pair, 2 * pair + 1]
        assert sorted(one.colours[even.number] | one.colours[odd.number]) == [0, 1]
        assert two.colours[even.number] == one.colours[odd.number]
        assert two.colours[odd.number] == one.colours[even.number]
    for game in games:
        assert game.first_is_white == (one.colours[game.number] == {0})
        assert game.opening_plies == plies


def test_as_many_games_at_a_time_as_suit_the_players() -> None:
    any_number, few, many = RandomPlayer(), RandomPlayer(), RandomPlayer()
    few.max_games, many.max_games = 3, 2048
    settings = MatchConfig(games=4000)
    assert num_concurrent(settings, any_number, any_number) == 256
    assert num_concurrent(settings, any_number, few) == 3
    assert num_concurrent(settings, many, many) == 2048
    assert num_concurrent(MatchConfig(games=4000, concurrency=9), many, any_number) == 9
    assert num_concurrent(MatchConfig(games=20), many, any_number) == 20


@pytest.mark.parametrize(
    "settings",
    [{"games": 3}, {"games": 0}, {"random_plies": -1}, {"max_plies": 10}],
)
def test_numbers_that_will_not_do(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        build(MatchConfig, settings)
