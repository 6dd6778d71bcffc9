"""``vecchess train`` on two machines, which are network namespaces with a cable between them."""

import json
import sys
import time
from pathlib import Path

import pytest

from tests.system.commands import games
from tests.system.namespaces import (
    Host,
    assert_names_the_other,
    ends_after_cut,
    skip_unless_permitted,
    two_hosts,
)

pytestmark = pytest.mark.slow
PORT = 29531
LITTLE = "blocks = 1\nchannels = 32\ntime_steps = 4\n"
OPTIONS = [
    "--gpus", "cpu", "--positions-per-iter", 360, "--seats", 8, "--batch-size", 64, "--sims", 4,
    "--max-plies", 40, "--eval-every", 0,
]  # fmt: skip


def start(hosts: tuple[Host, Host], *options: object) -> None:
    command = [sys.executable, "-m", "vecchess_cli.main", "train", *options, "--nnodes", 2]
    for node_rank, host in enumerate(hosts):
        where = ["--master-addr", hosts[0].address, "--master-port", PORT]
        host.start([*command, "--node-rank", node_rank, *where])


def test_a_cut_cable_ends_the_run_and_it_can_be_resumed(tmp_path: Path) -> None:
    skip_unless_permitted()
    net, run = tmp_path / "net.toml", tmp_path / "run"
    net.write_text(LITTLE)
    options = [*OPTIONS, "--net", net, "--iterations", 200, "--run-dir", run]
    with two_hosts() as hosts:
        start(hosts, *options)
        deadline = time.monotonic() + 120
        while not list((run / "checkpoints").glob("000002-*")):
            assert time.monotonic() < deadline
            assert hosts[0].processes[0].poll() is None, hosts[0].processes[0].communicate()[1]
            time.sleep(0.1)
        assert_names_the_other(ends_after_cut(hosts))
        start(hosts, *options, "--resume", "--iterations", 8)
        for host in hosts:
            err = host.processes[1].communicate(timeout=180)[1]
            assert host.processes[1].returncode == 0, err
    status = json.loads((run / "status.json").read_text())["summary"]
    assert status["iterations"] >= 8
    numbers = games(run).numbers.tolist()
    for seat in range(8):
        own = [number for number in numbers if number % 8 == seat]
        assert own == list(range(seat, seat + 8 * len(own), 8))
