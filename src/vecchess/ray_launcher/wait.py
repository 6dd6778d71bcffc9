"""Waits for the commands of all nodes and makes one exit code of theirs."""

import signal
from collections.abc import Sequence
from time import sleep
from typing import NamedTuple, Protocol

from vecchess.errors import WorkerDied
from vecchess.runtime.json_pipe import Message
from vecchess.runtime.reporting import ReportLine
from vecchess.runtime.signals import StopSignals, way_to_end

OK, RESUMABLE, INTERRUPTED = 0, 75, 130
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
    """As vecchess's; 1 where the node was lost or the command killed."""
    output: str
    """The last line on its stdout: its summary, with ``--json``."""


def wait_for_nodes(
    processes: Sequence[WatchedProcess], stop: StopSignals, report_line: ReportLine
) -> list[NodeResult]:
    """Wait until all commands have ended; the first to end comes first.

    Where one fails or is lost, or a signal comes, all others are asked to stop. ``report_line``
    gets every line on stderr, with the node's name before it.
    """
    results: dict[str, NodeResult] = {}
    output: dict[str, str] = {}
    is_stopping = False
    while running := [process for process in processes if process.name not in results]:
        for process in running:
            name = process.name
            for message in process.messages():
                if message["kind"] == "err":
                    report_line(f"{name} | {message['line']}")
                elif message["kind"] == "out":
                    output[name] = message["line"]
                else:
                    code, outcome = _outcome(message, is_stopping)
                    results[name] = NodeResult(name, code, output.get(name, ""))
                    if outcome:
                        report_line(f"{name} {outcome}")
        if not is_stopping and (stop.reason or any(end.exit_code for end in results.values())):
            is_stopping = True
            _stop([process for process in running if process.name not in results], report_line)
        sleep(POLL_S)
    return list(results.values())


def joined_code(results: list[NodeResult], stopped_by: str) -> int:
    """One exit code for all: the first that failed, since later failures may follow from it.

    Else 75 where some were stopped and saved, or all before they began; 130 where Ctrl-C did that
    (``stopped_by`` "SIGINT").
    """
    codes = [result.exit_code for result in results]
    failed = [code for code in codes if code not in (OK, RESUMABLE)]
    if failed:
        return failed[0]
    if results and RESUMABLE not in codes:
        return OK
    return INTERRUPTED if stopped_by == "SIGINT" else RESUMABLE


def _stop(processes: list[WatchedProcess], report_line: ReportLine) -> None:
    if processes:
        report_line(f"stopping {', '.join(process.name for process in processes)}")
    for process in processes:
        process.stop()


def _outcome(message: Message, is_stopping: bool) -> tuple[int, str]:
    """The exit code of a command that ended, and what to print about it where it failed."""
    if message["kind"] == "lost":
        return WorkerDied.exit_code, f"is lost: {message['reason']}"
    code: int = message["exit_code"]
    if code == -signal.SIGTERM and is_stopping:  # it had no handler yet, and nothing to save
        return RESUMABLE, ""
    if code < 0:
        return WorkerDied.exit_code, f"was {way_to_end(code)}"
    return code, "" if code in (OK, RESUMABLE) else f"ended with {way_to_end(code)}"
