"""Looks after the commands of a fleet until all have ended, and what their exit codes come to."""

import signal
from collections.abc import Sequence
from time import sleep
from typing import NamedTuple, Protocol

from vecchess.errors import WorkerDied
from vecchess.ray_launcher.node_process import News
from vecchess.runtime.reporting import ReportLine
from vecchess.runtime.signals import StopSignals

OK, RESUMABLE, INTERRUPTED = 0, 75, 130
POLL_S = 0.1


class Posted(Protocol):
    """What is asked of a ``Post``, wherever it is."""

    name: str

    def news(self) -> News: ...
    def stop(self) -> None: ...


class Ending(NamedTuple):
    """How one node's command ended."""

    name: str
    exit_code: int
    """As vecchess's; 1 where the node was lost or the command killed."""
    output: str
    """The last line on its stdout: its summary, with ``--json``."""


def watch(posts: Sequence[Posted], stop: StopSignals, report_line: ReportLine) -> list[Ending]:
    """Until all commands have ended; the first to end comes first.

    Where one fails or is lost, or a signal comes, all others are asked to stop. ``report_line``
    gets every line for people, with the node's name before it.
    """
    endings: dict[str, Ending] = {}
    output: dict[str, str] = {}
    is_stopping = False
    while left := [post for post in posts if post.name not in endings]:
        for post in left:
            for kind, what in post.news():
                if kind == "err":
                    report_line(f"{post.name} | {what}")
                elif kind == "out":
                    output[post.name] = what
                else:
                    code, words = _judged(kind, what, is_stopping)
                    endings[post.name] = Ending(post.name, code, output.get(post.name, ""))
                    if words:
                        report_line(f"{post.name} {words}")
        if not is_stopping and (stop.reason or any(end.exit_code for end in endings.values())):
            is_stopping = True
            _stop([post for post in left if post.name not in endings], report_line)
        sleep(POLL_S)
    return list(endings.values())


def joined_code(endings: list[Ending], stopped_by: str) -> int:
    """One exit code for all: the first that failed, since later failures may follow from it.

    Else 75 where some were stopped and saved, or all before they began; 130 where Ctrl-C did that
    (``stopped_by`` "SIGINT").
    """
    codes = [ending.exit_code for ending in endings]
    failed = [code for code in codes if code not in (OK, RESUMABLE)]
    if failed:
        return failed[0]
    if endings and RESUMABLE not in codes:
        return OK
    return INTERRUPTED if stopped_by == "SIGINT" else RESUMABLE


def _stop(posts: list[Posted], report_line: ReportLine) -> None:
    if posts:
        report_line(f"stopping {', '.join(post.name for post in posts)}")
    for post in posts:
        post.stop()


def _judged(kind: str, what: str | int, is_stopping: bool) -> tuple[int, str]:
    """The exit code of a command that ended, and words about it where it went wrong."""
    if kind == "lost":
        return WorkerDied.exit_code, f"is lost: {what}"
    code = int(what)
    if code == -signal.SIGTERM and is_stopping:  # too early to heed signals: nothing to save
        return RESUMABLE, ""
    if code < 0:
        return WorkerDied.exit_code, f"was killed by {_signal_name(-code)}"
    return code, "" if code in (OK, RESUMABLE) else f"ended with exit code {code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
