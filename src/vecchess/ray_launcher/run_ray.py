"""One command on each node of a Ray cluster, from connecting to one exit code."""

import os
import zlib
from collections.abc import Callable
from pathlib import Path

from vecchess.ray_launcher.ray_cluster import (
    NodeRequest,
    RemoteProcess,
    connect_ray,
    processes_on_nodes,
)
from vecchess.ray_launcher.wait import NodeResult, joined_code, wait_for_nodes
from vecchess.runtime.reporting import ReportLine
from vecchess.runtime.signals import StopSignals

CommandsFor = Callable[[list[RemoteProcess]], list[list[str]]]
"""Returns the arguments of ``vecchess`` for each node, once the nodes are known."""


def run_on_nodes(
    commands_for: CommandsFor, address: str | None, request: NodeRequest, report_line: ReportLine
) -> tuple[int, list[NodeResult]]:
    """Run a command on each node in this folder, with this process's VECCHESS_ variables.

    Returns the joined exit code, and how each ended, where any began. ``report_line`` gets the
    nodes' lines. Raises ConfigError where Ray or the cluster lacks what is asked for, WorkerDied
    where a node cannot start its command.
    """
    results: list[NodeResult] = []
    settings = {name: value for name, value in os.environ.items() if name.startswith("VECCHESS_")}
    with (
        connect_ray(address) as ray,
        StopSignals(interrupts=True) as stop,
        processes_on_nodes(ray, request, stop) as processes,
    ):
        if processes:
            for process, command in zip(processes, commands_for(processes), strict=True):
                process.start(command, os.getcwd(), settings)
            results = wait_for_nodes(processes, stop, report_line)
    return joined_code(results, stop.reason), results


def fleet_seed(run_dir: Path) -> int:
    """The seed of a fleet's node 0 where none is given: 32 bits of the folder's path, then 20 bits
    for nodes, so that two fleets play different games."""
    return zlib.crc32(os.fsencode(run_dir.resolve())) << 20


def selfplay_commands(
    given: list[str], run_dir: Path, own: list[str], seed: int, has_settings: bool, num_nodes: int
) -> list[list[str]]:
    """Independent runs in ``run_dir``/0, /1, ..., which all nodes see, with ``seed``, + 1, ...

    ``given`` are the user's arguments, ``own`` those added to them. An existing run is resumed;
    unless the user's ``has_settings``, with its own settings instead of ``own`` and seed.
    """
    commands = []
    for node in range(num_nodes):
        command = ["selfplay", *given, "--run-dir", str(run_dir / str(node))]
        holds_run = (run_dir / str(node) / "config.toml").is_file()
        if not holds_run or has_settings:
            command += [*own, "--seed", str(seed + node)]
        commands.append(command + ["--resume"] * holds_run)
    return commands


def training_commands(
    given: list[str], own: list[str], num_nodes: int, address: str, port: int
) -> list[list[str]]:
    """One training on all nodes, whose ranks meet at ``address``, node 0's, and ``port``."""
    meeting = ["--nnodes", str(num_nodes), "--master-addr", address, "--master-port", str(port)]
    common = ["train", *given, *own, *meeting]
    return [[*common, "--node-rank", str(node)] for node in range(num_nodes)]
