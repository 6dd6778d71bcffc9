"""Texts of ``vecchess replay``."""

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from vecchess.replay.run_replay import ReplayProgress
from vecchess.runtime.progress import ProgressDisplay
from vecchess_cli.commands.runs.replay import difference_row, show_progress, verdict_of_game


def difference(ply: int | None, *names: str, **more: Any) -> dict[str, Any]:
    changes = [{"what": name, "recorded": 1, "now": 2} for name in names]
    return {"game": 4, "ply": ply, "changes": changes} | more


def test_differences_in_words() -> None:
    moves = {"move_recorded": "3. Nf3", "move_now": "3. Nf3"}
    assert difference_row(difference(4, "win", "tag", **moves)) == {
        "game": 4,
        "first_at_ply": 4,
        "move": "3. Nf3",
        "recorded / now": "win: 1 / 2; hash of the answers so far: 1 / 2",
    }
    alone = {"difference": difference(4, "tag", **moves)}
    assert "a ply or two before" in verdict_of_game(alone)
    other = difference_row(difference(4, "action", **moves | {"move_now": "3. d4"}))
    assert other["move"] == "3. Nf3 / 3. d4"
    over = difference_row(difference(9, "length", move_recorded=None, move_now="5... a6"))
    assert over["move"] == "over / 5... a6"
    whole = difference_row(difference(None, "fingerprint"))
    assert (whole["first_at_ply"], whole["move"]) == ("none", "")


@pytest.mark.parametrize(("known", "words"), [(True, "bit-identical"), (False, "not compared")])
def test_the_verdict_says_what_was_compared(known: bool, words: str) -> None:
    assert words in verdict_of_game({"difference": None, "hashes_known": known})


def test_progress_of_a_check() -> None:
    text = StringIO()
    console = Console(file=text, force_terminal=True, width=100, _environ={"TERM": "xterm"})
    with ProgressDisplay(console) as display:
        show_progress(display, ReplayProgress(20, 20, 700, [{}, {}]))
    assert "20/20 games" in text.getvalue()
    assert "700 plies, 2 differ" in text.getvalue()
