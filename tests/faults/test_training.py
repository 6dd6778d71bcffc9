"""Trainings that lose a process in the middle: a line that says which, and the same weights in the
end."""

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.running import Running
from tests.system.commands import workers_of
from tests.system.training import newest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
QUICK = [
    "--iterations", 3, "--positions-per-iter", 360, "--seats", 8, "--batch-size", 32, "--sims", 2,
    "--max-plies", 40, "--eval-every", 0, "--loaders", 1,
]  # fmt: skip
KILLS = 3
PATIENCE_S = 300.0


@pytest.fixture
def net(tmp_path: Path) -> Path:
    (tmp_path / "net.toml").write_text("blocks = 1\nchannels = 32\ntime_steps = 4\n")
    return tmp_path / "net.toml"


def wait_for(running: Running, holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert running.process.poll() is None, running.told()
        assert time.monotonic() < deadline, running.told()
        time.sleep(0.02)


def test_killed_ranks_are_named_and_a_resumed_run_comes_to_the_same(
    tmp_path: Path, net: Path
) -> None:
    options = ["train", *QUICK, "--gpus", "cpu:2", "--net", net]
    whole = Running(tmp_path / "whole", [*options, "--run-dir", tmp_path / "whole/run"])
    assert whole.wait(PATIENCE_S) == 0, whole.told()
    run, rng, kills = tmp_path / "killed", random.Random(1), 0
    for attempt in range(KILLS + 1):
        command = [*options, "--run-dir", run, *(["--resume"] if attempt else [])]
        running = Running(tmp_path / str(attempt), command)
        if attempt == KILLS:
            assert running.wait(PATIENCE_S) == 0, running.told()
            continue
        wait_for(running, lambda: list(run.glob("checkpoints/0*")))
        time.sleep(4.0 * rng.random())
        if not (ranks := workers_of(running.process.pid)):
            break
        os.kill(ranks[0], signal.SIGKILL)  # the first that was spawned
        kills += 1
        assert running.wait(60) == 1, running.told()
        said = running.err()
        assert "Traceback" not in said
        assert "vecchess: error: rank 1 on " in said
        assert "--resume" in said
        assert "SIGKILL" in said
        assert running.left_processes(10.0) == []
    assert kills
    assert newest(run) == newest(tmp_path / "whole/run")
