"""Networks of a run by what they cost, and their strength against the ladder alone."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.evaluate.players import Onlooker, small_net
from vecchess.config import MatchConfig
from vecchess.errors import ConfigError
from vecchess.evaluate.checkpoint_ratings import rate_history
from vecchess.evaluate.checkpoints import (
    Checkpoint,
    choose_by_cost,
    costs_of,
    list_history,
    run_digest,
)
from vecchess.evaluate.result_cache import ResultCache
from vecchess.networks.module_net import create_module_net, save_module_net
from vecchess.runtime.cost_meter import Cost
from vecchess.snn.integer.net_file import save_net
from vecchess.store.metrics import METRICS_FILE, MetricsLog
from vecchess.store.run_folder import RunFolder

RUN = Path("runs/a")


def networks(*core_hours: float | None) -> list[Checkpoint]:
    """The untrained network, then one for each cost."""
    costs = [None if hours is None else Cost(core_s=3600 * hours) for hours in core_hours]
    trained = [
        Checkpoint(Path(f"s{number}"), number, 0, cost) for number, cost in enumerate(costs, 1)
    ]
    return [Checkpoint(Path("s0"), 0, 0, Cost(core_s=1.0)), *trained]


@pytest.mark.parametrize(
    ("hours", "num", "kept"),
    [
        ([0.001, 0.02, 0.06, 0.32, 1.8, 5, 10], 5, [2, 3, 4, 5, 7]),  # three decades below the last
        ([1, 1.9, 2, 4, 4.1], 3, [1, 3, 5]),  # all of a shorter run
        ([1, 10], 5, [1, 2]),
        ([None, 1, 2, 4], 2, [2, 4]),
    ],
)
def test_networks_are_even_in_the_logarithm_of_their_cost(
    hours: list[float | None], num: int, kept: list[int]
) -> None:
    assert [one.samples for one in choose_by_cost(RUN, networks(*hours), num)] == kept


@pytest.mark.parametrize("hours", [[], [1], [None, None], [None, 3]])
def test_a_run_without_costs_is_told_in_one_line(hours: list[float | None]) -> None:
    with pytest.raises(ConfigError, match=r"runs/a has [01] trained networks whose cost is known"):
        choose_by_cost(RUN, networks(*hours), 5)


def test_core_hours_and_gpu_hours_make_no_curve() -> None:
    costs = Cost(core_s=3600), Cost(core_s=3600, gpu_s=360)
    found = [
        Checkpoint(Path(f"s{number}"), number, 0, cost) for number, cost in enumerate(costs, 1)
    ]
    with pytest.raises(ConfigError, match="some of the networks cost GPU-hours"):
        choose_by_cost(RUN, found, 2)


def test_a_run_does_not_go_on_from_itself(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a run cannot go on from itself"):
        list_history([made_run(tmp_path / "a"), tmp_path / "b" / ".." / "a"])


def made_run(path: Path, seed: int = 0) -> Path:
    """Three networks, of which the run noted what the last two cost."""
    run = RunFolder(path)
    run.create()
    run.config.write_text(f"iterations = 2\nseed = {seed}\n")
    log = MetricsLog(path)
    for samples, cost in (0, None), (100, Cost(core_s=36)), (200, Cost(core_s=72)):
        name = f"r{seed}-s{samples}-d5"
        save_net(small_net(seed + samples), run.nets / f"{name}.safetensors")
        values = {"net": name, "cost": None if cost is None else cost.to_dict()}
        log.write("publish", 0, 0, samples, values)
    return path


@pytest.mark.thorough
def test_costs_are_read_from_where_networks_were_published(tmp_path: Path) -> None:
    assert costs_of(tmp_path) == {}
    made_run(tmp_path)
    assert costs_of(tmp_path) == {"r0-s100-d5": Cost(core_s=36), "r0-s200-d5": Cost(core_s=72)}


def test_a_point_of_the_curve_names_its_network_and_its_run(tmp_path: Path) -> None:
    found = list_history([made_run(tmp_path)])
    chosen, cache = choose_by_cost(tmp_path, found, 5), ResultCache.of_run(tmp_path / "pairs")
    config, observer = MatchConfig(games=2, max_plies=61), Onlooker()
    history = rate_history(
        tmp_path, chosen, (None, None), ["random"], config, cache, observer, is_by_cost=True
    )
    assert len(observer.begun) == 2, "networks play the ladder alone"
    facts = json.loads(json.dumps(history.to_dict()))
    assert [point["cost"]["core-hours"] for point in facts["curve"]] == [0.01, 0.02]
    assert facts["curve"][0]["sha256"] == small_net(100).sha256
    assert {point["run_digest"] for point in facts["curve"]} == {run_digest(tmp_path)}
    assert [row["core-hours"] for row in history.tables()["networks"]] == [0.01, 0.02]


def test_networks_of_a_module_are_played_by_the_module_of_their_run(tmp_path: Path) -> None:
    run, net = RunFolder(tmp_path), "module:tests.networks.modules:leaking?least=2"
    run.create()
    run.config.write_text(f'net = "{net}"\n')
    modules = [create_module_net(net, seed) for seed in (1, 2)]
    found = []
    for module, samples in zip(modules, (100, 200), strict=True):
        save_module_net(module, file := run.nets / f"r-s{samples}-d5.safetensors")
        found.append(replace(Checkpoint.of(file), cost=Cost(core_s=samples)))
    weights = run.nets.absolute() / "r-s200-d5.safetensors"
    assert found[1].source.text == f"{net}&weights={weights}"
    config, cache = MatchConfig(games=2, max_plies=61), ResultCache.of_run(tmp_path / "pairs")
    history = rate_history(
        tmp_path, found, (None, None), ["random"], config, cache, Onlooker(), is_by_cost=True
    )
    points = history.to_dict()["curve"]
    assert [point["sha256"] for point in points] == [module.sha256 for module in modules]


def test_what_a_run_costs_counts_on_from_the_one_before(tmp_path: Path) -> None:
    runs = [made_run(tmp_path / "a"), made_run(tmp_path / "b", seed=7)]
    found = list_history(runs)
    assert [one.samples for one in found] == [0, 100, 200, 300, 400]
    assert [one.positions for one in found] == [5, 5, 5, 10, 10]
    assert [one.cost and one.cost.core_s for one in found] == [None, 36, 72, 108, 144]
    chosen, cache = choose_by_cost(runs[-1], found, 2), ResultCache.of_run(tmp_path / "pairs")
    config = MatchConfig(games=2, max_plies=61)
    history = rate_history(
        runs[-1], chosen, (None, None), ["random"], config, cache, Onlooker(), is_by_cost=True
    )
    points = history.to_dict()["curve"]
    assert [point["cost"]["core-hours"] for point in points] == [0.01, 0.04]
    assert [point["run_digest"] for point in points] == [run_digest(run) for run in runs]


def test_a_cost_that_one_run_does_not_tell_is_none_for_those_after_it(tmp_path: Path) -> None:
    runs = [made_run(tmp_path / "a"), made_run(tmp_path / "b", seed=7)]
    (runs[0] / METRICS_FILE).unlink()
    assert [one.cost for one in list_history(runs)] == [None] * 5


def test_the_digest_of_a_run_follows_its_settings(tmp_path: Path) -> None:
    before = run_digest(made_run(tmp_path))
    (tmp_path / "config.toml").write_text("iterations = 3\n")
    assert run_digest(tmp_path) != before
