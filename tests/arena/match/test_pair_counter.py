"""What counts of the games of a match, in whatever order they end."""

import numpy as np

from vecchess.arena.match.pair_counter import PairCounter
from vecchess.arena.match_game import Forfeit, MatchGame
from vecchess.arena.ratings.sprt import Sprt
from vecchess.chess.chess960 import start_positions
from vecchess.chess.rules import Termination


def game(number: int, first_points: float, ending: int = Termination.CHECKMATE) -> MatchGame:
    is_white = number % 2 == 0
    moves = np.array([number, 2, 3], np.uint16)
    return MatchGame(
        number=number,
        start=start_positions(1)[0],
        opening_plies=0,
        moves=moves,
        values=np.full(3, np.nan, np.float32),
        visits=np.zeros(3, np.int32),
        ending=ending,
        white_points=first_points if is_white else 1 - first_points,
        first_is_white=is_white,
    )


def test_pairs_count_in_the_order_of_their_numbers() -> None:
    tally = PairCounter()
    tally.add([game(3, 1.0), game(2, 0.5), game(1, 0.0)])
    assert (tally.num_ended, tally.games, tally.score) == (3, [], None)
    tally.add([game(0, 1.0)])
    assert [g.number for g in tally.games] == [0, 1, 2, 3]
    assert tally.score is not None
    assert tally.score.ptnml == (0, 0, 1, 1, 0)
    tally.add([game(6, 1.0), game(7, 1.0), game(4, 1.0)])
    assert len(tally.games) == 4
    tally.add_rest()  # game 5 never came
    assert [g.number for g in tally.games] == [0, 1, 2, 3, 6, 7]
    assert tally.score.score == 0.75


def test_a_test_decides_the_same_in_any_order() -> None:
    games = [game(number, 1.0) for number in range(400)]
    found = []
    for order in (range(400), np.random.default_rng(0).permutation(400).tolist()):
        tally = PairCounter(Sprt(0, 50))
        for number in order:
            tally.add([games[number]])
        tally.add_rest()
        assert tally.is_decided
        found.append([g.number for g in tally.games])
    assert found[0] == found[1]
    assert 2 < len(found[0]) < 400


def test_a_test_does_not_look_at_pairs_that_came_out_of_turn() -> None:
    tally = PairCounter(Sprt(0, 200))
    tally.add(game(number, 1.0) for number in range(2, 30))
    tally.add_rest()
    assert len(tally.games) == 28
    assert tally.sprt is not None
    assert abs(tally.sprt.llr) < 0.01
    assert tally.sprt.state == "undecided"


def test_facts() -> None:
    tally = PairCounter()
    tally.add([game(0, 0.0, Forfeit.TIME), game(1, 0.5, Termination.STALEMATE)])
    facts = tally.facts()
    assert facts["terminations"] == {"stalemate": 1, "time": 1}
    assert facts["forfeits"] == [{"game": 0, "loser": "first", "why": "time"}]
    assert (facts["games"], facts["distinct_games"], facts["distinct_openings"]) == (2, 2, 1)
    assert facts["white_score"] == 0.25
    assert "sprt" not in facts
