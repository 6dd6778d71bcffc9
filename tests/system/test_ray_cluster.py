"""Games played on a Ray cluster whose nodes come and go are those of one machine."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.system.commands import PROGRAM, games, inside, last_json
from tests.system.namespaces import Host, one_host, skip_unless_permitted
from tests.system.training import newest

pytest.importorskip("ray", reason='needs Ray: pip install "vecchess[ray]"')
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
ENVIRON = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "disabled",
    "RAY_raylet_start_wait_time_s": "120",
    "RAY_agent_register_timeout_ms": "120000",
    "GLOO_SOCKET_IFNAME": "lo",
}
"""Nodes that start on a busy machine are waited for."""
CLUSTER = """
import sys
from ray.cluster_utils import Cluster
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
nodes = {name: cluster.add_node(num_cpus=1) for name in ("first", "second")}
print(cluster.address, flush=True)
for line in sys.stdin:
    what, name = line.split()
    if what == "add":
        nodes[name] = cluster.add_node(num_cpus=1)
    else:
        cluster.remove_node(nodes[name], allow_graceful=False)
    print(line, end="", flush=True)
cluster.shutdown()
"""
TRAINING = [
    "train", "--gpus", "cpu", "--iterations", 2, "--positions-per-iter", 480,
    "--seats", 12, "--batch-size", 64, "--sims", 4, "--max-plies", 40, "--eval-every", 0,
    "--loaders", 0, "--seed", 5,
]  # fmt: skip


class RayCluster(NamedTuple):
    """A cluster of three nodes, each with one CPU, on a host of its own."""

    host: Host
    address: str
    process: "subprocess.Popen[str]"

    def change(self, what: str) -> None:
        """ "add NAME" or "kill NAME"."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(what, file=self.process.stdin, flush=True)
        assert next(line for line in self.process.stdout if line == f"{what}\n")

    def start(self, *arguments: object) -> "subprocess.Popen[str]":
        """``vecchess`` with games on this cluster."""
        ray = ["--executor", "ray", "--ray-address", self.address]
        return self.host.start([*PROGRAM, *arguments, *ray], ENVIRON)

    def players(self) -> list[int]:
        """Process ids of the players."""
        return [int(line.split()[0]) for line in listed() if "ray::NodePlayer" in line]


def listed() -> list[str]:
    """Each process that there is: its id and its command."""
    done = subprocess.run(["ps", "-ww", "-eo", "pid=,args="], capture_output=True, text=True)
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    skip_unless_permitted()
    with one_host() as host:
        process = host.start([sys.executable, "-c", CLUSTER], ENVIRON, has_stdin=True)
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        yield RayCluster(
            host, next(line.strip() for line in lines if line[:1].isdecimal()), process
        )
        process.communicate(timeout=60)


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """Options of a training in small blocks, with a small network."""
    folder = tmp_path_factory.mktemp("settings")
    (folder / "net.toml").write_text("blocks = 1\nchannels = 32\ntime_steps = 4\n")
    (folder / "train.toml").write_text("threads = 1\nblock_seats = 1\nconcurrent_games = 1\n")
    return [*TRAINING, "--net", folder / "net.toml", "--config", folder / "train.toml"]


@pytest.fixture(scope="module")
def alone(options: list[object], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The sha256 of the network that one machine learns."""
    done = inside(*options, "--run-dir", tmp_path_factory.mktemp("alone") / "run", "--json")
    return str(last_json(done)["sha256"])


def wait_until(condition: Callable[[], object], process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 300
    while not condition():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.1)


def num_results(run: Path) -> int:
    """Blocks of the first generation that are there."""
    names = [file.name for file in (run / "fleet/blocks/000000").glob("*")]
    return sum("." not in name for name in names)


def test_nodes_and_players_that_come_and_go_change_no_bit(
    cluster: RayCluster, options: list[object], alone: str, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    process = cluster.start(*options, "--run-dir", run, "--json")
    wait_until(lambda: num_results(run), process)
    os.kill(cluster.players()[0], signal.SIGKILL)
    cluster.change("kill first")
    cluster.change("add third")
    out, text = process.communicate(timeout=500)
    assert process.returncode == 0, text
    assert json.loads(out.splitlines()[-1])["sha256"] == alone == newest(run)
    assert " is gone: others play its blocks" in text
    assert "): another one begins" in text
    assert "state-dump" not in text
    assert not [line for line in listed() if str(run) in line or "ray::NodePlayer" in line]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 75)])
def test_a_signal_saves_and_the_run_goes_on_anywhere(
    cluster: RayCluster,
    options: list[object],
    alone: str,
    tmp_path: Path,
    number: signal.Signals,
    code: int,
) -> None:
    run = tmp_path / "run"
    process = cluster.start(*options, "--run-dir", run)
    wait_until(lambda: num_results(run), process)
    os.killpg(process.pid, number)
    _, text = process.communicate(timeout=120)
    assert process.returncode == code, text
    assert not [line for line in listed() if str(run) in line or "ray::NodePlayer" in line]
    done = inside("train", "--run-dir", run, "--resume", "--executor", "local", "--json")
    assert last_json(done)["sha256"] == alone


def test_games_of_a_cluster_are_those_of_one_machine(cluster: RayCluster, tmp_path: Path) -> None:
    play = ["selfplay", "--games", 12, "--max-plies", 30, "--gpus", "cpu", "--seed", 4]
    process = cluster.start(
        *play, "--backend", "reference", "--threads", 2, "--concurrent-games", 3,
        "--run-dir", tmp_path / "ray",
    )  # fmt: skip
    _, text = process.communicate(timeout=500)
    assert process.returncode == 0, text
    assert inside(*play, "--run-dir", tmp_path / "alone").returncode == 0
    assert games(tmp_path / "ray").digest() == games(tmp_path / "alone").digest()
