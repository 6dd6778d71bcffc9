"""What a training has cost: over all its starts, on all its machines."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.system.commands import inside
from vecchess.config import TrainConfig
from vecchess.runtime.cost_meter import Cost
from vecchess.store.metrics import read_metrics
from vecchess.store.run_folder import RunFolder
from vecchess.train.distributed.environment import RankInfo
from vecchess.train.distributed.ranks import Ranks
from vecchess.train.run_cost import RunCost, cost_before
from vecchess.train.train_reporter import TrainReporter

QUICK = [
    "--net", "tiny", "--gpus", "cpu", "--positions-per-iter", 96, "--seats", 4, "--sims", 2,
    "--max-plies", 12, "--eval-every", 0, "--batch-size", 32, "--loaders", 0,
]  # fmt: skip


class Meter:
    """Has measured what it is told."""

    def __init__(self, cost: Cost) -> None:
        self.cost = cost

    def read(self) -> Cost:
        return self.cost


def test_what_earlier_processes_and_other_machines_cost_is_counted() -> None:
    meter: Any = Meter(Cost(10, 5))
    cost = RunCost(meter, Cost(100, 50))
    assert cost.total() == Cost(110, 55)
    cost.set_others([Cost(11, 3).to_dict(), Cost(9, 1).to_dict()])
    assert cost.total() == Cost(111, 59)
    meter.cost = Cost(20, 6)
    cost.set_others([Cost(19, 30).to_dict()])
    assert cost.total() == Cost(120, 86)
    assert RunCost(meter, None).facts() is None


def test_machine_0_learns_of_the_others_before_it_publishes() -> None:
    class TwoRanks(Ranks):
        def gather_object(self, value: dict[str, Any]) -> list[dict[str, Any]]:
            return [value, {}, Cost(7, 3).to_dict()]  # machine 0, its second rank, machine 1

    info = RankInfo(world_size=3, num_nodes=2)
    ranks = TwoRanks(info, torch.device("cpu"))
    meter: Any = Meter(Cost(10, 5))
    cost = RunCost(meter, Cost())
    TrainReporter(TrainConfig(), None, True, None, cost).share_cost(ranks)
    assert cost.total() == Cost(10, 8)


def test_a_machine_counts_its_own_ranks_and_their_gpus() -> None:
    class FourRanks(Ranks):
        def gather_object(self, value: dict[str, Any]) -> list[dict[str, Any]]:
            other = {"node": 0, "pid": 2**22 + 1, "gpu": "GPU-"}  # its driver tells no UUID
            return [value, other, other, {"node": 1, "pid": 2**22 + 2, "gpu": "GPU-b"}]

    ranks = FourRanks(RankInfo(world_size=4, num_nodes=2), torch.device("cpu"))
    cost = RunCost.of_ranks(ranks, Cost()).total()
    assert cost is not None
    assert cost.gpu_s == 2 * cost.wall_s
    assert cost.gpu_joules is None


@pytest.mark.parametrize(
    "text", ["", "{", "{}", '{"cost": null}', '{"cost": 3}', '{"cost": {"core_s": -1}}']
)
def test_a_status_that_does_not_tell_leaves_the_cost_unknown(text: str, tmp_path: Path) -> None:
    (tmp_path / "status.json").write_text(text)
    assert cost_before(RunFolder(tmp_path), is_new=False) is None
    assert cost_before(RunFolder(tmp_path), is_new=True) == Cost()


def published(run: Path) -> list[float]:
    """Core-seconds beside each network of a run."""
    return [line["cost"]["core_s"] for line in read_metrics(run, "publish")]


@pytest.mark.thorough
def test_a_resumed_run_counts_from_what_its_status_says(tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = inside("train", *QUICK, "--iterations", 1, "--run-dir", run)
    assert done.returncode == 0, done.stderr
    first = published(run)
    assert 0 <= first[0] < first[1]
    assert "core-hours in 0:" in done.stdout
    status = json.loads((run / "status.json").read_text())
    assert status["cost"]["core_s"] >= first[1]
    status["cost"]["core_s"] += 5000  # of a process that was killed before it published
    (run / "status.json").write_text(json.dumps(status))
    assert inside("train", "--run-dir", run, "--resume", "--iterations", 2).returncode == 0
    assert published(run)[:2] == first
    assert published(run)[2] >= first[1] + 5000
