"""Posts that do as they are told: who is stopped when, what is said, what comes out."""

import pytest

from vecchess.ray_launcher.node_process import News
from vecchess.ray_launcher.wait import Ending, joined_code, watch
from vecchess.runtime.signals import StopSignals


class Scripted:
    """A post whose command lives through ``news``, and ends with ``when_stopped`` where asked."""

    def __init__(self, name: str, news: list[News], when_stopped: int = 75) -> None:
        self.name = name
        self._news, self._when_stopped = list(news), when_stopped
        self.stops = 0

    def news(self) -> News:
        if self.stops:
            return [("ended", self._when_stopped)]
        return self._news.pop(0) if self._news else []

    def stop(self) -> None:
        self.stops += 1


def watched(*posts: Scripted, stopped_by: str = "") -> tuple[list[Ending], list[str], int]:
    stop, said = StopSignals(), list[str]()
    stop.request_stop(stopped_by)
    endings = watch(posts, stop, said.append)
    return endings, said, joined_code(endings, stop.reason)


def test_lines_have_the_node_before_them_and_the_last_output_is_kept() -> None:
    first = Scripted("a/0", [[("err", "one"), ("out", "{}")], [("err", "two"), ("ended", 0)]])
    second = Scripted("b/1", [[("out", "no"), ("out", "yes"), ("ended", 0)]])
    endings, said, code = watched(first, second)
    assert (said, code) == (["a/0 | one", "a/0 | two"], 0)
    assert endings == [Ending("b/1", 0, "yes"), Ending("a/0", 0, "{}")]
    assert (first.stops, second.stops) == (0, 0)


@pytest.mark.parametrize(
    ("news", "words", "code"),
    [
        (("lost", "its node died"), "is lost: its node died", 1),
        (("ended", -9), "was killed by SIGKILL", 1),
        (("ended", 2), "ended with exit code 2", 2),
    ],
)
def test_where_one_fails_the_others_are_stopped(
    news: tuple[str, int | str], words: str, code: int
) -> None:
    finished = Scripted("a/0", [[("ended", 0)]])
    running, failing = Scripted("b/1", []), Scripted("c/2", [[], [news]])
    endings, said, joined = watched(finished, running, failing)
    assert said == [f"c/2 {words}", "stopping b/1"]
    assert joined == code
    assert [post.stops for post in (finished, running, failing)] == [0, 1, 0]
    assert [ending.exit_code for ending in endings] == [0, code, 75]


def test_one_that_was_stopped_stops_the_others() -> None:
    other = Scripted("b/1", [])
    _, said, code = watched(Scripted("a/0", [[("ended", 75)]]), other)
    assert (said, code, other.stops) == (["stopping b/1"], 75, 1)


@pytest.mark.parametrize(("signal", "code"), [("SIGINT", 130), ("SIGTERM", 75)])
def test_a_signal_stops_all(signal: str, code: int) -> None:
    early = Scripted("b/1", [], when_stopped=-15)  # not so far that it heeds signals
    _, said, joined = watched(Scripted("a/0", []), early, stopped_by=signal)
    assert (said, joined) == (["stopping a/0, b/1"], code)


def test_a_signal_that_comes_too_late_changes_nothing() -> None:
    assert watched(Scripted("a/0", [[("ended", 0)]]), stopped_by="SIGTERM")[2] == 0


def test_a_failure_counts_more_than_a_signal() -> None:
    assert watched(Scripted("a/0", [], when_stopped=1), stopped_by="SIGTERM")[2] == 1
    assert joined_code([Ending("a/0", 2, ""), Ending("b/1", 1, "")], "") == 2


def test_a_signal_before_anything_began() -> None:
    assert (joined_code([], "SIGTERM"), joined_code([], "SIGINT")) == (75, 130)
