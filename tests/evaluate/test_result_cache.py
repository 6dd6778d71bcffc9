"""What decides the games of a pair, and results that are kept by it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.evaluate.fakes import participant, result
from vecchess.config import MatchConfig
from vecchess.evaluate.pairing import Pairing, PairResult, joint_counts, unique_results
from vecchess.evaluate.result_cache import ResultCache

CONFIG = MatchConfig(games=4)
KEPT = result("net:1", "greedy", (0, 0, 1, 0, 1))


def pairing(one: str = "greedy", other: str = "net:1", **settings: Any) -> Pairing:
    config = MatchConfig(**({"games": 4} | settings))
    return Pairing.of(participant(one), participant(other), config)


def test_who_is_named_first_does_not_matter() -> None:
    assert pairing("greedy", "net:1") == pairing("net:1", "greedy")
    assert pairing().first.identity == "net:1", "a network before others"
    assert pairing("random", "greedy").first.identity == "greedy"


def test_every_pair_has_openings_in_an_order_of_its_own() -> None:
    seeds = {pairing(*who).config.seed for who in (("a", "b"), ("a", "c"), ("b", "c"))}
    assert len(seeds | {pairing("a", "b", seed=1).config.seed}) == 4


def test_a_token_stands_for_what_decides_the_games(tmp_path: Path) -> None:
    book = tmp_path / "book.epd"
    book.write_text("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -\n")
    usual = pairing().token
    for other in (
        pairing("random"),
        pairing(seed=1),
        pairing(random_plies=4),
        pairing(chess960=True),
        pairing(max_plies=100),
        pairing(openings=book),
    ):
        assert other.token != usual
    assert pairing(games=40, threads=3, concurrency=2, gpus="cpu").token == usual


def test_a_result_comes_back_as_it_was(tmp_path: Path) -> None:
    cache = ResultCache(tmp_path / "new folder")
    assert cache.recall(pairing()) is None
    cache.keep(pairing(), KEPT)
    assert cache.recall(pairing()) == KEPT
    assert cache.recall(pairing(games=6)) is None
    assert cache.recall(pairing(seed=1)) is None
    assert ResultCache(tmp_path / "new folder", edition="next").recall(pairing()) is None
    assert ResultCache(tmp_path / "new folder", recall=False).recall(pairing()) is None


def test_what_was_ended_early_is_not_kept(tmp_path: Path) -> None:
    ResultCache(tmp_path).keep(pairing(), replace(KEPT, is_complete=False))
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_read_counts_as_none(tmp_path: Path) -> None:
    cache = ResultCache(tmp_path)
    cache.keep(pairing(), KEPT)
    (file,) = tmp_path.iterdir()
    whole = file.read_text()
    values = json.loads(whole)
    stranger = {"result": values["result"] | {"second": "somebody else"}}
    for damaged in ("", whole[:40], "[]", json.dumps(values | stranger)):
        file.write_text(damaged)
        assert cache.recall(pairing()) is None
    cache.keep(pairing(), KEPT)
    assert cache.recall(pairing()) == KEPT


def test_a_folder_that_cannot_be_made_is_no_reason_to_stop(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ResultCache(tmp_path / "file" / "folder").keep(pairing(), KEPT)


@pytest.mark.parametrize(
    "change",
    [
        {"wins": 9},
        {"wins": -1},
        {"wins": "2"},
        {"ptnml": [0, 0, 2, 0]},
        {"ptnml": [0, 0, 0, 0, 0], "wins": 0, "draws": 0},
        {"mean_plies": "long"},
    ],
)
def test_counts_that_make_no_sense_are_refused(change: dict[str, Any]) -> None:
    values = KEPT.to_dict()
    assert PairResult.from_dict(values) == KEPT
    with pytest.raises(ValidationError):
        PairResult.from_dict(values | change)


def test_of_the_same_games_the_longer_record_counts() -> None:
    short = result("a", "b", (0, 0, 1, 0, 0), token="same")
    long = result("a", "b", (0, 0, 3, 0, 1), token="same")
    other = result("b", "a", (1, 0, 0, 0, 0))
    found = unique_results([short, long, other, short])
    assert found == [long, other]
    counts = joint_counts(found, "a", "b")
    assert counts is not None
    assert (counts.wins, counts.draws, counts.losses) == (4, 6, 0)
    assert counts.ptnml == (0, 0, 3, 0, 2)
    assert counts.score.score == 0.7
    assert joint_counts(found, "a", "c") is None
