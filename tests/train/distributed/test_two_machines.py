"""Ranks on two machines, and their end when the cable between them is pulled out."""

import sys
import time
from pathlib import Path

import pytest
import torch

from tests.system.namespaces import (
    Host,
    assert_names_the_other,
    ends_after_cut,
    skip_unless_permitted,
    two_hosts,
)
from tests.train.distributed.test_launch import ROOT, environ, wait_for_ranks

pytestmark = pytest.mark.slow
PROGRAM = [sys.executable, "-m", "tests.train.distributed.run_ranks"]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1"]
PORT = 29517


@pytest.fixture(scope="module", autouse=True)
def _permitted() -> None:
    skip_unless_permitted()


def start(hosts: tuple[Host, Host], program: str, folder: Path, port: int, gpus: str) -> None:
    """A program on both hosts, by flags alone."""
    folder.mkdir()
    for node_rank, host in enumerate(hosts):
        flags = ["--nnodes", 2, "--node-rank", node_rank, "--master-addr", hosts[0].address]
        command = [*PROGRAM, program, folder, *flags, "--gpus", gpus, "--master-port", port]
        host.start(["env", "-C", ROOT, *command], environ())


def test_a_cut_cable_ends_both_and_they_meet_again(tmp_path: Path) -> None:
    """In sums and between heart-beats; then four ranks meet at the same port at once."""
    programs = ("sums_without_end", "beats_without_end")
    with two_hosts() as hosts:
        for port, program in enumerate(programs, PORT):
            start(hosts, program, tmp_path / program, port, "cpu")
        for program in programs:
            wait_for_ranks(tmp_path / program, 2)
        time.sleep(1.0)
        ends = ends_after_cut(hosts)
        start(hosts, "sums", tmp_path / "sums", PORT, "cpu:2")
        again = [host.processes[-1].communicate(timeout=120)[1] for host in hosts]
    assert_names_the_other(ends)
    assert [err.count("\n") for host_ends in ends for _, err in host_ends] == [1] * 4
    assert again == ["", ""]
    results = [torch.load(tmp_path / "sums" / f"{rank}.pt") for rank in range(4)]
    for tensors, _ in results[1:]:
        assert all(one.equal(other) for one, other in zip(results[0][0], tensors, strict=True))
    facts = [values["facts"][:3] for _, values in results]
    assert facts == [[0, 2, True], [0, 2, False], [1, 2, True], [1, 2, False]]


def test_torchrun_brings_two_machines_together(tmp_path: Path) -> None:
    with two_hosts() as hosts:
        meet = ["--rdzv-backend=c10d", f"--rdzv-endpoint={hosts[0].address}:{PORT}", "--rdzv-id=7"]
        for host in hosts:
            local = [f"--local-addr={host.address}", *PROGRAM[1:]]
            command = [*TORCHRUN, *meet, *local, "sums", tmp_path]
            host.start(["env", "-C", ROOT, *command], environ())
        for host in hosts:
            _, err = host.processes[0].communicate(timeout=120)
            assert host.processes[0].returncode == 0, err
    values = [torch.load(tmp_path / f"{rank}.pt")[1] for rank in (0, 1)]
    assert [one["sums"] for one in values] == [[0.2, 1.0]] * 2
