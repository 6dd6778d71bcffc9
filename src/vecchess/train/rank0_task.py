"""Work that rank 0 does on its own, as matches, while the other ranks wait."""

from collections.abc import Callable
from threading import Event, Thread
from typing import Any

from vecchess.runtime.signals import StopSignals
from vecchess.train.distributed.ranks import Ranks

BEAT_S = 0.5
LEAVE_S = 5.0
"""Work that is told to leave has so long before it is left behind."""

MustStop = Callable[[], bool]
"""Whether the work is not wanted any more."""
Work = Callable[[MustStop], dict[str, Any]]
"""Finds something out."""


def run_on_rank0(ranks: Ranks, stop: StopSignals, work: Work) -> dict[str, Any] | None:
    """What ``work`` found, on all ranks; None where somebody asked to stop meanwhile.

    It runs in a thread of rank 0, told to leave in that case. Raises what it raised.
    """
    found: list[dict[str, Any]] = []
    failures: list[BaseException] = []
    left = Event()

    def run() -> None:
        try:
            found.append(work(left.is_set))
        except BaseException as error:
            failures.append(error)

    thread = Thread(target=run, name="vecchess-rank0-task", daemon=True)
    if ranks.is_main:
        thread.start()
    while not (beat := ranks.heartbeat(stop.reason, not thread.is_alive())).all_done:
        if beat.stop:
            stop.request_stop(beat.stop)
            left.set()
            if ranks.is_main:
                thread.join(LEAVE_S)
            return None
        if ranks.is_main:
            thread.join(BEAT_S)
    if failures:
        raise failures[0]
    told: dict[str, Any] = ranks.broadcast_object(found[0] if found else {})
    return told
