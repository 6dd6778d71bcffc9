"""Reports side by side."""

import pytest

from tests.evaluate.fakes import evaluation, result
from vecchess.arena.ratings.ratings import rate
from vecchess.errors import ConfigError
from vecchess.evaluate.compare_evaluations import compare

LADDER = result("greedy", "random", (0, 0, 0, 10, 40), token="ladder")
OLD = evaluation(
    ["old", "random", "greedy"],
    1,
    result("old", "random", (0, 5, 30, 10, 5)),
    result("old", "greedy", (30, 10, 10, 0, 0)),
    LADDER,
)
NEW = evaluation(
    ["new", "random", "greedy"],
    1,
    result("new", "random", (0, 0, 5, 10, 35)),
    result("new", "greedy", (5, 10, 20, 10, 5)),
    LADDER,
)


def test_reports_are_rated_as_one_evaluation() -> None:
    found = compare(["old.json", "new.json"], [OLD, NEW])
    games = [*OLD.results, *NEW.results[:2]]
    by_hand = rate(games, "random")
    assert found.evaluation.ratings.players == by_hand.players
    assert (found.evaluation.ratings.elo == by_hand.elo).all()
    (difference,) = found.differences
    assert (difference.first, difference.second) == ("new", "old")
    assert difference == by_hand.difference("new", "old")
    assert difference.low > 0
    assert difference.los > 0.999
    scores = {(row["player"], row["against"]): row for row in found.tables()["scores"]}
    assert scores["new", "greedy"]["score"] == 0.5
    assert scores["new", "greedy"]["games"] == 100
    assert ("old", "new") not in scores
    assert [row["in"] for row in found.tables()["ratings"] if row["player"] == "new"] == [
        "new.json"
    ]
    facts = found.to_dict()
    assert facts["found_in"] == {"old": ["old.json"], "new": ["new.json"]}
    assert facts["differences"][0]["elo_low"] < facts["differences"][0]["elo"]


def test_a_player_of_several_reports_is_one_player() -> None:
    again = evaluation(["old", "random"], 1, result("old", "random", (0, 0, 10, 0, 0)))
    found = compare(["a", "b"], [OLD, again])
    assert found.differences == []
    assert found.found_in == {"old": ["a", "b"]}
    assert sum(one.games for one in found.evaluation.results) == 320


def test_the_opponent_of_one_report_may_be_rated_in_another() -> None:
    other = evaluation(["new", "old"], 1, result("new", "old", (0, 0, 10, 10, 10)))
    found = compare(["a", "b"], [other, OLD])
    assert [one.name for one in found.evaluation.rated] == ["new", "old"]
    assert found.found_in == {"new": ["a"], "old": ["b"]}


def test_of_many_players_neighbours_are_compared() -> None:
    reports = [
        evaluation([f"net {n}", "random"], 1, result(f"net {n}", "random", (0, 0, 10 - n, 0, n)))
        for n in range(8)
    ]
    found = compare([str(n) for n in range(8)], reports)
    pairs = [(one.first, one.second) for one in found.differences]
    assert pairs == [(f"net {n + 1}", f"net {n}") for n in range(7)]


def test_reports_without_a_player_in_common() -> None:
    apart = evaluation(["x", "y"], 1, result("x", "y", (0, 0, 10, 0, 0)))
    with pytest.raises(ConfigError, match="cannot be compared: no games connect x, y"):
        compare(["a", "b"], [OLD, apart])
