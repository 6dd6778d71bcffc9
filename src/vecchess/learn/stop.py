"""Signals that ask a training to stop, as every rank's process takes them.

The first one sets a reason, which the next ``Ranks.beat`` spreads: SIGTERM, SIGUSR1 and SIGUSR2
(Slurm's notice of pre-emption) or SIGHUP, and Ctrl-C. A second Ctrl-C ends everything at once.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from vecchess.selfplay.pipe import stop_signals
from vecchess.selfplay.run import EXIT_INTERRUPTED, EXIT_OK, EXIT_RESUMABLE


class StopRequest:
    """Why to stop: the name of the first signal, or ""."""

    def __init__(self) -> None:
        """Nobody has asked yet."""
        self.reason = ""

    def heed(self, number: int, frame: FrameType | None) -> None:
        """A signal handler. Raises KeyboardInterrupt at a Ctrl-C after another request."""
        if self.reason and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.reason = self.reason or signal.Signals(number).name


@contextmanager
def heeding_signals() -> Iterator[StopRequest]:
    """Within the block signals set the request's reason instead of ending the process."""
    request = StopRequest()
    previous = {number: signal.signal(number, request.heed) for number in stop_signals()}
    try:
        yield request
    finally:
        for number, action in previous.items():
            signal.signal(number, action)


def exit_code(stop_reason: str) -> int:
    """The exit code of a run that ended well: as asked for, by Ctrl-C, or by another signal."""
    return {"": EXIT_OK, "SIGINT": EXIT_INTERRUPTED}.get(stop_reason, EXIT_RESUMABLE)
