"""One command on each node of a Ray cluster, from connecting to one exit code."""

import os
import signal
import zlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from time import sleep
from typing import NamedTuple, Protocol

from vecchess.errors import WorkerDied
from vecchess.ray_launcher.ray_cluster import (
    NodeRequest,
    RemoteProcess,
    connect_ray,
    processes_on_nodes,
)
from vecchess.runtime.json_pipe import Message
from vecchess.runtime.reporting import ReportLine
from vecchess.runtime.signals import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_RESUMABLE,
    StopSignals,
    way_to_end,
)

CommandsFor = Callable[[list[RemoteProcess]], list[list[str]]]
"""Returns the arguments of ``vecchess`` for each node, once the nodes are known."""


POLL_S = 0.1


class WatchedProcess(Protocol):
    """What is needed of a ``NodeProcess``, on this node or another."""

    name: str

    def messages(self) -> list[Message]: ...
    def stop(self) -> None: ...


class NodeResult(NamedTuple):
    """How one node's command ended."""

    name: str
    exit_code: int
    """Exit code of vecchess; 1 where the node was lost or the command killed."""
    output: str
    """What it wrote to stdout: its summary."""


def run_on_nodes(
    commands_for: CommandsFor,
    address: str | None,
    request: NodeRequest,
    report_line: ReportLine,
    lock: AbstractContextManager[None],
) -> tuple[int, list[NodeResult]]:
    """Run a command on each node in this folder, with this process's VECCHESS_ variables.

    Returns the joined exit code, and how each ended, where any began. ``report_line`` gets the
    nodes' lines; ``lock`` is held once the cluster answers. Raises ConfigError where Ray or the
    cluster lacks what is asked for, WorkerDied where a node cannot start its command.
    """
    results: list[NodeResult] = []
    settings = {name: value for name, value in os.environ.items() if name.startswith("VECCHESS_")}
    with (
        connect_ray(address) as ray,
        lock,
        StopSignals(interrupts=True) as stop,
        processes_on_nodes(ray, request, stop, report_line) as processes,
    ):
        if processes:
            for process, command in zip(processes, commands_for(processes), strict=True):
                process.start(command, os.getcwd(), settings)
            results = wait_for_nodes(processes, stop, report_line)
    return joined_code(results, stop.reason), results


def wait_for_nodes(
    processes: Sequence[WatchedProcess], stop: StopSignals, report_line: ReportLine
) -> list[NodeResult]:
    """Wait until all commands have ended; the first to end comes first.

    Where one fails or is lost, or a signal comes, all others are asked to stop. ``report_line``
    gets every line on stderr, with the node's name before it.
    """
    results: dict[str, NodeResult] = {}
    output: dict[str, list[str]] = {process.name: [] for process in processes}
    is_stopping = False
    while running := [process for process in processes if process.name not in results]:
        for process in running:
            name = process.name
            for message in process.messages():
                if message["kind"] == "err":
                    report_line(f"{name} | {message['line']}")
                elif message["kind"] == "out":
                    output[name].append(message["line"])
                else:
                    code, outcome = _outcome(message, is_stopping)
                    results[name] = NodeResult(name, code, "\n".join(output[name]))
                    if outcome:
                        report_line(f"{name} {outcome}")
        if not is_stopping and (stop.reason or any(end.exit_code for end in results.values())):
            is_stopping = True
            others = [process for process in running if process.name not in results]
            if others:
                report_line(f"stopping {', '.join(process.name for process in others)}")
            for process in others:
                process.stop()
        sleep(POLL_S)
    return list(results.values())


def joined_code(results: list[NodeResult], stopped_by: str) -> int:
    """One exit code for all: the first that failed, since later failures may follow from it.

    Else 75 where some were stopped and saved, or all before they began; 130 where Ctrl-C did that
    (``stopped_by`` "SIGINT").
    """
    codes = [result.exit_code for result in results]
    failed = [code for code in codes if code not in (EXIT_OK, EXIT_RESUMABLE)]
    if failed:
        return failed[0]
    if results and EXIT_RESUMABLE not in codes:
        return EXIT_OK
    return EXIT_INTERRUPTED if stopped_by == "SIGINT" else EXIT_RESUMABLE


def _outcome(message: Message, is_stopping: bool) -> tuple[int, str]:
    """The exit code of a command that ended, and what to print about it where it failed."""
    if message["kind"] == "lost":
        return WorkerDied.exit_code, f"is lost: {message['reason']}"
    code: int = message["exit_code"]
    if code == -signal.SIGTERM and is_stopping:  # it had no handler yet, and nothing to save
        return EXIT_RESUMABLE, ""
    if code < 0:
        return WorkerDied.exit_code, f"was {way_to_end(code)}"
    return code, "" if code in (EXIT_OK, EXIT_RESUMABLE) else f"ended with {way_to_end(code)}"


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
