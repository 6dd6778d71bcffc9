"""The Slurm templates, submitted to a cluster: Slurm's own signal, queue and arrays."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.system.slurm_cluster import Slurm, skip_unless_installed, slurm_cluster

pytestmark = pytest.mark.slow
SIZES = ["--cpus-per-task=1", "--gpus-per-node=1", "--mem=0"]
TRAINING = [
    "--gpus", "cpu", "--positions-per-iter", 360, "--seats", 8, "--batch-size", 64, "--sims", 4,
    "--max-plies", 40, "--eval-every", 0, "--seed", 3, "--net", "tiny",
]  # fmt: skip
VECCHESS = [sys.executable, "-m", "vecchess_cli.main", "train"]
VARIABLES = {"VENV": str(Path(sys.executable).parent.parent), "MASTER_ADDR": "127.0.0.1"}


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    skip_unless_installed()
    with slurm_cluster(tmp_path_factory.mktemp("slurm")) as slurm:
        yield slurm


def events(run: Path) -> list[dict[str, Any]]:
    log = run / "log.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def sessions(run: Path) -> list[str]:
    """Starts and ends of a run, of its log: "start", "stopped SIGUSR2", ..."""
    return [
        f"{one['state']} {one['why']}".strip() if one["event"] == "end" else one["event"]
        for one in events(run)
        if one["event"] in ("start", "resume", "end")
    ]


def has_learnt(run: Path) -> bool:
    return sum(event["event"] == "network" for event in events(run)) > 1


def assert_goes_on_after_its_time(slurm: Slurm, job: int, run: Path) -> None:
    """Slurm's signal comes, the run saves, the template queues the job again, and it ends well."""
    slurm.wait_until(lambda: has_learnt(run), job)
    slurm.let_time_run_out(job)
    slurm.begin_again(job)
    ended = slurm.wait_for(job, "COMPLETED", "FAILED", "NODE_FAIL", "TIMEOUT")
    assert (ended["JobState"], ended["Restarts"]) == ("COMPLETED", "1"), slurm.output()
    assert sessions(run) == ["start", "stopped SIGUSR2", "resume", "done"], slurm.output()


def test_one_node_trains_on_after_its_time(slurm: Slurm, tmp_path: Path) -> None:
    variables = VARIABLES | {"RUN_DIR": str(tmp_path)}
    arguments = [*TRAINING, "--iterations", 30]
    job = slurm.submit("one-node", variables, *SIZES, arguments=arguments)
    assert_goes_on_after_its_time(slurm, job, tmp_path)


def test_many_nodes_train_on_after_their_time(slurm: Slurm, tmp_path: Path) -> None:
    variables = VARIABLES | {"RUN_DIR": str(tmp_path)}
    arguments = [*TRAINING, "--iterations", 30]
    job = slurm.submit("many-nodes", variables, "--nodes=2", *SIZES, arguments=arguments)
    assert_goes_on_after_its_time(slurm, job, tmp_path)


def test_an_array_plays_and_one_element_goes_on(slurm: Slurm, tmp_path: Path) -> None:
    run = tmp_path / "run"
    learner = subprocess.Popen(
        [*VECCHESS, *map(str, TRAINING), "--iterations", "20", "--executor", "mailbox",
         "--run-dir", str(run), "--quiet"]
    )  # fmt: skip
    job = slurm.submit("contribute", VARIABLES | {"RUN": str(run)}, "--array=0-1", *SIZES)
    slurm.wait_until(lambda: has_learnt(run), job)
    second = f"{job}_1"
    slurm.let_time_run_out(second)
    slurm.begin_again(second)
    assert learner.wait(600) == 0
    for element in (f"{job}_0", second):
        ended = slurm.wait_for(element, "COMPLETED", "FAILED", "NODE_FAIL", "TIMEOUT")
        assert ended["JobState"] == "COMPLETED", slurm.output()
    assert sessions(run) == ["start", "done"]
    words = [json.loads(file.read_text()) for file in run.glob("fleet/players/*.json")]
    assert len(words) == 3, "two elements, one of which began twice"
    assert all(each["blocks"] for each in words[:2])
