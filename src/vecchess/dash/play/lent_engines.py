"""Engines of the play page: started when needed, lent, ended when idle.

Decision 167: they are ``vecchess uci`` processes.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from vecchess.dash.answers import Busy
from vecchess.dash.play.play_engine import PlayEngine


class _Place:
    """An engine, running or starting, and those that use it."""

    def __init__(self, starting: "asyncio.Task[PlayEngine]") -> None:
        self.starting = starting
        self.users = 0
        self.idle_timer: asyncio.TimerHandle | None = None

    @property
    def engine(self) -> PlayEngine | None:
        """The engine that runs."""
        task = self.starting
        if not task.done() or task.cancelled() or task.exception():
            return None
        return task.result() if task.result().is_alive else None


class LentEngines:
    """Starts, lends and ends engines, each by its network, in one event loop."""

    def __init__(
        self, start: Callable[[str], Coroutine[Any, Any, PlayEngine]], idle_s: float, most: int
    ) -> None:
        """start: an engine for a network, ready to be used. idle_s: seconds without use after which
        an engine ends."""
        self._start, self._idle_s, self._most = start, idle_s, most
        self._places: dict[str, _Place] = {}

    @property
    def running(self) -> dict[str, PlayEngine]:
        """The engines that run, by network."""
        found = ((net, place.engine) for net, place in self._places.items())
        return {net: engine for net, engine in found if engine is not None}

    @asynccontextmanager
    async def lend(self, net: str) -> AsyncIterator[PlayEngine]:
        """The engine for ``net``, which others may use too; it is started if need be.

        Raises Busy where the others are all in use, and what a start raises. A start is finished
        even if the request is cancelled.
        """
        place = self._place(net)
        place.users += 1
        if place.idle_timer is not None:
            place.idle_timer.cancel()
        try:
            yield await asyncio.shield(place.starting)
        finally:
            place.users -= 1
            if place.users == 0 and self._places.get(net) is place:
                loop = asyncio.get_running_loop()
                place.idle_timer = loop.call_later(self._idle_s, partial(self._end, net))

    async def close(self) -> None:
        """End all engines, and wait until they are gone."""
        starts = [place.starting for place in self._places.values()]
        engines = list(self.running.values())
        for net in list(self._places):
            self._end(net)
        await asyncio.gather(*starts, return_exceptions=True)
        await asyncio.gather(*(engine.close() for engine in engines))

    def _place(self, net: str) -> _Place:
        """The place of ``net``; for a new one above the limit an unused engine is ended."""
        place = self._places.get(net)
        if place is None:
            if len(self._places) >= self._most:
                idle = [other for other, place in self._places.items() if place.users == 0]
                if not idle:
                    raise Busy(f"{self._most} networks are in use already: try again shortly")
                self._end(idle[0])
            place = self._places[net] = _Place(self._starting(net))
        elif place.starting.done() and place.engine is None:  # it has ended, or did not start
            place.starting = self._starting(net)
        return place

    def _starting(self, net: str) -> "asyncio.Task[PlayEngine]":
        task = asyncio.create_task(self._start(net))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task

    def _end(self, net: str) -> None:
        place = self._places.pop(net)
        if place.idle_timer is not None:
            place.idle_timer.cancel()
        if place.engine is not None:
            place.engine.kill()
        else:
            place.starting.cancel()
