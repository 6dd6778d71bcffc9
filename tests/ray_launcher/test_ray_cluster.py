"""``vecchess ray`` on a Ray cluster of two nodes, which are processes of this machine."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.system.commands import PROGRAM, games, last_json, vecchess
from vecchess.errors import ConfigError, WorkerDied
from vecchess.ray_launcher.ray_cluster import (
    NodeRequest,
    RemoteProcess,
    connect_ray,
    processes_on_nodes,
)
from vecchess.ray_launcher.run_ray import wait_for_nodes
from vecchess.runtime.signals import StopSignals

pytest.importorskip("ray", reason='needs Ray: pip install "vecchess[ray]"')
pytestmark = pytest.mark.slow
QUICK = ["--max-plies", 30]
LONG = [*QUICK, "--games", 1_000_000, "--shard-interval-s", 1]
TRAINING = [
    "--positions-per-iter", 360, "--seats", 8, "--batch-size", 64, "--sims", 4,
    "--max-plies", 40, "--eval-every", 0,
]  # fmt: skip
TWO_NODES = """
import sys
from ray.cluster_utils import Cluster
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
cluster.add_node(num_cpus=1)
print(cluster.address, flush=True)
for line in sys.stdin:
    if line == "add\\n":
        added = cluster.add_node(num_cpus=1)
    else:
        cluster.remove_node(added, allow_graceful=False)
    print(line, end="", flush=True)
