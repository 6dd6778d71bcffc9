"""Evaluations that are played: who plays whom, what is kept, how they end early."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from tests.evaluate.fakes import participant
from tests.evaluate.players import Impatient, Onlooker
from vecchess.config import MatchConfig
from vecchess.errors import ConfigError
from vecchess.evaluate.ladder import SIMPLE_RUNGS, list_opponents, simple_ladder, whole_ladder
from vecchess.evaluate.result_cache import ResultCache
from vecchess.evaluate.run_eval import each_against, evaluate
from vecchess.runtime.signals import StopSignals

SHORT = MatchConfig(games=4, max_plies=61)
LADDER = ["random", "greedy"]


def test_who_plays_whom() -> None:
    one, two = participant("one"), participant("two")
    rungs = [participant(name) for name in ("a", "b", "c")]
    pairs = [(p.first.name, p.second.name) for p in each_against([one, two], rungs, SHORT)]
    assert {tuple(sorted(pair)) for pair in pairs} == {
        *(("a", "one"), ("b", "one"), ("c", "one")),
        *(("a", "two"), ("b", "two"), ("c", "two")),
        *(("one", "two"), ("a", "b"), ("b", "c")),
    }
    assert len(pairs) == 9


@pytest.mark.thorough
def test_an_evaluation_is_played_once(tmp_path: Path) -> None:
    first, again, anew = Onlooker(), Onlooker(), Onlooker()
    rated = ["net:material?search=gumbel&sims=8", "net:material"]
    found = evaluate(rated, LADDER, SHORT, ResultCache(tmp_path), first)
    assert [who.name for who in found.rated] == ["material gumbel 8", "material policy"]
    assert found.ratings.anchor == "random"
    assert len(found.results) == len(first.begun) == 6
    assert first.looks > 0
    assert not any(first.recalled)
    assert evaluate(rated, LADDER, SHORT, ResultCache(tmp_path), again) == found
    assert again.recalled == [True] * 6
    assert again.looks == 0
    replayed = evaluate(rated[:1], ["greedy"], SHORT, ResultCache(tmp_path, recall=False), anew)
    assert anew.recalled == [False]
    (same,) = replayed.results
    assert same.token in {one.token for one in found.results}
    assert replace(same, seconds=0) in [replace(one, seconds=0) for one in found.results]


def test_an_evaluation_can_be_ended_early(tmp_path: Path) -> None:
    stop = StopSignals()
    observer = Impatient(stop, pairings=2)
    found = evaluate(["net:material"], LADDER, SHORT, ResultCache(tmp_path), observer, stop)
    assert len(found.results) == 2
    assert len(found.ratings.players) == 3
    go_on = Onlooker()
    whole = evaluate(["net:material"], LADDER, SHORT, ResultCache(tmp_path), go_on)
    assert go_on.recalled == [True, True, False]
    assert whole.results[:2] == found.results


def test_a_pair_that_is_ended_early_counts_and_is_played_again(tmp_path: Path) -> None:
    stop = StopSignals()
    observer = Impatient(stop, games=2)
    config = MatchConfig(games=2000, max_plies=61, concurrency=4)
    found = evaluate(["greedy"], ["random"], config, ResultCache(tmp_path), observer, stop)
    assert not found.results[0].is_complete
    assert 0 < found.results[0].games < 2000
    assert "ended early" in found.warnings[0]
    assert not list(tmp_path.iterdir())


def test_nobody_plays_itself(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="would play itself: name an --against"):
        evaluate(["greedy"], ["greedy"], SHORT, ResultCache(tmp_path), Onlooker())


def test_opponents_are_the_ladder_unless_others_are_named() -> None:
    assert list_opponents([], simple_ladder) == list(SIMPLE_RUNGS)
    assert list_opponents(["minimax:4"], simple_ladder) == ["minimax:4"]
    both = list_opponents(["minimax:4", "ladder", "greedy"], simple_ladder)
    assert both == ["minimax:4", *SIMPLE_RUNGS]


def test_the_ladder_ends_where_no_engine_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vecchess.evaluate.ladder.ENGINE", "no-such-engine")
    said: list[str] = []
    assert whole_ladder(said.append) == list(SIMPLE_RUNGS)
    assert said == [
        'the ladder ends at minimax:3: there is no engine "no-such-engine": '
        "install it or give its path"
    ]


@pytest.mark.stockfish
def test_the_ladder_goes_on_with_stockfish() -> None:
    rungs = whole_ladder(pytest.fail)
    assert rungs[:4] == list(SIMPLE_RUNGS)
    assert "uci:stockfish?nodes=1&hash=1" in rungs
    assert sum("elo=" in rung for rung in rungs) == 2


@pytest.mark.slow
@pytest.mark.stockfish
def test_the_ladder_is_one(tmp_path: Path) -> None:
    """200 games a pair put its rungs in order, with intervals that do not overlap."""
    top, *below = "uci:stockfish?nodes=1&hash=1", "random", "greedy", "minimax:2"
    config = MatchConfig(games=200)
    found = evaluate([top], below, config, ResultCache(tmp_path), Onlooker())
    rows = {row["player"]: row for row in found.to_dict()["ratings"]}
    order = [*below, found.rated[0].name]
    for lower, higher in pairwise(order):
        assert rows[lower]["elo_high"] < rows[higher]["elo_low"]
