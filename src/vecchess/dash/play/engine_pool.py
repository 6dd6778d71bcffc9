"""The engines of the play page: one for each network in use, ended when it is idle."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from vecchess.dash.play.helper_process import Busy, HelperFailed, IdleTimer
from vecchess.dash.play.uci_engine import PlayEngine

MOST_ENGINES = 2
IDLE_S = 300.0


class _PooledEngine:
    """A network's engine, there or to be started; whoever has the lock may use it."""

    def __init__(self, timer: IdleTimer) -> None:
        self.lock = asyncio.Lock()
        self.users = 0
        self.timer = timer
        self.engine: PlayEngine | None = None
        self.starting: asyncio.Task[None] | None = None


class EnginePool:
    """Lends engines. All of it happens in one event loop."""

    def __init__(self, compiling: asyncio.Lock, idle_s: float = IDLE_S) -> None:
        """``compiling``: held by whoever may compile, since numba's cache takes one writer."""
        self._compiling, self._idle_s = compiling, idle_s
        self._seats: dict[str, _PooledEngine] = {}

    @property
    def running(self) -> dict[str, PlayEngine]:
        """The engines that run, by network."""
        found = ((net, seat.engine) for net, seat in self._seats.items())
        return {net: engine for net, engine in found if engine is not None and engine.is_alive}

    @asynccontextmanager
    async def lend(self, net: str) -> AsyncIterator[PlayEngine]:
        """The engine of the network file ``net``, or "material", for one request at a time.

        Raises Busy where other networks have all engines, HelperFailed where it cannot be started.
        """
        seat = self._seat(net)
        seat.users += 1
        seat.timer.stop()
        try:
            async with seat.lock:
                yield await self._ready(seat, net)
        finally:
            seat.users -= 1
            if seat.users == 0 and net in self._seats:
                seat.timer.start()

    async def close(self) -> None:
        """End all engines, and wait until they are gone."""
        engines = [seat.engine for seat in self._seats.values() if seat.engine is not None]
        starting = [seat.starting for seat in self._seats.values() if seat.starting is not None]
        for net in list(self._seats):
            self._end(net)
        await asyncio.gather(*starting, return_exceptions=True)
        await asyncio.gather(*(engine.close() for engine in engines))

    def _seat(self, net: str) -> _PooledEngine:
        """The network's seat; for a new one the engine that nobody uses has to go."""
        if net not in self._seats:
            if len(self._seats) >= MOST_ENGINES:
                idle = [other for other, seat in self._seats.items() if seat.users == 0]
                if not idle:
                    raise Busy(f"{MOST_ENGINES} networks are thinking already: try again shortly")
                self._end(idle[0])
            self._seats[net] = _PooledEngine(IdleTimer(self._idle_s, partial(self._end, net)))
        return self._seats[net]

    async def _ready(self, seat: _PooledEngine, net: str) -> PlayEngine:
        """The engine, started if need be; that goes on when nobody waits for it any more."""
        if seat.engine is None or not seat.engine.is_alive:
            if seat.starting is None:
                seat.starting = asyncio.create_task(self._start(seat, net))
                seat.starting.add_done_callback(lambda done: done.cancelled() or done.exception())
            await asyncio.shield(seat.starting)
        assert seat.engine is not None
        return seat.engine

    async def _start(self, seat: _PooledEngine, net: str) -> None:
        try:
            async with self._compiling:
                seat.engine = await PlayEngine.start(net)
        except OSError as error:
            raise HelperFailed(f"the engine cannot be started: {error}") from None
        finally:
            seat.starting = None

    def _end(self, net: str) -> None:
        seat = self._seats.pop(net)
        seat.timer.stop()
        if seat.starting is not None:
            seat.starting.cancel()
        if seat.engine is not None:
            seat.engine.kill()
