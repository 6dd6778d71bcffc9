"""A dashboard beside a command: a process of its own that ends when the command does."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import IO, Annotated

import typer

from vecchess.runtime.child_program import end_program, start_program
from vecchess_cli.output import notes

END_WAIT_S = 5.0

Dash = Annotated[bool, typer.Option("--dash/--no-dash", help="Show the run in the browser.")]
DashPort = Annotated[
    int, typer.Option(min=0, max=65535, help="Port of --dash; another one if it is in use.")
]
DASH_PORT = 8765


def dashboard_of(
    wanted: bool, port: int, run_dir: Path | None, kind: str
) -> tuple[Path | None, AbstractContextManager[None]]:
    """The run's folder (a new name if None) and the dashboard, a context to enter.

    Of the ranks of one training only the first has a dashboard.
    """
    if not wanted or os.environ.get("RANK", "0") != "0":
        return run_dir, nullcontext()
    folder = run_dir or Path("runs") / f"{kind}-{datetime.now():%Y%m%d-%H%M%S}"
    return folder, _dashboard(folder, port)


@contextmanager
def _dashboard(run_dir: Path, port: int) -> Iterator[None]:
    """Show ``run_dir`` while the context is entered; its address is printed once it is known.

    The dashboard's process ends when its standard input does, so also when this process is killed.
    It has its own session: Ctrl-C ends the run first, and the dashboard shows how it ended.
    """
    command = [sys.executable, "-m", "vecchess_cli.main", "dash", str(run_dir), "--until-eof"]
    child = start_program(
        [*command, "--port", str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    assert child.stderr is not None
    threading.Thread(target=_print_lines, args=(child.stderr,), daemon=True).start()
    try:
        yield
    finally:
        child.stdin.close()
        end_program(child, END_WAIT_S)


def _print_lines(lines: IO[str]) -> None:
    """Print the dashboard's lines, above what is drawn in place."""
    console = notes()
    for line in lines:
        console.print(line.rstrip(), markup=False)
