"""What asks a run to stop: signals, for as long as somebody is to heed them."""

import signal
from types import FrameType
from typing import Self


def stop_signals() -> list[signal.Signals]:
    """What asks a run to stop. The parent heeds them; workers wait for its word."""
    names = ("SIGINT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGHUP")
    return [getattr(signal, name) for name in names if hasattr(signal, name)]


class StopSignals:
    """Heeds signals inside a ``with``: the first asks to stop, a second SIGINT to leave at once.

    Outside of it nothing is heeded, and ``ask`` alone can set a reason. To be entered in the main
    thread, as Python wants it.
    """

    def __init__(self, interrupts: bool = False) -> None:
        """Nobody has asked yet. ``interrupts``: that second SIGINT raises KeyboardInterrupt too,
        for whoever does not look at ``must_leave_now`` all the time."""
        self._interrupts = interrupts
        self.reason = ""
        """Name of the first signal that came, or what was given to ``ask``; "" while none did."""
        self.must_leave_now = False
        """True once nothing is to be waited for any more."""

    def __enter__(self) -> Self:
        """Take the signals over."""
        self._previous = {number: signal.signal(number, self._handle) for number in stop_signals()}
        return self

    def __exit__(self, *_: object) -> None:
        """Give them back."""
        for number, action in self._previous.items():
            signal.signal(number, action)

    def ask(self, reason: str) -> None:
        """Ask to stop; the first reason stands."""
        self.reason = self.reason or reason

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.reason and number == signal.SIGINT:
            self.must_leave_now = True
            if self._interrupts:
                raise KeyboardInterrupt
        self.ask(signal.Signals(number).name)
