"""What others wrote reaches no terminal as a command."""

import errno
import io
import os
import subprocess
import sys

import pytest
from rich.live import Live
from rich.table import Table
from rich.text import Text

from vecchess.runtime.terminal import CleanConsole, note_console
from vecchess.safe_parse import printable

EVIL = "a\x1b]0;title\x07\x1b[2J\u202eb\x9b2J\x00\r"
SAFE = "a?]0;title??[2J?b?2J?"


def test_a_text_keeps_its_lines_and_loses_its_commands() -> None:
    assert printable("caf\u00e9 \u2654\n\tx") == "caf\u00e9 \u2654\n\tx"
    assert printable(EVIL) == f"{SAFE}?"


@pytest.mark.parametrize("is_terminal", [True, False])
def test_texts_tables_and_live_pictures_are_clean(is_terminal: bool) -> None:
    file = io.StringIO()
    console = CleanConsole(
        file=file,
        width=60,
        force_terminal=is_terminal,
        color_system="truecolor" if is_terminal else None,
    )
    table = Table(EVIL)
    table.add_row(Text(EVIL, "bold red"))
    console.print(EVIL, markup=False)
    console.print(table)
    with Live(table, console=console, auto_refresh=False) as live:
        live.update(Text(EVIL), refresh=True)
    written = file.getvalue()
    assert written.count("title") >= 3
    for command in ("\x1b]", "\x1b[2J", "\u202e", "\x9b", "\x00", "\x07"):
        assert command not in written
    assert ("\x1b[1;31m" in written) is is_terminal


@pytest.mark.thorough
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_a_stdout_without_the_characters_gets_others(encoding: str) -> None:
    command = [sys.executable, "-m", "vecchess_cli.main", "net", "info", "material\u2654"]
    done = subprocess.run(
        command, capture_output=True, check=False, env=os.environ | {"PYTHONIOENCODING": encoding}
    )
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert done.stderr.startswith(b"vecchess: error: ")


class _Refusing(io.StringIO):
    """A file on a device that takes nothing."""

    error = errno.ENOSPC

    def write(self, text: str) -> int:
        raise OSError(self.error, "refused")


def test_no_run_ends_because_the_disk_of_its_log_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    console, full, room = note_console(), _Refusing(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", full)
    console.print("lost")
    with Live(Text("lost"), console=console, auto_refresh=False) as live:
        live.update(Text("lost too"), refresh=True)
    monkeypatch.setattr(sys, "stderr", room)
    console.print("there")
    assert room.getvalue() == "there\n"
    full.error = errno.EPIPE
    monkeypatch.setattr(sys, "stderr", full)
    with pytest.raises(SystemExit):  # the reader has gone
        console.print("lost")
