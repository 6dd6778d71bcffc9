"""``vecchess train`` on two machines, which are network namespaces with a cable between them."""

import json
import sys
import time
from pathlib import Path

import pytest

from tests.system.commands import games
from tests.system.namespaces import Host, pids_in, reason_not, two_hosts

pytestmark = pytest.mark.slow
PORT = 29531
LITTLE = "blocks = 1\nchannels = 32\n"
OPTIONS = [
    "--gpus", "cpu", "--games-per-iter", 8, "--batch-size", 64, "--sims", 4, "--max-plies", 40,
    "--eval-every", 0,
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _permitted() -> None:
    if reason := reason_not():
        pytest.skip(reason)


def start(host: Host, node_rank: int, master: Host, *options: object) -> None:
    command = [sys.executable, "-m", "vecchess_cli.main", "train", *options, "--nnodes", 2]
    where = ["--node-rank", node_rank, "--master-addr", master.address, "--master-port", PORT]
    host.start([*command, *where])


def ended(host: Host, number: int, timeout: float) -> tuple[int, str]:
    process = host.processes[number]
    said = process.communicate(timeout=timeout)[1]
    return process.returncode, said


def test_a_cut_cable_ends_the_run_and_it_goes_on(tmp_path: Path) -> None:
    net, run = tmp_path / "net.toml", tmp_path / "run"
    net.write_text(LITTLE)
    options = [*OPTIONS, "--net", net, "--iterations", 200, "--run-dir", run]
    with two_hosts() as hosts:
        for node_rank, host in enumerate(hosts):
            start(host, node_rank, hosts[0], *options)
        deadline = time.monotonic() + 120
        while not list((run / "checkpoints").glob("000002-*")):
            assert time.monotonic() < deadline
            assert hosts[0].processes[0].poll() is None, ended(hosts[0], 0, 1)
            time.sleep(0.1)
        hosts[1].pull_out()
        cut = time.monotonic()
        ends = [ended(host, 0, max(cut + 60 - time.monotonic(), 0.1)) for host in hosts]
        assert [code for code, _ in ends] == [1, 1]
        for (_, said), lost in zip(ends, ("rank 1 on host-b", "rank 0 on host-a"), strict=True):
            last = said.strip().splitlines()[-1]
            assert last.startswith(f"vecchess: error: {lost} ")
            assert "--resume" in last
        assert not any(pids_in(host) for host in hosts)
        hosts[1].plug_in()
        done = len({path.name for path in (run / "checkpoints").glob("0*")})
        assert done > 0
        for node_rank, host in enumerate(hosts):
            start(host, node_rank, hosts[0], *options, "--resume", "--iterations", 8)
        for host in hosts:
            code, said = ended(host, 1, 180)
            assert code == 0, said
    status = json.loads((run / "status.json").read_text())["summary"]
    assert status["iterations"] >= 8
    numbers = [games(folder).numbers.tolist() for folder in (run, run / "machines" / "1")]
    together = sorted(numbers[0] + numbers[1])
    assert together == list(range(len(together)))
    assert abs(len(numbers[0]) - len(numbers[1])) <= 8
