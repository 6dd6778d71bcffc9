"""A dashboard beside a command: a process of its own that ends with it, whatever ends it."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import IO, Annotated, ContextManager

import typer

from vecchess_cli.output import people

END_WAIT_S = 5.0

Dash = Annotated[
    bool, typer.Option("--dash/--no-dash", help="Show the run in the browser while it goes on.")
]
DashPort = Annotated[
    int, typer.Option(min=0, max=65535, help="Port of --dash; another where it is taken.")
]
DASH_PORT = 8765


def dashboard_of(
    wanted: bool, port: int, run_dir: Path | None, kind: str
) -> tuple[Path | None, ContextManager[None]]:
    """The run's folder, named here where it has no name, and the dashboard to enter.

    Of several ranks of one training only the first has one.
    """
    if not wanted or os.environ.get("RANK", "0") != "0":
        return run_dir, nullcontext()
    folder = run_dir or Path("runs") / f"{kind}-{datetime.now():%Y%m%d-%H%M%S}"
    return folder, _dashboard(folder, port)


@contextmanager
def _dashboard(run_dir: Path, port: int) -> Iterator[None]:
    """Show ``run_dir`` as long as this is entered; the address is printed once it is known.

    The other process ends when its standard input does, so also when this one is killed. It has a
    session of its own: Ctrl-C ends the run first, and the dashboard shows how.
    """
    command = [sys.executable, "-m", "vecchess_cli.main", "dash", str(run_dir), "--until-eof"]
    child = subprocess.Popen(
        [*command, "--port", str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stdin is not None
    assert child.stderr is not None
    threading.Thread(target=_pass_on, args=(child.stderr,), daemon=True).start()
    try:
        yield
    finally:
        child.stdin.close()
        try:
            child.wait(END_WAIT_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _pass_on(lines: IO[str]) -> None:
    """Print what it says for people, above whatever live lines there are."""
    console = people()
    for line in lines:
        console.print(line.rstrip(), markup=False)
