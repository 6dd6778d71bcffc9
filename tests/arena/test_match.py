"""Matches: who beats whom, and what a result rests on."""

import json

import numpy as np
import pytest
from numpy.typing import NDArray

from vecchess.arena.boards import random_openings
from vecchess.arena.match import play_games, play_match, points_of_first
from vecchess.arena.players import open_player
from vecchess.arena.simple import GreedyPlayer, RandomPlayer
from vecchess.errors import ConfigError


def test_random_against_random_is_even() -> None:
    result = play_match(RandomPlayer(1), RandomPlayer(2), 200)
    low, high = result.score.interval
    assert low < 0.5 < high
    assert high - low < 0.1
    assert result.distinct_games == 200
    assert result.mean_plies > 100


def test_greedy_beats_random() -> None:
    result = play_match(GreedyPlayer(), RandomPlayer(), 60)
    assert result.score.interval[0] > 0.6


def test_a_search_by_material_beats_random() -> None:
    player = open_player("net:material?search=gumbel&sims=64&temperature=1", rows=20)
    result = play_match(player, RandomPlayer(), 20)
    assert result.score.losses == 0
    assert result.score.score > 0.9
    assert result.terminations["checkmate"] > 15


def test_the_same_seed_gives_the_same_result_and_sides_can_be_exchanged() -> None:
    one, again = (play_match(GreedyPlayer(), RandomPlayer(), 20, seed=4) for _ in range(2))
    assert one == again
    assert json.loads(json.dumps(one.to_dict()))["games"] == 20
    assert play_match(GreedyPlayer(), RandomPlayer(), 20, seed=5) != one


class Recorder(RandomPlayer):
    """Keeps which games it moved in, and whether it was White."""

    def choose(
        self,
        positions: NDArray[np.uint64],
        keys: NDArray[np.uint64],
        past: NDArray[np.uint64],
        games: NDArray[np.int64],
        plies: NDArray[np.int64],
    ) -> NDArray[np.uint16]:
        for game, ply in zip(games.tolist(), plies.tolist(), strict=True):
            COLOURS.setdefault((self.seed, game), set()).add(ply % 2)
        return super().choose(positions, keys, past, games, plies)


COLOURS: dict[tuple[int, int], set[int]] = {}


@pytest.mark.parametrize("plies", [4, 5])
def test_both_have_both_colours_in_each_opening(plies: int) -> None:
    COLOURS.clear()
    openings = random_openings(8, plies, 0, 60)
    boards = play_games((Recorder(1), Recorder(2)), openings)
    for pair in range(8):
        moves = boards.moves[:plies, [2 * pair, 2 * pair + 1]]
        assert (moves[:, 0] == moves[:, 1]).all()
        first, second = (COLOURS[1, game] for game in (2 * pair, 2 * pair + 1))
        assert sorted(first | second) == [0, 1]
        assert [COLOURS[2, 2 * pair], COLOURS[2, 2 * pair + 1]] == [second, first]
    white = boards.points_of_white()
    is_white = np.array([COLOURS[1, game] == {0} for game in range(16)])
    assert (points_of_first(boards, plies) == np.where(is_white, white, 1 - white)).all()


@pytest.mark.parametrize(("games", "plies"), [(3, 6), (0, 6), (2, 512), (2, -1)])
def test_numbers_that_will_not_do(games: int, plies: int) -> None:
    with pytest.raises(ConfigError):
        play_match(RandomPlayer(), RandomPlayer(), games, random_plies=plies)
