"""The process of a UCI engine over raw pipes: what is written to it, and its lines.

Where a move takes a millisecond, python-chess's own client takes as much time as the engine.

Decision 233.
"""

import os
import select
import shlex
import subprocess
from contextlib import suppress
from enum import Enum, auto
from threading import Lock
from time import monotonic

from vecchess.errors import ConfigError, VecchessError
from vecchess.runtime.child_program import end_program, start_program
from vecchess.runtime.signals import way_to_end
from vecchess.safe_parse import clip_line

_LONGEST_LINE = 1 << 20
_END_WAIT_S = 1.0
_LONGEST_POLL_MS = (1 << 31) - 1
"""Longer than ``poll`` can wait is for ever."""


class EngineFault(Enum):
    """How an engine failed to move."""

    NO_ANSWER = auto()
    ENDED = auto()
    ILLEGAL_MOVE = auto()


class EngineFailed(VecchessError):  # noqa: N818  (the name says what happened)
    """An engine made no legal move; its process has to be replaced."""

    def __init__(self, fault: EngineFault, reason: str) -> None:
        """``reason``: one line for people."""
        super().__init__(reason)
        self.fault = fault


class EnginePipe:
    """A process, what is written to it, and its lines."""

    def __init__(self, command: list[str]) -> None:
        """Start ``command``; raises ConfigError where that fails."""
        try:
            pipe = subprocess.PIPE
            self._process = start_program(command, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe)
        except OSError as error:
            name = shlex.join(command)
            raise ConfigError(f"cannot start the engine {name}: {error.strerror}") from None
        self.pid = self._process.pid
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        self._stdin, self._files = stdin, (stdout, stderr)
        self._poll = select.poll()
        for file in self._files:
            self._poll.register(file, select.POLLIN)
        self._rest = b""
        """What came on the standard output and was not returned yet."""
        self._last_line = ""
        """Newest on either output."""
        self._in_use = Lock()
        self._is_closed = False

    def send(self, line: str) -> None:
        """Write a line; that the process has ended shows when its answer is read."""
        with self._in_use, suppress(OSError):
            if not self._is_closed:
                self._stdin.write(f"{line}\n".encode())

    def read_until(self, word: str, deadline: float | None) -> list[str]:
        """The lines up to the first that begins with ``word``, and that line.

        ``deadline``: on the monotonic clock, None for none. Raises EngineFailed.
        """
        lines: list[str] = []
        with self._in_use:
            while not self._is_closed:
                *whole, self._rest = self._rest.split(b"\n")
                for index, raw in enumerate(whole):
                    line = raw.decode(errors="replace").strip()
                    self._last_line = line or self._last_line
                    lines.append(line)
                    if line.split(" ", 1)[0] == word:
                        self._rest = b"\n".join([*whole[index + 1 :], self._rest])
                        return lines
                if not self._read(deadline):
                    break
        raise self._ended()

    def _read(self, deadline: float | None) -> bool:
        """Take what either output has; False at the end of the standard output."""
        left_ms = None
        if deadline is not None:
            left_ms = min(max(0.0, deadline - monotonic()) * 1000, _LONGEST_POLL_MS)
        ready = self._poll.poll(left_ms)
        if not ready:
            raise self.failed(EngineFault.NO_ANSWER, "no answer")
        for number, _ in ready:
            data = os.read(number, 1 << 16)
            if number == self._files[0].fileno():
                if not data or len(self._rest) > _LONGEST_LINE:
                    return False
                self._rest += data
            elif data:
                self._note(data)
            else:
                self._poll.unregister(number)
        return True

    def _note(self, errors: bytes) -> None:
        """Keep the last line of the standard error output."""
        lines = errors.decode(errors="replace").split("\n")
        self._last_line = next((line for line in reversed(lines) if line.strip()), self._last_line)

    def _ended(self) -> EngineFailed:
        """The error of a process that has ended, or ends now."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_WAIT_S)
        with suppress(OSError, ValueError):  # closed
            if select.select([self._files[1]], [], [], 0)[0]:
                self._note(os.read(self._files[1].fileno(), 1 << 16))
        reason = f"the engine's process ended ({way_to_end(self._process.returncode)})"
        return self.failed(EngineFault.ENDED, reason)

    def failed(self, fault: EngineFault, reason: str) -> EngineFailed:
        """An error with the newest line of the process."""
        last = f'; its last line: "{clip_line(self._last_line)}"' if self._last_line else ""
        return EngineFailed(fault, clip_line(reason) + last)

    def close(self) -> None:
        """End the process, and those that it has started."""
        self._is_closed = True
        end_program(self._process)
        if self._in_use.acquire(timeout=_END_WAIT_S):  # a reader returns at the end of the output
            for file in (self._stdin, *self._files):
                file.close()
            self._in_use.release()
