"""What ``vecchess replay`` says to people."""

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from vecchess.replay.run_replay import ReplayProgress
from vecchess_cli.tables import replay_tables
from vecchess_cli.tables.replay_tables import difference_lines, following, verdict_of_game


def difference(ply: int | None, *names: str, **more: Any) -> dict[str, Any]:
    changes = [{"what": name, "recorded": 1, "now": 2} for name in names]
    return {"game": 4, "ply": ply, "changes": changes} | more


def test_differences_in_words() -> None:
    moves = {"move_recorded": "3. Nf3", "move_now": "3. Nf3"}
    lines = difference_lines(difference(4, "win", "tag", **moves))
    assert lines[0] == "game 4 differs first at ply 4 (3. Nf3); recorded / now:"
    assert lines[1:] == ["  win: 1 / 2", "  hash of the answers so far: 1 / 2"]
    alone = difference_lines(difference(4, "tag", **moves))
    assert "a ply or two before" in alone[-1]
    other = difference_lines(difference(4, "action", **moves | {"move_now": "3. d4"}))
    assert "(3. Nf3 / 3. d4)" in other[0]
    over = difference_lines(difference(9, "length", move_recorded=None, move_now="5... a6"))
    assert "(over / 5... a6)" in over[0]
    whole = difference_lines(difference(None, "fingerprint"))
    assert "every ply is the same" in whole[0]


@pytest.mark.parametrize(("known", "words"), [(True, "bit-identical"), (False, "not compared")])
def test_the_verdict_says_what_was_compared(known: bool, words: str) -> None:
    assert words in verdict_of_game({"difference": None, "hashes_known": known})


def test_progress_on_a_terminal() -> None:
    text = StringIO()
    console = Console(file=text, force_terminal=True, width=100, _environ={"TERM": "xterm"})
    with following(console, quiet=False) as tell:
        tell(ReplayProgress(20))
        tell(ReplayProgress(20, 20, 700, [{}, {}]))
    assert "20/20" in text.getvalue()
    assert "700 plies, 2 differ" in text.getvalue()


def test_progress_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(replay_tables, "monotonic", lambda: now[0])
    text = StringIO()
    with following(Console(file=text, width=100), quiet=False) as tell:
        for second in range(25):
            now[0] = float(second)
            tell(ReplayProgress(1000, second, 30 * second))
    lines = text.getvalue().splitlines()
    assert [line.split()[0] for line in lines] == ["10", "20"]
    assert "10/1,000 games  300 plies  0 differ" in lines[0]
    with following(Console(file=text, width=100), quiet=True) as tell:
        tell(ReplayProgress(1, 1))
    assert len(text.getvalue().splitlines()) == 2
