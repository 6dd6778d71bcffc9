"""Processes that the play page uses: started when needed, lent, ended when idle (decision 167)."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from vecchess.dash.answers import Busy, RequestRefused

NICENESS = 10
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


class HelperFailed(RequestRefused):
    """A process of the play page ended or hangs; the next request starts a new one."""

    def __init__(self, message: str) -> None:
        super().__init__(503, message)


def python_command(module: str, *arguments: str) -> list[str]:
    """This Python, running ``module``."""
    return [sys.executable, "-m", module, *arguments]


def popen_options() -> dict[str, Any]:
    """One thread, no GPU, and a process group of its own: Ctrl-C ends us, and we end it."""
    return {"env": os.environ | ONE_THREAD | {"CUDA_VISIBLE_DEVICES": ""}, "process_group": 0}


def lower_priority(pid: int) -> None:
    """Lower the priority of a process, and of threads that it starts from now on."""
    with suppress(OSError):  # it may be gone already
        os.setpriority(os.PRIO_PROCESS, pid, NICENESS)


class Helper(Protocol):
    """A process that serves one request at a time, and has nothing to save."""

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs."""

    def kill(self) -> None:
        """End it at once."""

    async def close(self) -> None:
        """End it, and wait until it is gone."""


H = TypeVar("H", bound=Helper)


class _PoolEntry(Generic[H]):
    """A helper, running or to be started; the holder of the lock may use it."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.users = 0
        self.starting: asyncio.Task[H] | None = None
        self.idle_timer: asyncio.TimerHandle | None = None

    @property
    def helper(self) -> H | None:
        """The helper that runs."""
        task = self.starting
        if task is None or not task.done() or task.cancelled() or task.exception():
            return None
        return task.result() if task.result().is_alive else None


class HelperPool(Generic[H]):
    """Starts, lends and ends helpers, each by a key, in one event loop."""

    def __init__(
        self,
        start: Callable[[str], Awaitable[H]],
        idle_s: float,
        most: int = 1,
    ) -> None:
        """start: a helper for a key, ready to be used. idle_s: seconds without use after which
        a helper ends."""
        self._start, self._idle_s, self._most = start, idle_s, most
        self._entries: dict[str, _PoolEntry[H]] = {}

    @property
    def running(self) -> dict[str, H]:
        """The helpers that run, by key."""
        found = ((key, entry.helper) for key, entry in self._entries.items())
        return {key: helper for key, helper in found if helper is not None}

    @asynccontextmanager
    async def lend(self, key: str) -> AsyncIterator[H]:
        """The helper for ``key``, for one request at a time.

        Raises Busy where the others are all in use, HelperFailed where it cannot be started.
        """
        entry = self._entry(key)
        entry.users += 1
        if entry.idle_timer is not None:
            entry.idle_timer.cancel()
        try:
            async with entry.lock:
                yield await self._ready(entry, key)
        finally:
            entry.users -= 1
            if entry.users == 0 and key in self._entries:
                loop = asyncio.get_running_loop()
                entry.idle_timer = loop.call_later(self._idle_s, partial(self._end, key))

    async def close(self) -> None:
        """End all helpers, and wait until they are gone."""
        starts = [entry.starting for entry in self._entries.values() if entry.starting is not None]
        helpers = list(self.running.values())
        for key in list(self._entries):
            self._end(key)
        await asyncio.gather(*starts, return_exceptions=True)
        await asyncio.gather(*(helper.close() for helper in helpers))

    def _entry(self, key: str) -> _PoolEntry[H]:
        """The entry of ``key``; for a new one above the limit an unused helper is ended."""
        if key not in self._entries:
            if len(self._entries) >= self._most:
                idle = [other for other, entry in self._entries.items() if entry.users == 0]
                if not idle:
                    raise Busy(f"{self._most} networks are in use already: try again shortly")
                self._end(idle[0])
            self._entries[key] = _PoolEntry()
        return self._entries[key]

    async def _ready(self, entry: _PoolEntry[H], key: str) -> H:
        """The helper, started if need be; a start is finished even if the request is cancelled."""
        task = entry.starting
        if task is None or (task.done() and entry.helper is None):
            task = entry.starting = asyncio.create_task(self._started(key))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(task)

    async def _started(self, key: str) -> H:
        try:
            return await self._start(key)
        except OSError as error:
            raise HelperFailed(f"the process cannot be started: {error}") from None

    def _end(self, key: str) -> None:
        entry = self._entries.pop(key)
        if entry.idle_timer is not None:
            entry.idle_timer.cancel()
        if entry.helper is not None:
            entry.helper.kill()
        elif entry.starting is not None:
            entry.starting.cancel()
