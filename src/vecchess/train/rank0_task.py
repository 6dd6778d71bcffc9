"""Work of rank 0 alone, as matches, while the other ranks wait."""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Event, Thread
from typing import Any

from vecchess.runtime.signals import StopSignals
from vecchess.train.distributed.ranks import Ranks

BEAT_S = 0.5
LEAVE_S = 5.0
"""Work that was asked to end has so long; after that it is abandoned."""

MustStop = Callable[[], bool]
"""Whether the work has to end early."""
Work = Callable[[MustStop], dict[str, Any]]
"""Returns a result that fits into JSON."""


def run_on_rank0(ranks: Ranks, stop: StopSignals, work: Work) -> dict[str, Any] | None:
    """The result of ``work`` on all ranks; None where a stop was requested meanwhile.

    It runs in a thread of rank 0, which is asked to end in that case. Raises what it raised.
    """
    future: Future[dict[str, Any]] = Future()
    must_stop = Event()

    def run() -> None:
        try:
            future.set_result(work(must_stop.is_set))
        except BaseException as error:
            future.set_exception(error)

    thread = Thread(target=run, name="vecchess-rank0-task", daemon=True)
    if ranks.is_main:
        thread.start()
    while not (beat := ranks.heartbeat(stop.reason, not thread.is_alive())).all_done:
        if beat.stop:
            stop.request_stop(beat.stop)
            must_stop.set()
            if ranks.is_main:
                thread.join(LEAVE_S)
            return None
        if ranks.is_main:
            thread.join(BEAT_S)
    return ranks.broadcast_object(future.result() if ranks.is_main else None)
