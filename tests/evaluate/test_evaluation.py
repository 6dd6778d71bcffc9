"""What is made of results: ratings, milestones, warnings, reports."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.evaluate.fakes import evaluation, participant, result
from vecchess.arena.ratings.ratings import rate
from vecchess.errors import ConfigError
from vecchess.evaluate.evaluation import EvaluationReport, _milestone, read_evaluation

WHOLE = evaluation(
    ["net", "random", "greedy"],
    1,
    result("net", "random", (0, 0, 2, 8, 40)),
    result("net", "greedy", (4, 8, 26, 8, 4)),
    result("greedy", "random", (0, 0, 0, 5, 45)),
)


def test_all_players_are_rated_together() -> None:
    by_hand = rate(WHOLE.results, "random")
    assert WHOLE.ratings.players == by_hand.players
    assert (WHOLE.ratings.elo == by_hand.elo).all()
    facts = WHOLE.to_dict()
    assert facts["anchor"] == {"player": "random", "elo": 0.0}
    assert [row["player"] for row in facts["ratings"]][-1] == "random"
    assert facts["pairs"][0]["wins"] == 88
    assert facts["warnings"] == []


def test_without_random_the_first_opponent_is_the_anchor() -> None:
    found = evaluation(["net", "greedy"], 1, result("greedy", "net", (1, 0, 0, 0, 3)))
    assert found.ratings.anchor == "greedy"
    assert found.to_dict()["milestones"]["net"] == [
        {
            "milestone": "50% against greedy",
            "target": 0.5,
            "value": 0.25,
            "interval": [0.0456, 0.6994],
            "state": "within reach",
        }
    ]


@pytest.mark.parametrize(
    ("low", "high", "state"),
    [
        (0.69, 0.9, "within reach"),
        (0.7, 0.9, "within reach"),
        (0.71, 0.9, "reached"),
        (0.5, 0.7, "within reach"),
        (0.5, 0.69, "not reached"),
    ],
)
def test_a_milestone_is_reached_where_the_whole_interval_says_so(
    low: float, high: float, state: str
) -> None:
    assert _milestone("", 0.7, (low + high) / 2, (low, high), 4)["state"] == state


def test_milestones_of_a_strong_player_go_on_to_the_first_it_has_not_reached() -> None:
    found = {mark["milestone"]: mark for mark in WHOLE.milestones(WHOLE.rated[0])}
    assert found["85% against random"]["state"] == "reached"
    assert found["50% against greedy"]["state"] == "within reach"
    assert "50% against minimax:2" not in found
    targets = [mark["target"] for mark in found.values()]
    assert [target for target in targets if target >= 400] == [400, 600, 800]
    strong = evaluation(["net", "random"], 1, result("net", "random", (0, 0, 0, 0, 5000)))
    marks = [m for m in strong.milestones(strong.rated[0]) if m["target"] >= 400]
    assert len(marks) > 3
    assert all(mark["state"] == "reached" for mark in marks[:-1])
    assert marks[-1]["state"] != "reached"


def test_people_read_ratings_and_scores() -> None:
    tables = WHOLE.tables()
    assert (tables["anchor"], tables["games"]) == ("random", 300)
    assert [row["player"] for row in tables["ratings"]] == ["greedy", "net", "random"]
    assert [(row["player"], row["against"]) for row in tables["scores"]] == [
        ("net", "random"),
        ("net", "greedy"),
    ]
    assert tables["scores"][1]["games"] == 100
    assert tables["milestones"][0]["state"] == "reached"


def test_repeated_and_missing_games_are_warned_of() -> None:
    found = evaluation(
        ["net", "random"],
        1,
        replace(result("net", "random", (0, 0, 1, 0, 1)), is_complete=False),
        result("net", "random", (0, 0, 20, 0, 0), distinct_games=2),
    )
    early, repeated = found.warnings
    assert early == "net against random: ended early, after 4 games"
    assert "only 2 of 40 games are distinct, from 20 openings" in repeated


def test_results_that_no_ratings_explain_are_named() -> None:
    """Rock, paper, scissors, and a fourth who plays them evenly."""
    wins, even = (0, 0, 0, 20, 80), (20, 20, 20, 20, 20)
    circle = [result(one, other, wins) for one, other in ("ab", "bc", "ca")]
    others = [result(one, "random", even) for one in "abc"]
    found = evaluation([*"abc", "random"], 3, *circle, *others)
    assert {(one.first, one.second) for one in found.large_residuals} == {
        ("a", "b"),
        ("b", "c"),
        ("c", "a"),
    }
    assert found.large_residuals[0].score == 0.95
    assert found.large_residuals[0].expected == pytest.approx(0.5)
    assert found.to_dict()["misfits"][0]["score"] == 0.95
    assert "ratings do not explain 3 of 6 pairs, above all a against b: 95.0%" in found.warnings[-1]


def test_who_has_not_played_is_not_rated() -> None:
    found = evaluation(["a", "b", "random"], 2, result("a", "random", (0, 0, 1, 0, 1)))
    assert [who.name for who in found.rated] == ["a"]
    assert list(found.to_dict()["milestones"]) == ["a"]


def test_a_report_comes_back_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text(json.dumps(WHOLE.to_dict()))
    assert read_evaluation(file) == WHOLE


@pytest.mark.parametrize(
    ("values", "part"),
    [
        ({}, "schema"),
        ({"schema": 9}, "it has schema 9"),
        ([], "was not written by vecchess eval"),
        (WHOLE.to_dict() | {"players": []}, "does not name the players .* of its pairs"),
        (WHOLE.to_dict() | {"pairs": [{}]}, "Field required .results.0.first"),
    ],
)
def test_files_that_are_no_reports(values: Any, part: str, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text(json.dumps(values))
    with pytest.raises(ConfigError, match=part) as raised:
        read_evaluation(file)
    assert str(file) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_report_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        read_evaluation(tmp_path / "none.json")


def test_identity_and_name_are_two_things() -> None:
    players = (participant("tiny policy", "net:abc"), participant("random"))
    found = EvaluationReport(players, 1, (result("net:abc", "random", (0, 0, 0, 0, 4)),))
    assert found.ratings.players == ("tiny policy", "random")
