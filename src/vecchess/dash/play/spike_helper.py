"""The process that traces the spikes of networks, ``spike_process``, as the server uses it."""

import asyncio
from collections.abc import Sequence
from typing import Any

from vecchess.dash.play.helper_pool import (
    HelperFailed,
    lower_priority,
    popen_options,
    python_command,
)
from vecchess.errors import ConfigError
from vecchess.runtime.json_pipe import Message, decode_message, encode_message

ANSWER_S = 300.0
"""Of a version's first start, which waits until its kernels are compiled."""
MOST_BYTES = 1 << 24
"""Of an answer; 64 layers at 64 steps with 64 squares take 1.5 MB."""


class SpikeHelper:
    """Traces spikes, one request at a time, which may be cancelled at any time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._unread = 1
        """Answers to come: that it is ready, and those to requests, cancelled ones too."""

    @classmethod
    async def start(cls, _: str = "") -> "SpikeHelper":
        """Start the process; returned once it is ready. Raises HelperFailed."""
        process = await asyncio.create_subprocess_exec(
            *python_command("vecchess.dash.play.spike_process"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=MOST_BYTES,
            **popen_options(),
        )
        lower_priority(process.pid)
        helper = cls(process)
        try:
            await helper._last_answer()
        except BaseException:
            helper.kill()
            raise
        return helper

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.returncode is None

    def kill(self) -> None:
        """End it at once; it has nothing to save."""
        if self.is_alive:
            self._process.kill()

    async def close(self) -> None:
        """End it, and wait until it is gone."""
        self.kill()
        await self._process.wait()

    async def trace(self, net: str, start: str, moves: Sequence[str]) -> dict[str, Any]:
        """The trace (``spike_process.observe``) of a network file at a place in a game.

        Raises ConfigError for what the process refuses, HelperFailed where it ended.
        """
        answer = await self._ask(encode_message("trace", net=net, start=start, moves=moves))
        if answer["kind"] == "error":
            raise ConfigError(answer["line"])
        seen: dict[str, Any] = answer["seen"]
        return seen

    async def _ask(self, request: bytes) -> Message:
        """The answer to ``request``."""
        assert self._process.stdin is not None
        self._process.stdin.write(request)
        self._unread += 1
        return await self._last_answer()

    async def _last_answer(self) -> Message:
        """The answer to the last request; those to cancelled ones are read and dropped."""
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(ANSWER_S):
                while True:
                    line = await self._process.stdout.readline()
                    self._unread -= 1
                    answer = decode_message(line, MOST_BYTES)
                    if self._unread == 0:
                        return answer
        except TimeoutError:
            self.kill()
            raise HelperFailed("the process that traces spikes does not answer") from None
        except (OSError, ValueError):  # the pipe is broken, or nothing came
            self.kill()
            raise HelperFailed("the process that traces spikes ended: try again") from None
