"""Ranks on two machines, and what becomes of them when the cable between them is pulled out."""

import sys
import time
from pathlib import Path

import pytest
import torch

from tests.system.namespaces import Host, pids_in, reason_not, two_hosts
from tests.train.distributed.test_launch import ROOT, environ, wait_for_ranks

pytestmark = pytest.mark.slow
PROGRAM = [sys.executable, "-m", "tests.train.distributed.run_ranks"]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1"]
PORT = 29517


@pytest.fixture(scope="module", autouse=True)
def _permitted() -> None:
    reason = reason_not()
    if reason:
        pytest.skip(reason)


def start(
    host: Host, program: str, folder: Path, node_rank: int, master: Host, gpus: str = "cpu"
) -> None:
    """The ranks of ``host``, by flags alone."""
    flags = ["--nnodes", 2, "--node-rank", node_rank, "--master-addr", master.address]
    flags += ["--gpus", gpus]
    command = [*PROGRAM, program, folder, *flags, "--master-port", PORT]
    host.start(["env", "-C", ROOT, *command], environ())


def test_ranks_of_two_machines_sum(tmp_path: Path) -> None:
    with two_hosts() as (first, second):
        for node_rank, host in enumerate((first, second)):
            start(host, "sums", tmp_path, node_rank, first, "cpu:2")
        errors = [host.processes[0].communicate(timeout=120)[1] for host in (first, second)]
        assert errors == ["", ""]
    sums = [torch.load(tmp_path / f"{rank}.pt") for rank in range(4)]
    for tensors, _ in sums[1:]:
        assert all(one.equal(other) for one, other in zip(sums[0][0], tensors, strict=True))
    places = [said["facts"][:3] for _, said in sums]
    assert places == [[0, 2, True], [0, 2, False], [1, 2, True], [1, 2, False]]


def test_torchrun_brings_two_machines_together(tmp_path: Path) -> None:
    with two_hosts() as (first, second):
        meet = ["--rdzv-backend=c10d", f"--rdzv-endpoint={first.address}:{PORT}", "--rdzv-id=7"]
        for host in (first, second):
            local = [f"--local-addr={host.address}", "-m", "tests.train.distributed.run_ranks"]
            command = [*TORCHRUN, *meet, *local, "sums", tmp_path]
            host.start(["env", "-C", ROOT, *command], environ())
        for host in (first, second):
            _, err = host.processes[0].communicate(timeout=120)
            assert host.processes[0].returncode == 0, err
    said = [torch.load(tmp_path / f"{rank}.pt")[1] for rank in (0, 1)]
    assert [one["sums"] for one in said] == [[0.2, 1.0]] * 2


@pytest.mark.parametrize("program", ["sums_for_ever", "beats_for_ever"])
def test_a_cut_cable_ends_both_within_a_minute(tmp_path: Path, program: str) -> None:
    with two_hosts() as (first, second):
        for node_rank, host in enumerate((first, second)):
            start(host, program, tmp_path, node_rank, first)
        wait_for_ranks(tmp_path, 2)
        time.sleep(1.0)
        second.pull_out()
        cut = time.monotonic()
        errors = [
            host.processes[0].communicate(timeout=max(cut + 60.0 - time.monotonic(), 0.1))[1]
            for host in (first, second)
        ]
        assert [host.processes[0].returncode for host in (first, second)] == [1, 1]
        assert not pids_in(first)
        assert not pids_in(second)
        second.plug_in()
        for node_rank, host in enumerate((first, second)):  # the same port, at once
            start(host, "sums", tmp_path, node_rank, first)
        again = [host.processes[1].communicate(timeout=60)[1] for host in (first, second)]
        assert again == ["", ""]
    assert errors[0].startswith("error: rank 1 on host-b ")
    assert errors[1].startswith("error: rank 0 on host-a ")
    assert [error.count("\n") for error in errors] == [1, 1]
    assert all("start all machines again with --resume" in error for error in errors)
