"""The full screen: follows a run, reads keys, and leaves the terminal as it was."""

import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from rich.live import Live

from vecchess.runtime.terminal import CleanConsole
from vecchess.watch.follow import RunFollower
from vecchess.watch.screen import Screen

REFRESH_S = 1.0
LOOK_S = 0.1
"""Seconds after which a changed size of the terminal is seen."""
STEPS = {"\x1b[A": -1, "\x1b[B": 1, "\x1bOA": -1, "\x1bOB": 1, "k": -1, "j": 1}
PAGE_KEYS = {"\x1b[5~": -1, "\x1b[6~": 1}
END_KEYS = {"\x1b[H": -1, "\x1b[1~": -1, "\x1bOH": -1, "\x1b[F": 1, "\x1b[4~": 1, "\x1bOF": 1}
FAR = 1 << 30
CTRL_C = "\x03"


def watch_screen(follower: RunFollower) -> int:
    """Follow the run until the user quits; returns the exit code.

    Ctrl-C (KeyboardInterrupt) and SIGTERM end it after the terminal was restored.
    """
    console, screen = CleanConsole(), Screen()
    signal.signal(signal.SIGTERM, _end)
    with _single_keys(), Live(console=console, screen=True, auto_refresh=False) as live:
        due, size = 0.0, console.size
        while True:
            now = time.monotonic()
            keys = _read_keys(min(max(due - now, 0.0), LOOK_S))
            if any(not press(screen, key) for key in keys):
                return 0
            is_due = time.monotonic() >= due
            if is_due and not screen.is_paused:
                follower.refresh()
            if is_due or keys or console.size != size:
                due = time.monotonic() + REFRESH_S if is_due else due
                size = console.size
                waiting = f"no run in {follower.runs} yet"
                live.update(screen.draw(follower.view, waiting, *size), refresh=True)


def press(screen: Screen, key: str) -> bool:
    """Do what a key says; returns whether to go on."""
    if key == CTRL_C:
        raise KeyboardInterrupt
    if screen.is_helping:
        screen.is_helping = False
    elif key in ("q", "Q"):
        return False
    elif key in ("\t", "\x1b[Z"):
        screen.turn(1 if key == "\t" else -1)
    elif key == "p":
        screen.is_paused = not screen.is_paused
    elif key == "?":
        screen.is_helping = True
    elif key in STEPS:
        screen.pane.scroll(STEPS[key])
    elif key in PAGE_KEYS:
        screen.pane.scroll(PAGE_KEYS[key] * max(screen.pane.height - 1, 1))
    elif key in END_KEYS:
        screen.pane.scroll(END_KEYS[key] * FAR)
    return True


def split_keys(text: str) -> Iterator[str]:
    """The keys that a terminal sent: characters, and sequences that begin with an escape."""
    while text:
        length = 1
        if text[:2] in ("\x1b[", "\x1bO"):
            length = next((at + 1 for at, c in enumerate(text) if at > 1 and "@" <= c <= "~"), 2)
        yield text[:length]
        text = text[length:]


def _read_keys(seconds: float) -> list[str]:
    """The keys that were pressed within so many seconds."""
    if not select.select([sys.stdin], [], [], seconds)[0]:
        return []
    data = os.read(sys.stdin.fileno(), 1024)
    if not data:  # the terminal is gone
        raise SystemExit(128 + signal.SIGHUP)
    return list(split_keys(data.decode(errors="replace")))


@contextmanager
def _single_keys() -> Iterator[None]:
    """Let keys come one by one, unseen, Ctrl-C too."""
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    modes = termios.tcgetattr(sys.stdin)
    modes[3] &= ~termios.ISIG
    termios.tcsetattr(sys.stdin, termios.TCSANOW, modes)
    try:
        yield
    finally:
        with suppress(termios.error):
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _end(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)
