"""The client of the process that traces the spikes of networks, ``spike_process``."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from vecchess.dash.play.helper_process import (
    HelperFailed,
    IdleTimer,
    lower_priority,
    popen_options,
    python_command,
)
from vecchess.errors import ConfigError

IDLE_S = 300.0
ANSWER_S = 300.0
"""The first answer of a version waits until its kernels are compiled."""
MOST_BYTES = 1 << 24
"""Of an answer; 64 layers at 64 steps with 64 squares take 1.5 MB."""


class SpikeClient:
    """Sends requests to the process one at a time; starts it, and ends it when idle."""

    def __init__(self, compiling: asyncio.Lock, idle_s: float = IDLE_S) -> None:
        """``compiling``: held while a process compiles, since numba's cache takes one writer."""
        self._compiling = compiling
        self._lock = asyncio.Lock()
        self._timer = IdleTimer(idle_s, self.kill)
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int | None:
        """Of the process, None while there is none."""
        return None if self._process is None else self._process.pid

    async def trace(self, net: str, start: str, moves: Sequence[str]) -> dict[str, Any]:
        """The trace (``spike_process.observe``) of a network file at a place in a game.

        Raises ConfigError for what the process refuses, HelperFailed where it ended.
        """
        async with self._lock:
            self._timer.stop()
            try:
                request = {"net": net, "start": start, "moves": list(moves)}
                answer = await self._answer(json.dumps(request).encode() + b"\n")
            except BaseException:  # a late answer must not be taken for that to the next request
                self.kill()
                raise
            self._timer.start()
        if "error" in answer:
            raise ConfigError(answer["error"])
        seen: dict[str, Any] = answer["seen"]
        return seen

    def kill(self) -> None:
        """End the process, if there is one; it has nothing to save."""
        self._timer.stop()
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
        self._process = None

    async def close(self) -> None:
        """End the process, and wait until it is gone."""
        process = self._process
        self.kill()
        if process is not None:
            await process.wait()

    async def _answer(self, request: bytes) -> dict[str, Any]:
        try:
            if self._process is not None and self._process.returncode is None:
                line = await asyncio.wait_for(self._exchange(request), ANSWER_S)
            else:
                async with self._compiling:
                    await self._start()
                    line = await asyncio.wait_for(self._exchange(request), ANSWER_S)
            found: dict[str, Any] = json.loads(line)
        except (OSError, ValueError):  # it ended: the pipe is broken, or nothing came
            raise HelperFailed("the process that traces spikes ended: try again") from None
        except TimeoutError:
            raise HelperFailed("the process that traces spikes does not answer") from None
        return found

    async def _start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *python_command("vecchess.dash.play.spike_process"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=MOST_BYTES,
            **popen_options(),
        )
        lower_priority(self._process.pid)

    async def _exchange(self, request: bytes) -> bytes:
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(request)
        await self._process.stdin.drain()
        return await self._process.stdout.readline()
