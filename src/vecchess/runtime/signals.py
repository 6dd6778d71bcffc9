"""What asks a run to stop: signals, for as long as somebody is to heed them."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum, auto
from types import FrameType
from typing import Self

EXIT_OK, EXIT_RESUMABLE, EXIT_INTERRUPTED = 0, 75, 130
STANDARD_STREAMS = (0, 1, 2)
AGAIN_S = 0.02


def stop_signals() -> list[signal.Signals]:
    """What asks a run to stop. The parent heeds them; workers wait for its word."""
    names = ("SIGINT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGHUP")
    return [getattr(signal, name) for name in names if hasattr(signal, name)]


def exit_code(stopped_by: str) -> int:
    """Of a run that ended well: by itself (""), by Ctrl-C, or by another signal."""
    return {"": EXIT_OK, "SIGINT": EXIT_INTERRUPTED}.get(stopped_by, EXIT_RESUMABLE)


class Stopped(BaseException):  # of a KeyboardInterrupt typer would make exit code 130
    """Somebody asked to stop while there was nothing to save yet."""

    def __init__(self, reason: str) -> None:
        """``reason``: the signal's name."""
        super().__init__(f"stopped by {reason} before anything was begun")
        self.exit_code = exit_code(reason)


class Answer(Enum):
    """What the first signal does."""

    NOTE = auto()
    """It sets ``reason``: somebody looks at it, and saves."""
    RAISE = auto()
    """It raises ``Stopped`` as well: what is going on may take long, and need not be finished."""
    LEAVE = auto()
    """It ends the process. An exception in the midst of an import can get lost, or become another
    one."""


class StopSignals:
    """Heeds signals inside a ``with``: the first asks to stop, a second SIGINT to leave at once.

    Outside of it nothing is heeded, and ``ask`` alone can set a reason. To be entered in the main
    thread, as Python wants it. A SIGHUP that whoever started us ignores, as ``nohup`` does, stays
    ignored. Sent to another process it is one that heeds nothing there.
    """

    def __init__(self, interrupts: bool = False, answer: Answer = Answer.NOTE) -> None:
        """Nobody has asked yet. ``interrupts``: that second SIGINT raises KeyboardInterrupt too,
        for whoever does not look at ``must_leave_now`` all the time."""
        self._interrupts, self._answer = interrupts, answer
        self._has_raised = self._is_lost = self._comes_again = False
        self._again: threading.Timer | None = None
        self.reason = ""
        """Name of the first signal that came, or what was given to ``ask``; "" while none did."""
        self.must_leave_now = False
        """True once nothing is to be waited for any more."""

    def __reduce__(self) -> tuple[type[Self], tuple[bool]]:
        return type(self), (self._interrupts,)

    def __enter__(self) -> Self:
        """Take the signals over."""
        self._terminals = [stream for stream in STANDARD_STREAMS if os.isatty(stream)]
        self._previous = {
            number: signal.signal(number, self._handle)
            for number in stop_signals()
            if number == signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN
        }
        self._hook, sys.unraisablehook = sys.unraisablehook, self._raise_again
        return self

    def __exit__(self, *_: object) -> None:
        """Give them back."""
        self._settle()
        sys.unraisablehook = self._hook
        for number, action in self._previous.items():
            signal.signal(number, action)

    def ask(self, reason: str) -> None:
        """Ask to stop; the first reason stands."""
        self.reason = self.reason or reason

    def begin(self, answer: Answer = Answer.NOTE) -> None:
        """Answer so from now on. Raises Stopped where somebody has asked, and that was to raise."""
        self._settle()
        raises = Answer.RAISE in (answer, self._answer)
        self._answer = answer
        if self.reason and raises:
            raise Stopped(self.reason)

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Within the block signals raise Stopped; at its ends one that came before does."""
        before = self._answer
        try:
            self.begin(Answer.RAISE)
            yield
            self.begin(Answer.RAISE)  # an exception can get lost on its way
        finally:
            self._answer = before

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._comes_again:
            self._comes_again = False
            if self._is_lost:
                self._is_lost = False
                raise Stopped(self.reason)
            return
        if number == getattr(signal, "SIGHUP", None):
            self._leave_terminal()
        if self.reason and number == signal.SIGINT:
            self.must_leave_now = True
            if self._interrupts:
                raise KeyboardInterrupt
        is_first = not self.reason
        self.ask(signal.Signals(number).name)
        if self._answer is Answer.LEAVE:
            _leave(self.reason)
        if is_first and self._answer is Answer.RAISE:
            self._has_raised = True
            raise Stopped(self.reason)

    def _raise_again(self, unraisable: "sys.UnraisableHookArgs") -> None:
        """A callback from C code, as numba has many, lets no exception through: once more, then.

        What was half made when it came may complain when it goes: that means nothing.
        """
        if not self._has_raised:
            self._hook(unraisable)
        elif unraisable.exc_type is Stopped and self._answer is Answer.RAISE:
            self._is_lost = True
            self._again = threading.Timer(AGAIN_S, self._send_again)
            self._again.start()

    def _send_again(self) -> None:
        self._comes_again = True
        os.kill(os.getpid(), signal.Signals[self.reason])

    def _settle(self) -> None:
        """Whoever called knows of the reason: what got lost need not be raised any more."""
        self._is_lost = False
        if self._again is not None:
            self._again.cancel()
            self._again.join()
            self._again = None

    def _leave_terminal(self) -> None:
        """Where it is gone, no line to it is to fail."""
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in self._terminals:
            if not os.isatty(stream):
                os.dup2(nowhere, stream)
        os.close(nowhere)


def _leave(reason: str) -> None:
    stopped = Stopped(reason)
    with suppress(OSError):
        os.write(2, f"vecchess: {stopped}\n".encode())
    os._exit(stopped.exit_code)