cluster.shutdown()
"""


class Cluster(NamedTuple):
    """A cluster that runs, and the process that started it."""

    address: str
    process: "subprocess.Popen[str]"

    @property
    def pid(self) -> int:
        return self.process.pid

    def change(self, what: str) -> None:
        """ "add" a node, or "kill" it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(what, file=self.process.stdin, flush=True)
        assert next(line for line in self.process.stdout if line == f"{what}\n")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A cluster of two nodes with one CPU each."""
    environ = os.environ | {"RAY_USAGE_STATS_ENABLED": "0", "RAY_raylet_start_wait_time_s": "120"}
    process = subprocess.Popen(
        [sys.executable, "-c", TWO_NODES],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environ,
    )
    assert process.stdout is not None
    lines = iter(process.stdout.readline, "")
    yield Cluster(next(line.strip() for line in lines if line[:1].isdecimal()), process)
    process.communicate()


@contextmanager
def processes_on(
    cluster: Cluster, wanted: NodeRequest
) -> Iterator[tuple[StopSignals, list[RemoteProcess]]]:
    stop = StopSignals()
    with (
        connect_ray(cluster.address) as ray,
        processes_on_nodes(ray, wanted, stop, print) as processes,
    ):
        yield stop, processes


@contextmanager
def running(cluster: Cluster, *arguments: object) -> Iterator["subprocess.Popen[str]"]:
    """``vecchess ray`` as a user starts it."""
    command = [*PROGRAM, "ray", *map(str, arguments), "--address", cluster.address]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_until(condition: Callable[[], object], process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 200
    while not condition():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.1)


def pid_of(run_dir: Path) -> int:
    """The process that plays in ``run_dir``."""
    listed = subprocess.run(["ps", "-ww", "-eo", "pid=,args="], capture_output=True, text=True)
    lines = [line.split() for line in listed.stdout.splitlines() if f" {run_dir} " in f"{line} "]
    [pid] = [int(words[0]) for words in lines if "vecchess.ray_launcher.process_guard" not in words]
    return pid


def has_games(run_dir: Path) -> bool:
    """Whether both nodes have recorded some."""
    return all(any((run_dir / str(node) / "games").glob("*.npz")) for node in (0, 1))


def actors(cluster: Cluster) -> list[int]:
    """Processes of actors: grandchildren of the one that started the nodes."""
    listed = subprocess.run(
        ["ps", "-ww", "-eo", "pid=,ppid=,args="], capture_output=True, text=True
    )
    lines = [line.split(None, 2) for line in listed.stdout.splitlines()]
    nodes = {pid for pid, parent, _ in lines if parent == str(cluster.pid)}
    return [
        int(pid) for pid, parent, name in lines if parent in nodes and "ray::NodeProcess" in name
    ]


def test_posts_are_on_nodes_of_their_own(cluster: Cluster, tmp_path: Path) -> None:
    with processes_on(cluster, NodeRequest(2, 0, 1)) as (stop, processes):
        assert [process.name.split("/")[1] for process in processes] == ["0", "1"]
        assert 1024 <= processes[0].free_port() < 65536
        for process in processes:
            process.start(["--version"], str(tmp_path), {})
        results = wait_for_nodes(processes, stop, print)
    assert [(end.exit_code, end.output[:9]) for end in results] == [(0, "vecchess ")] * 2


def test_a_node_without_the_folder_is_named(cluster: Cluster, tmp_path: Path) -> None:
    with (
        processes_on(cluster, NodeRequest(1, 0, 1)) as (_, [process]),
        pytest.raises(WorkerDied, match=r"cannot start on node .*/0: .*nowhere"),
    ):
        process.start(["--version"], str(tmp_path / "nowhere"), {})


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (NodeRequest(3, 0, 1), r"--nodes 3 with 1 CPUs and 0 GPUs each: .* \(2 with 1 and 0\)"),
        (NodeRequest(1, 8, 1), r"--nodes 1 with 1 CPUs and 8 GPUs each: "),
    ],
)
def test_what_the_cluster_lacks_is_text(cluster: Cluster, wanted: NodeRequest, words: str) -> None:
    with pytest.raises(ConfigError, match=words), processes_on(cluster, wanted):
        pass


def test_resources_in_use_are_waited_for_for_a_while(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vecchess.ray_launcher.ray_cluster.PLACE_S", 2.0)
    stop = StopSignals()
    with (
        connect_ray(cluster.address) as ray,
        processes_on_nodes(ray, NodeRequest(1, 0, 1), stop, print),
    ):
        with (
            pytest.raises(ConfigError, match="no room"),
            processes_on_nodes(ray, NodeRequest(2, 0, 1), stop, print),
        ):
            pass
        stop.request_stop("SIGTERM")
        with processes_on_nodes(ray, NodeRequest(2, 0, 1), stop, print) as processes:
            assert processes == []


def test_a_fleet_of_two_plays_and_goes_on(cluster: Cluster, tmp_path: Path) -> None:
    fleet = ["ray", "selfplay", "--nodes", 2, "--address", cluster.address, "--run-dir", tmp_path]
    done = vecchess(*fleet, *QUICK, "--games", 4, "--seed", 5, "--json", timeout=280)
    summary = last_json(done)
    assert [node["exit_code"] for node in summary["nodes"]] == [0, 0]
    assert {node["output"]["games"] for node in summary["nodes"]} == {4}
    assert re.search(f"/1 \\| written to +{tmp_path}/1\n", done.stderr)
    seeds = [
        (tmp_path / str(i) / "config.toml").read_text().count(f"seed = {5 + i}") for i in (0, 1)
    ]
    assert seeds == [1, 1]
    again = vecchess(*fleet, "--games", 6, timeout=280)
    assert again.returncode == 0, again.stderr
    played = [games(tmp_path / str(node)) for node in (0, 1)]
    assert [one.numbers.tolist() for one in played] == [list(range(6))] * 2
    assert played[0].digest() != played[1].digest()


def test_two_nodes_train_one_network(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "net.toml").write_text("blocks = 1\nchannels = 32\n")
    run = tmp_path / "run"
    options = [*TRAINING, "--net", tmp_path / "net.toml", "--iterations", 1, "--run-dir", run]
    done = vecchess(
        "ray", "train", "--nodes", 2, "--address", cluster.address, *options, "--json", timeout=280
    )
    summary = last_json(done)
    assert summary["exit_code"] == 0
    assert {node["output"]["sha256"] for node in summary["nodes"]} == {
        json.loads((run / "status.json").read_text())["summary"]["sha256"]
    }
    numbers = [games(folder).numbers.tolist() for folder in (run, run / "machines" / "1")]
    assert numbers == [[0, 1, 2, 3], [4, 5, 6, 7]]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 75)])
def test_a_signal_stops_and_saves_all(
    cluster: Cluster, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    with running(cluster, "selfplay", "--nodes", 2, *LONG, "--run-dir", tmp_path) as process:
        wait_until(lambda: has_games(tmp_path), process)
        process.send_signal(number)
        _, text = process.communicate(timeout=120)
    assert process.returncode == code, text
    for node in (0, 1):
        status = json.loads((tmp_path / str(node) / "status.json").read_text())
        assert (status["summary"]["exit_code"], status["why"]) == (75, "SIGTERM")


def test_where_one_is_killed_the_other_saves(cluster: Cluster, tmp_path: Path) -> None:
    with running(cluster, "selfplay", "--nodes", 2, *LONG, "--run-dir", tmp_path) as process:
        wait_until(lambda: has_games(tmp_path), process)
        os.kill(pid_of(tmp_path / "0"), signal.SIGKILL)
        _, text = process.communicate(timeout=120)
    assert process.returncode == 1, text
    assert "/0 was killed by SIGKILL\n" in text
    assert json.loads((tmp_path / "1" / "status.json").read_text())["why"] == "SIGTERM"


def test_where_an_actor_is_lost_all_save(cluster: Cluster, tmp_path: Path) -> None:
    with running(cluster, "selfplay", "--nodes", 2, *LONG, "--run-dir", tmp_path) as process:
        wait_until(lambda: has_games(tmp_path), process)
        os.kill(actors(cluster)[0], signal.SIGKILL)
        _, text = process.communicate(timeout=120)
    assert process.returncode == 1, text
    assert " is lost: " in text
    deadline = time.monotonic() + 60
    files = [tmp_path / str(node) / "status.json" for node in (0, 1)]

    def reasons() -> list[str]:
        return [json.loads(file.read_text())["why"] for file in files]

    while reasons() != ["SIGTERM"] * 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert reasons() == ["SIGTERM"] * 2


def test_a_second_start_stops_nothing(cluster: Cluster, tmp_path: Path) -> None:
    with running(cluster, "selfplay", "--nodes", 2, *LONG, "--run-dir", tmp_path) as first:
        wait_until(lambda: has_games(tmp_path), first)
        with running(cluster, "selfplay", "--nodes", 2, *LONG, "--run-dir", tmp_path) as second:
            _, text = second.communicate(timeout=120)
        assert second.returncode == 2
        assert text.startswith(f"vecchess: error: another vecchess is writing to {tmp_path}: ")
        first.send_signal(signal.SIGTERM)
        out, text = first.communicate(timeout=120)
    assert first.returncode == 75, text
    for node in (0, 1):
        assert re.search(f"/{node} \\| written to +{tmp_path}/{node}\n", out)


def test_a_dead_node_is_a_line_and_the_next_start_does_not_wait_for_it(
    cluster: Cluster, tmp_path: Path
) -> None:
    """Ray's own lines about it reach no stream; once it knows, the cluster is too small."""
    cluster.change("add")
    fleet = ["selfplay", "--nodes", 3, *LONG, "--run-dir", tmp_path]
    with running(cluster, *fleet) as process:
        wait_until(lambda: has_games(tmp_path) and (tmp_path / "2" / "run_id").exists(), process)
        cluster.change("kill")
        out, text = process.communicate(timeout=120)
    assert process.returncode == 1, text
    assert re.search(r"/\d is lost: ", text)
    assert "state-dump" not in out + text
    with running(cluster, *fleet) as process:
        _, text = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "the cluster has too few such nodes (2 with 1 and 0)" in text
