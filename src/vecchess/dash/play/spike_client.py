"""The process that looks into networks (``observer``), from outside."""

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
    """Asks the process, one question after the other; starts it, and ends it when it is idle."""

    def __init__(self, compiling: asyncio.Lock, idle_s: float = IDLE_S) -> None:
        """``compiling``: held by whoever may compile, since numba's cache takes one writer."""
        self._compiling = compiling
        self._lock = asyncio.Lock()
        self._timer = IdleTimer(idle_s, self.kill)
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int | None:
        """Of the process, None while there is none."""
        return None if self._process is None else self._process.pid

    async def ask(self, net: str, start: str, moves: Sequence[str]) -> dict[str, Any]:
        """``observer.observe`` of a network file at a place in a game.

        Raises ConfigError for what the process refuses, HelperFailed where it ended.
        """
        async with self._lock:
            self._timer.stop()
            try:
                question = {"net": net, "start": start, "moves": list(moves)}
                answer = await self._answer(json.dumps(question).encode() + b"\n")
            except BaseException:  # whatever it answers later is no answer to the next question
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

    async def _answer(self, question: bytes) -> dict[str, Any]:
        try:
            if self._process is not None and self._process.returncode is None:
                line = await asyncio.wait_for(self._exchange(question), ANSWER_S)
            else:
                async with self._compiling:
                    await self._start()
                    line = await asyncio.wait_for(self._exchange(question), ANSWER_S)
            found: dict[str, Any] = json.loads(line)
        except (OSError, ValueError):  # it ended: the pipe is broken, or nothing came
            raise HelperFailed("the process that looks into networks ended: ask again") from None
        except TimeoutError:
            raise HelperFailed("the process that looks into networks does not answer") from None
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

    async def _exchange(self, question: bytes) -> bytes:
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(question)
        await self._process.stdin.drain()
        return await self._process.stdout.readline()
