"""``vecchess train`` under elastic torchrun: workers and machines die and come while it learns.

Each agent stands for a machine. It may restart once, so one failure must cost one restart at most.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.system.commands import PROGRAM

pytestmark = pytest.mark.slow
OPTIONS = [
    "--gpus", "cpu", "--positions-per-iter", 360, "--seats", 8, "--batch-size", 64, "--sims", 4,
    "--max-plies", 40, "--eval-every", 0, "--seed", 3, "--net", "tiny", "--checkpoint-every", 1,
]  # fmt: skip
SEPARATE = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
WAIT_S = 240.0


class Job:
    """The agents of one torchrun job, and the run that they train."""

    def __init__(self, folder: Path, iterations: int, environ: dict[str, str]) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            self._port = server.getsockname()[1]
        self.folder, self._iterations, self._environ = folder / "run", iterations, environ
        self.agents: list[subprocess.Popen[bytes]] = []

    def add(self, ranks: int = 1) -> "subprocess.Popen[bytes]":
        """Start an agent with so many ranks; that of the first serves the rendezvous."""
        config = f"is_host={int(not self.agents)},keep_alive_interval=1,last_call_timeout=5"
        meet = ["--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{self._port}", "--rdzv-id=7"]
        command = [
            sys.executable, "-m", "torch.distributed.run", "--nnodes=1:2", "--max-restarts=1",
            f"--nproc-per-node={ranks}", *meet, f"--rdzv-conf={config}", *PROGRAM[1:], "train",
            *OPTIONS, "--iterations", self._iterations, "--run-dir", self.folder,
        ]  # fmt: skip
        with (self.folder.parent / f"agent-{len(self.agents)}.log").open("wb") as log:
            agent = subprocess.Popen(
                list(map(str, command)),
                stdout=log,
                stderr=log,
                env=os.environ | self._environ,
                start_new_session=True,
            )
        self.agents.append(agent)
        return agent

    def text(self) -> str:
        """What all agents have printed."""
        return "".join(
            log.read_text(errors="replace") for log in sorted(self.folder.parent.glob("*.log"))
        )

    def wait_until(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + WAIT_S
        while not condition():
            assert time.monotonic() < deadline, self.text()
            time.sleep(0.1)

    def events(self) -> list[str]:
        """What happened to the run, by its log."""
        log = self.folder / "log.jsonl"
        lines = log.read_text().splitlines() if log.exists() else []
        return [json.loads(line)["event"] for line in lines]

    def learnt(self) -> list[int]:
        """The iterations that were learnt so far, as metrics tell."""
        metrics = self.folder / "metrics.jsonl"
        lines = metrics.read_text().split("\n")[:-1] if metrics.exists() else []
        return [one["iteration"] for one in map(json.loads, lines) if one["kind"] == "learn"]

    def assert_ends_well(self, iterations: int) -> None:
        self.wait_until(lambda: all(agent.poll() is not None for agent in self.agents))
        assert sorted(set(self.learnt())) == list(range(1, iterations + 1))
        assert json.loads((self.folder / "status.json").read_text())["state"] == "done"


@contextmanager
def job(folder: Path, iterations: int, environ: dict[str, str]) -> Iterator[Job]:
    """A job without agents as yet; their processes are killed at the end."""
    one = Job(folder, iterations, environ)
    try:
        yield one
    finally:
        for agent in one.agents:
            kill(agent)


def workers_of(agent: "subprocess.Popen[bytes]") -> list[int]:
    listed = subprocess.run(["ps", "--ppid", str(agent.pid), "-o", "pid="], capture_output=True)
    return list(map(int, listed.stdout.split()))


def kill(agent: "subprocess.Popen[bytes]") -> None:
    """Kill an agent and its worker at once, as when a machine loses power."""
    for pid in [agent.pid, *workers_of(agent)] if agent.poll() is None else []:
        os.kill(pid, signal.SIGKILL)
    agent.wait()


@pytest.mark.parametrize("environ", [{}, SEPARATE], ids=["one-store", "a-store-a-start"])
@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_worker_costs_one_restart(
    tmp_path: Path, environ: dict[str, str], victim: int
) -> None:
    with job(tmp_path, 6, environ) as one:
        one.add()
        one.add()
        one.wait_until(lambda: 2 in one.learnt())
        [worker] = workers_of(one.agents[victim])
        os.kill(worker, signal.SIGKILL)
        one.assert_ends_well(6)
        assert [agent.returncode for agent in one.agents] == [0, 0], one.text()
    assert [event for event in one.events() if event in ("start", "resume")] == ["start", "resume"]
    assert "add --resume" not in one.text()


def test_a_lost_machine_and_one_that_comes_later(tmp_path: Path) -> None:
    with job(tmp_path, 14, SEPARATE) as one:
        one.add()
        one.add()
        one.wait_until(lambda: 2 in one.learnt())
        kill(one.agents[1])
        one.wait_until(lambda: "resume" in one.events())
        alone = len(one.learnt())
        one.wait_until(lambda: len(one.learnt()) > alone)
        one.add()
        one.assert_ends_well(14)
        assert [agent.returncode for agent in one.agents] == [0, -signal.SIGKILL, 0], one.text()
    assert one.events().count("resume") == 2


def test_a_killed_rank_beside_the_first_of_its_machine(tmp_path: Path) -> None:
    with job(tmp_path, 6, {}) as one:
        agent = one.add(ranks=2)
        one.wait_until(lambda: 2 in one.learnt())
        os.kill(max(workers_of(agent)), signal.SIGKILL)
        one.assert_ends_well(6)
        assert agent.returncode == 0, one.text()
