"""Stop signals: the first one asks a run to save and end, a second Ctrl-C ends it at once.

Decisions 186 to 189.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum, auto
from time import monotonic
from types import FrameType
from typing import Any, Self

EXIT_OK, EXIT_RESUMABLE, EXIT_INTERRUPTED = 0, 75, 130
STANDARD_STREAMS = (0, 1, 2)
RESEND_S = 0.02


def stop_signals() -> list[signal.Signals]:
    """The signals that ask a run to stop. Workers ignore them and wait for the parent's message."""
    names = ("SIGINT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGHUP")
    return [getattr(signal, name) for name in names if hasattr(signal, name)]


def exit_code(stopped_by: str) -> int:
    """Exit code of a run that ended by itself (""), by Ctrl-C ("SIGINT") or by another signal."""
    return {"": EXIT_OK, "SIGINT": EXIT_INTERRUPTED}.get(stopped_by, EXIT_RESUMABLE)


def stopped_text(stopped_by: str) -> str:
    """How people read a signal's name or another reason: "stopped with Ctrl-C"."""
    return "stopped with Ctrl-C" if stopped_by == "SIGINT" else f"stopped by {stopped_by}"


def way_to_end(exit_code: int | None) -> str:
    """How a process ended, by its exit code: "killed by SIGKILL", "exit code 3"."""
    if exit_code is None or exit_code >= 0:
        return f"exit code {exit_code}"
    try:
        return f"killed by {signal.Signals(-exit_code).name}"
    except ValueError:  # a real-time signal
        return f"killed by signal {-exit_code}"


class Stopped(BaseException):  # of a KeyboardInterrupt typer would make exit code 130
    """A stop was requested before there was anything to save."""

    def __init__(self, reason: str) -> None:
        """``reason``: name of the signal."""
        super().__init__(f"{stopped_text(reason)} before anything had started")
        self.exit_code = exit_code(reason)


class OnSignal(Enum):
    """What the first signal does: one of the actions of ``StopSignals``."""

    SET_FLAG = auto()
    """Set ``reason``; the caller polls it, saves and ends."""
    RAISE = auto()
    """Set ``reason`` and raise ``Stopped``: the work may be long and need not be finished."""
    EXIT = auto()
    """End the process: an exception raised during an import can be lost or replaced by another."""


class StopSignals:
    """Handles signals inside a ``with``: the first asks to stop, a second SIGINT to end at once.

    Outside the block no signal is handled; ``request_stop`` can still set a reason. Python requires
    the main thread. A SIGHUP that is ignored already (``nohup``) stays ignored. A pickled copy
    handles no signals.
    """

    def __init__(self, interrupts: bool = False, on_signal: OnSignal = OnSignal.SET_FLAG) -> None:
        """``interrupts``: the second SIGINT also raises KeyboardInterrupt, for callers that do not
        poll ``must_exit_now``."""
        self._interrupts, self._on_signal = interrupts, on_signal
        self._has_raised = self._is_swallowed = self._is_resent = False
        self._resend_timer: threading.Timer | None = None
        self.reason = ""
        """Name of the first signal, or the first argument of ``request_stop``; "" before either."""
        self.must_exit_now = False
        """True after the second SIGINT: nothing may be waited for."""

    def late_after(self, seconds: float) -> Callable[[], bool]:
        """What tells whether a stop was requested so long ago, counted from when it was first asked
        about; at once where nothing may be waited for."""
        since: float | None = None

        def is_late() -> bool:
            nonlocal since
            if not self.reason:
                return False
            since = since or monotonic()
            return self.must_exit_now or monotonic() > since + seconds

        return is_late

    def __reduce__(self) -> tuple[type[Self], tuple[bool]]:
        return type(self), (self._interrupts,)

    def __enter__(self) -> Self:
        """Install the handlers."""
        self._terminals = [stream for stream in STANDARD_STREAMS if os.isatty(stream)]
        self._previous_handlers = {
            number: signal.signal(number, self._handle)
            for number in stop_signals()
            if number == signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN
        }
        self._previous_hook, sys.unraisablehook = sys.unraisablehook, self._raise_swallowed
        return self

    def __exit__(self, *_: object) -> None:
        """Restore the handlers from before."""
        self._forget_swallowed()
        sys.unraisablehook = self._previous_hook
        for number, action in self._previous_handlers.items():
            signal.signal(number, action)

    def request_stop(self, reason: str) -> None:
        """Set ``reason`` unless one is set already."""
        self.reason = self.reason or reason

    def on_status(self, status: dict[str, Any]) -> None:
        """Called about once a second with a run's status (docs/formats.md) in the thread of the
        run; who runs it from a program may look at it, and request a stop."""

    def set_action(self, on_signal: OnSignal = OnSignal.SET_FLAG) -> None:
        """Set the action of the first signal from now on.

        Raises Stopped where a stop was requested already and the action before or after is RAISE.
        """
        self._forget_swallowed()
        raises = OnSignal.RAISE in (on_signal, self._on_signal)
        self._on_signal = on_signal
        if self.reason and raises:
            raise Stopped(self.reason)

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Raise Stopped for signals within the block, and at both its ends for earlier ones."""
        before = self._on_signal
        try:
            self.set_action(OnSignal.RAISE)
            yield
            self.set_action(OnSignal.RAISE)  # an exception can get lost on its way
        finally:
            self._on_signal = before

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._is_resent:
            self._is_resent = False
            if self._is_swallowed:
                self._is_swallowed = False
                raise Stopped(self.reason)
            return
        if number == getattr(signal, "SIGHUP", None):
            self._redirect_lost_terminal()
        if self.reason and number == signal.SIGINT:
            self.must_exit_now = True
            if self._interrupts:
                raise KeyboardInterrupt
        is_first = not self.reason
        self.request_stop(signal.Signals(number).name)
        if self._on_signal is OnSignal.EXIT:
            _exit_process(self.reason)
        if is_first and self._on_signal is OnSignal.RAISE:
            self._has_raised = True
            raise Stopped(self.reason)

    def _raise_swallowed(self, unraisable: "sys.UnraisableHookArgs") -> None:
        """Raise ``Stopped`` again where a callback from C code (numba has many) swallowed it.

        Other unraisable errors that follow a raised ``Stopped`` come from half-made objects and
        are dropped.
        """
        if not self._has_raised:
            self._previous_hook(unraisable)
        elif unraisable.exc_type is Stopped and self._on_signal is OnSignal.RAISE:
            self._is_swallowed = True
            self._resend_timer = threading.Timer(RESEND_S, self._resend)
            self._resend_timer.start()

    def _resend(self) -> None:
        self._is_resent = True
        os.kill(os.getpid(), signal.Signals[self.reason])

    def _forget_swallowed(self) -> None:
        """Forget a swallowed exception: the caller has seen the reason."""
        self._is_swallowed = False
        if self._resend_timer is not None:
            self._resend_timer.cancel()
            self._resend_timer.join()
            self._resend_timer = None

    def _redirect_lost_terminal(self) -> None:
        """Redirect standard streams to a terminal that is gone, so that writes do not fail."""
        null = os.open(os.devnull, os.O_RDWR)
        for stream in self._terminals:
            if not os.isatty(stream):
                os.dup2(null, stream)
        os.close(null)


def _exit_process(reason: str) -> None:
    stopped = Stopped(reason)
    with suppress(OSError):
        os.write(2, f"vecchess: {stopped}\n".encode())
    os._exit(stopped.exit_code)
