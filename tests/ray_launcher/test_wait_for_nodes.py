"""Commands with scripted messages: which are stopped when, printed lines, exit codes."""

import pytest

from vecchess.ray_launcher.run_ray import NodeResult, joined_code, wait_for_nodes
from vecchess.runtime.json_pipe import Message
from vecchess.runtime.signals import StopSignals

VALUES = {"err": "line", "out": "line", "ended": "exit_code", "lost": "reason"}


class Scripted:
    """A command that sends ``batches`` of messages, and ends with ``when_stopped`` once asked."""

    def __init__(
        self, name: str, batches: list[list[tuple[str, str | int]]], when_stopped: int = 75
    ) -> None:
        self.name = name
        self._batches, self._when_stopped = list(batches), when_stopped
        self.stops = 0

    def messages(self) -> list[Message]:
        if self.stops:
            return [{"kind": "ended", "exit_code": self._when_stopped}]
        batch = self._batches.pop(0) if self._batches else []
        return [{"kind": kind, VALUES[kind]: value} for kind, value in batch]

    def stop(self) -> None:
        self.stops += 1


def waited(*processes: Scripted, stopped_by: str = "") -> tuple[list[NodeResult], list[str], int]:
    stop, lines = StopSignals(), list[str]()
    stop.request_stop(stopped_by)
    results = wait_for_nodes(processes, stop, lines.append)
    return results, lines, joined_code(results, stop.reason)


def test_lines_have_the_node_before_them_and_their_output_is_kept() -> None:
    first = Scripted("a/0", [[("err", "one"), ("out", "{}")], [("err", "two"), ("ended", 0)]])
    second = Scripted("b/1", [[("out", "no"), ("out", "yes"), ("ended", 0)]])
    results, lines, code = waited(first, second)
    assert (lines, code) == (["a/0 | one", "a/0 | two"], 0)
    assert results == [NodeResult("b/1", 0, "no\nyes"), NodeResult("a/0", 0, "{}")]
    assert (first.stops, second.stops) == (0, 0)


@pytest.mark.parametrize(
    ("message", "words", "code"),
    [
        (("lost", "its node died"), "is lost: its node died", 1),
        (("ended", -9), "was killed by SIGKILL", 1),
        (("ended", 2), "ended with exit code 2", 2),
    ],
)
def test_where_one_fails_the_others_are_stopped(
    message: tuple[str, int | str], words: str, code: int
) -> None:
    finished = Scripted("a/0", [[("ended", 0)]])
    running, failing = Scripted("b/1", []), Scripted("c/2", [[], [message]])
    results, lines, joined = waited(finished, running, failing)
    assert lines == [f"c/2 {words}", "stopping b/1"]
    assert joined == code
    assert [process.stops for process in (finished, running, failing)] == [0, 1, 0]
    assert [result.exit_code for result in results] == [0, code, 75]


def test_one_that_was_stopped_stops_the_others() -> None:
    other = Scripted("b/1", [])
    _, lines, code = waited(Scripted("a/0", [[("ended", 75)]]), other)
    assert (lines, code, other.stops) == (["stopping b/1"], 75, 1)


@pytest.mark.parametrize(("signal", "code"), [("SIGINT", 130), ("SIGTERM", 75)])
def test_a_signal_stops_all(signal: str, code: int) -> None:
    early = Scripted("b/1", [], when_stopped=-15)  # before it has a handler
    _, lines, joined = waited(Scripted("a/0", []), early, stopped_by=signal)
    assert (lines, joined) == (["stopping a/0, b/1"], code)


def test_a_signal_that_comes_too_late_changes_nothing() -> None:
    assert waited(Scripted("a/0", [[("ended", 0)]]), stopped_by="SIGTERM")[2] == 0


def test_a_failure_counts_more_than_a_signal() -> None:
    assert waited(Scripted("a/0", [], when_stopped=1), stopped_by="SIGTERM")[2] == 1
    assert joined_code([NodeResult("a/0", 2, ""), NodeResult("b/1", 1, "")], "") == 2


def test_a_signal_before_anything_began() -> None:
    assert (joined_code([], "SIGTERM"), joined_code([], "SIGINT")) == (75, 130)
