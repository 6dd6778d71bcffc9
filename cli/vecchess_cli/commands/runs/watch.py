"""``vecchess watch``: a run in the terminal, live."""

import os
import sys
from contextlib import nullcontext
from typing import Annotated

import typer

from vecchess.runtime.progress import PLAIN_INTERVAL_S
from vecchess.safe_parse import printable
from vecchess_cli.options import command_app
from vecchess_cli.output import note


def watch(
    run: Annotated[
        str | None,
        typer.Argument(help="Folder or URL of a run.", show_default="the newest in runs/"),
    ] = None,
    simple: Annotated[bool, typer.Option("--simple", help="Print lines, not pages.")] = False,
    interval: Annotated[
        float, typer.Option(help="Seconds between these lines.", min=0.1)
    ] = PLAIN_INTERVAL_S,
) -> int:
    """Watch a run in the terminal: progress, workers, GPUs, bottleneck, curves and results.

    It only reads the run's folder, so it may be started and ended at any time, by several people,
    and on another machine that sees the folder; a run at a URL from anywhere, but not its boards.
    Without RUN it shows the newest run in runs/, waits for one where there is none, and turns to a
    newer one when this one has ended.

    On a terminal it takes the whole screen: q quits, tab turns pages, ? helps. With --simple,
    without a terminal or with TERM=dumb it prints lines on stdout, and ends with the run: exit code
    0 where it was done, 3 where it was stopped, failed or killed. NO_COLOR is respected.

    Examples:  vecchess watch

    vecchess watch runs/first --simple --interval 60
    """
    from vecchess.store.remote.run_places import followed_run
    from vecchess.watch.follow import RunFollower

    with nullcontext() if run is None else followed_run(run, note, with_shards=False) as folder:
        follower = RunFollower(folder)
        if simple or not _has_screen():
            from vecchess.watch.plain_lines import watch_lines

            return watch_lines(follower, interval, _print_line)
        from vecchess.watch.app import watch_screen

        return watch_screen(follower)


app = command_app(watch)


def _print_line(line: str) -> None:
    """Print a line at once; what it tells of a run may be another's text."""
    print(printable(line), flush=True)


def _has_screen() -> bool:
    """Whether there is a terminal that can be drawn on."""
    if sys.platform == "win32":  # no termios: keys cannot be read one by one
        return False
    are_terminals = all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    return are_terminals and os.environ.get("TERM", "dumb") not in ("dumb", "unknown", "")
