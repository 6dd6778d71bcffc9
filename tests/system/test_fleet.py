"""A training by URL whose learner and players are killed: the network of one machine."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from vecchess.jit import cache_base

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
PROGRAM = [sys.executable, "-m", "vecchess_cli.main"]
TRAIN = [
    "train", "--net", "tiny", "--iterations", "4", "--positions-per-iter", "1200", "--seats", "24",
    "--sims", "2", "--max-plies", "40", "--eval-every", "0", "--batch-size", "64", "--seed", "6",
    "--block-seats", "2", "--gpus", "cpu", "--quiet", "--json",
]  # fmt: skip


def environ(machine: Path) -> dict[str, str]:
    """Variables of a machine with a disk of its own; kernels are compiled once."""
    own = {"XDG_CACHE_HOME": str(machine), "NUMBA_CACHE_DIR": str(cache_base())}
    return os.environ | own | {"VECCHESS_THREADS": "1"}


def start(machine: Path, *arguments: object) -> subprocess.Popen[str]:
    command = [*PROGRAM, *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environ(machine), stdout=pipe, stderr=pipe, text=True)


@contextmanager
def players(place: str, folder: Path, num: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Players that are ended with the block."""
    running = [
        start(folder / f"player{index}", "contribute", place, "--gpus", "cpu", "--quiet")
        for index in range(num)
    ]
    try:
        yield running
    finally:
        for process in running:
            process.kill()
            process.communicate()


def network(process: subprocess.Popen[str]) -> str:
    """sha256 of the network that a training wrote."""
    output, error = process.communicate(timeout=600)
    assert process.returncode == 0, error
    return hashlib.sha256(Path(json.loads(output)["net"]).read_bytes()).hexdigest()


@pytest.mark.parametrize("lag", [0, 1])
def test_the_learner_moves_to_another_machine(lag: int, tmp_path: Path) -> None:
    train = [*TRAIN, "--lag", lag]
    alone = network(start(tmp_path / "alone", *train, "--run-dir", tmp_path / "run"))
    place = f"file://{tmp_path}/bucket/run"
    learn = [*train, "--executor", "mailbox", "--run-dir", place, "--resume-or-begin"]
    with players(place, tmp_path, 2) as running:
        learner = start(tmp_path / "first", *learn)
        tasks = tmp_path / "bucket" / "run" / "fleet" / "tasks"
        deadline = time.monotonic() + 400
        while len(list(tasks.glob("*.json"))) < 3:
            assert learner.poll() is None, learner.communicate()[1]
            assert time.monotonic() < deadline, "no third task"
            time.sleep(0.1)
        learner.kill()
        learner.communicate()
        running[0].kill()
        found = network(start(tmp_path / "second", *learn))
        assert found == alone
        assert running[1].wait(60) == 0, "the run is over"


def test_a_player_that_is_told_to_end_loses_nothing(tmp_path: Path) -> None:
    """What it had in hand is there, and nobody plays it again."""
    run = tmp_path / "run"
    learner = start(tmp_path, *TRAIN, "--executor", "mailbox", "--run-dir", run)
    with players(str(run), tmp_path, 1) as (first,):
        blocks = run / "fleet" / "blocks" / "000000"
        while not list(blocks.glob("*")):
            time.sleep(0.05)
            assert first.poll() is None
        first.send_signal(signal.SIGTERM)
        assert first.wait(60) == 75
        names = {file.name for file in blocks.glob("*")}
        claimed = {name.removesuffix(".claim") for name in names if name.endswith(".claim")}
        assert claimed
        assert claimed <= names
        with players(str(run), tmp_path, 1):
            assert network(learner)
