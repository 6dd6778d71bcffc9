"""The engines of the play page: one for each network in use, ended when idle."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from vecchess.dash.play.helper_process import Busy, HelperFailed, IdleTimer
from vecchess.dash.play.uci_engine import PlayEngine

MOST_ENGINES = 2
IDLE_S = 300.0


class _PooledEngine:
    """A network's engine, running or to be started; the holder of the lock may use it."""

    def __init__(self, timer: IdleTimer) -> None:
        self.lock = asyncio.Lock()
        self.users = 0
        self.timer = timer
        self.engine: PlayEngine | None = None
        self.starting: asyncio.Task[None] | None = None


class EnginePool:
    """Starts, lends and ends engines, in one event loop."""

    def __init__(self, compiling: asyncio.Lock, idle_s: float = IDLE_S) -> None:
        """``compiling``: held while a process compiles, since numba's cache takes one writer."""
        self._compiling, self._idle_s = compiling, idle_s
        self._engines: dict[str, _PooledEngine] = {}

    @property
    def running(self) -> dict[str, PlayEngine]:
        """The engines that run, by network."""
        found = ((net, entry.engine) for net, entry in self._engines.items())
        return {net: engine for net, engine in found if engine is not None and engine.is_alive}

    @asynccontextmanager
    async def lend(self, net: str) -> AsyncIterator[PlayEngine]:
        """The engine of the network file ``net``, or "material", for one request at a time.

        Raises Busy where other networks have all engines, HelperFailed where it cannot be started.
        """
        entry = self._entry(net)
        entry.users += 1
        entry.timer.stop()
        try:
            async with entry.lock:
                yield await self._ready(entry, net)
        finally:
            entry.users -= 1
            if entry.users == 0 and net in self._engines:
                entry.timer.start()

    async def close(self) -> None:
        """End all engines, and wait until they are gone."""
        entries = self._engines.values()
        engines = [entry.engine for entry in entries if entry.engine is not None]
        starting = [entry.starting for entry in entries if entry.starting is not None]
        for net in list(self._engines):
            self._end(net)
        await asyncio.gather(*starting, return_exceptions=True)
        await asyncio.gather(*(engine.close() for engine in engines))

    def _entry(self, net: str) -> _PooledEngine:
        """The network's entry; for a new one above the limit an unused engine is ended."""
        if net not in self._engines:
            if len(self._engines) >= MOST_ENGINES:
                idle = [other for other, entry in self._engines.items() if entry.users == 0]
                if not idle:
                    raise Busy(f"{MOST_ENGINES} networks are in use already: try again shortly")
                self._end(idle[0])
            self._engines[net] = _PooledEngine(IdleTimer(self._idle_s, partial(self._end, net)))
        return self._engines[net]

    async def _ready(self, entry: _PooledEngine, net: str) -> PlayEngine:
        """The engine, started if need be; a start is finished even if the request is cancelled."""
        if entry.engine is None or not entry.engine.is_alive:
            if entry.starting is None:
                entry.starting = asyncio.create_task(self._start(entry, net))
                entry.starting.add_done_callback(lambda done: done.cancelled() or done.exception())
            await asyncio.shield(entry.starting)
        assert entry.engine is not None
        return entry.engine

    async def _start(self, entry: _PooledEngine, net: str) -> None:
        try:
            async with self._compiling:
                entry.engine = await PlayEngine.start(net)
        except OSError as error:
            raise HelperFailed(f"the engine cannot be started: {error}") from None
        finally:
            entry.starting = None

    def _end(self, net: str) -> None:
        entry = self._engines.pop(net)
        entry.timer.stop()
        if entry.starting is not None:
            entry.starting.cancel()
        if entry.engine is not None:
            entry.engine.kill()
