"""The networks of a run, and how strong they were one after the other."""

import os
from itertools import pairwise
from pathlib import Path

import pytest

from tests.evaluate.fakes import evaluation, participant, result
from tests.evaluate.players import Onlooker, small_net
from vecchess.config import MatchConfig
from vecchess.errors import ConfigError
from vecchess.evaluate.checkpoint_ratings import RatingHistory, rate_history, schedule
from vecchess.evaluate.checkpoints import Checkpoint, list_checkpoints, thinned
from vecchess.evaluate.evaluation import read_evaluation
from vecchess.evaluate.report_file import MOST_REPORT_BYTES, write_report
from vecchess.evaluate.result_cache import ResultCache
from vecchess.monitor.run_view import RunView
from vecchess.snn.integer.net_file import save_net

CONFIG = MatchConfig(games=2, max_plies=61)


def run_with(folder: Path, *names: str) -> Path:
    """A run with files that are no networks, the first the oldest."""
    (folder / "nets").mkdir()
    for time, name in enumerate(names):
        file = folder / "nets" / f"{name}.safetensors"
        file.write_text("")
        os.utime(file, (1000 + time, 1000 + time))
    return folder


def test_networks_come_in_the_order_of_their_samples(tmp_path: Path) -> None:
    run = run_with(tmp_path, "run-s1000-d9", "run-s200-d7", "run-s0-d0")
    found = list_checkpoints(run)
    assert [(one.samples, one.positions) for one in found] == [(0, 0), (200, 7), (1000, 9)]


def test_networks_whose_names_say_nothing_come_in_the_order_of_time(tmp_path: Path) -> None:
    run = run_with(tmp_path, "zebra", "run-s9-d9", "ape")
    assert [one.file.stem for one in list_checkpoints(run)] == ["zebra", "run-s9-d9", "ape"]


@pytest.mark.parametrize("names", [[], ["run-s0-d0"]])
def test_one_network_is_no_history(names: list[str], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"has {len(names)} networks in .*nets: two make"):
        list_checkpoints(run_with(tmp_path, *names))


@pytest.mark.parametrize(
    ("every", "kept"),
    [(1, [0, 1, 2, 3, 4, 5, 6]), (2, [0, 2, 4, 6]), (4, [0, 2, 6]), (99, [0, 6])],
)
def test_thinning_keeps_both_ends(every: int, kept: list[int]) -> None:
    found = [Checkpoint(Path(str(number)), number, 0) for number in range(7)]
    assert [one.samples for one in thinned(found, every)] == kept


def test_games_grow_with_the_number_of_networks() -> None:
    rungs = [participant("random"), participant("greedy")]

    def pairs(num: int) -> list[set[str]]:
        own = [participant(f"net:{number}") for number in range(num)]
        return [{p.first.name, p.second.name} for p in schedule(own, rungs, CONFIG)]

    assert {"net:5", "net:4"} in pairs(6)
    assert {"net:5", "net:3"} in pairs(6)
    assert {"net:5", "net:1"} in pairs(6)
    assert {"net:5", "net:2"} not in pairs(6)
    assert {"net:5", "random"} in pairs(6)
    assert {"random", "greedy"} in pairs(6)
    assert len(pairs(40)) - len(pairs(30)) == len(pairs(30)) - len(pairs(20)) == 10 * 5


def fake(*results: tuple[int, ...]) -> RatingHistory:
    """Networks that score ``results`` against random, and nothing against each other."""
    names = [f"net:{number}" for number in range(len(results))]
    games = [result(name, "random", ptnml) for name, ptnml in zip(names, results, strict=True)]
    links = [result(one, other, (2, 6, 4, 6, 2)) for one, other in pairwise(names)]
    found = evaluation([*names, "random"], len(names), *games, *links)
    kept = [
        Checkpoint(Path(f"{name}.safetensors"), 1000 * number, 0)
        for number, name in enumerate(names)
    ]
    return RatingHistory(Path("runs/a"), tuple(kept), found)


def test_a_curve_tells_gains_with_their_errors() -> None:
    history = fake((20, 20, 20, 20, 20), (0, 10, 20, 30, 40), (0, 0, 5, 15, 80))
    first, second, third = history.curve
    assert (first.gain.elo, first.gain.error) == (0, 0)
    assert second.gain.elo == pytest.approx(second.rating.elo - first.rating.elo)
    assert first.rating.elo < second.rating.elo < third.rating.elo
    assert third.gain.los > 0.97
    facts = history.to_dict()
    assert [point["samples"] for point in facts["curve"]] == [0, 1000, 2000]
    assert (
        facts["curve"][2]["gain_low"] < facts["curve"][2]["gain"] < facts["curve"][2]["gain_high"]
    )
    assert facts["run"] == "runs/a"
    tables = history.tables()
    assert [row["player"] for row in tables["networks"]] == ["net:0", "net:1", "net:2"]
    assert [row["player"] for row in tables["ladder"]] == ["random"]


def test_networks_that_did_not_play_are_not_on_the_curve() -> None:
    whole = fake((1, 1, 1, 1, 1), (0, 1, 2, 3, 4))
    half = evaluation(["net:0", "net:1", "random"], 2, whole.evaluation.results[0])
    assert [
        point.rating.first for point in RatingHistory(whole.run, whole.checkpoints, half).curve
    ] == ["net:0"]


def test_the_history_of_a_long_run_is_read_by_all_who_read_it(tmp_path: Path) -> None:
    own = [participant(f"run-s{1000 * number:09d}") for number in range(100)]
    rungs = [participant(name) for name in ("random", "greedy", "minimax:2")]
    pairs = [(p.first.name, p.second.name) for p in schedule(own, rungs, CONFIG)]
    results = [result(*pair, (number % 4, 2, 5, 3, 2)) for number, pair in enumerate(pairs)]
    found = evaluation([one.name for one in (*own, *rungs)], len(own), *results)
    kept = [Checkpoint(Path(f"{one.name}.safetensors"), 0, 0) for one in own]
    (tmp_path / "config.toml").touch()
    file = tmp_path / "eval" / "history.json"
    file.parent.mkdir()
    write_report(file, RatingHistory(tmp_path, tuple(kept), found).to_dict())
    assert len(RunView(tmp_path).elo()) == 100
    assert read_evaluation(file).num_rated == 100
    assert file.stat().st_size / 100 < MOST_REPORT_BYTES / 1600, "it has room for 1,600 networks"


def test_the_networks_of_a_run_are_rated_and_their_games_kept(tmp_path: Path) -> None:
    (tmp_path / "nets").mkdir()
    for samples, seed in (0, 1), (100, 2), (200, 2):
        save_net(small_net(seed), tmp_path / "nets" / f"r-s{samples}-d5.safetensors")
    found, cache = list_checkpoints(tmp_path), ResultCache.of_run(tmp_path / "eval" / "pairs")
    observer, again = Onlooker(), Onlooker()
    history = rate_history(tmp_path, found, (None, None), ["random"], CONFIG, cache, observer)
    points = history.curve
    assert [point.checkpoint.samples for point in points] == [0, 100], "the same network once"
    assert len(observer.begun) == 3
    same = rate_history(tmp_path, found, (None, None), ["random"], CONFIG, cache, again)
    assert again.recalled == [True] * 3
    assert same.to_dict() == history.to_dict()
    with pytest.raises(ConfigError, match="are all the same"):
        rate_history(tmp_path, found[1:], (None, None), ["random"], CONFIG, cache, again)
