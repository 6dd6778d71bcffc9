"""The display of long work: on a terminal, elsewhere, and quiet."""

from io import StringIO

import pytest
from rich.console import Console

from vecchess.runtime import progress
from vecchess.runtime.progress import ProgressDisplay, bar_line


def terminal(text: StringIO, term: str = "xterm") -> Console:
    return Console(file=text, force_terminal=True, width=100, _environ={"TERM": term})


def test_a_terminal_is_redrawn_at_once_and_left_clean() -> None:
    text = StringIO()
    with ProgressDisplay(terminal(text)) as display:
        display.update(lambda: "1 of 9", lambda: bar_line(1, 9, "1 of 9 [games]", last="soon"))
        display.print("a line [that] stays")
        display.draw("9 of 9")
        display.update(lambda: pytest.fail("drawn again within a quarter of a second"))
    for part in ("1 of 9 [games]", "soon", "a line [that] stays", "9 of 9"):
        assert part in text.getvalue()


@pytest.mark.parametrize("console", [lambda t: Console(file=t), lambda t: terminal(t, "dumb")])
def test_elsewhere_a_line_every_ten_seconds(console, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    now, text = [0.0], StringIO()
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    with ProgressDisplay(console(text)) as display:
        for second in range(25):
            now[0] = float(second)
            display.update(lambda: f"{now[0]:.0f} s", lambda: pytest.fail("no picture"))
        display.restart()
        now[0] = 31.0
        display.update(lambda: pytest.fail("ten seconds have not passed"))
    assert text.getvalue().splitlines() == ["10 s", "20 s"]


def test_a_quiet_display_prints_only_what_it_is_given() -> None:
    text = StringIO()
    with ProgressDisplay(terminal(text), quiet=True) as display:
        display.update(lambda: pytest.fail("progress"))
        display.print("a worker was replaced")
    assert text.getvalue() == "a worker was replaced\n"
