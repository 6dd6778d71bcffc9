"""A pseudo-terminal with a program in it, and what then stands on its screen."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable

import pyte

TIMEOUT_S = 30.0


class Terminal:
    """``vecchess`` with ``arguments`` in a terminal of its own."""

    def __init__(
        self, arguments: list[str], columns: int = 80, rows: int = 24, **environ: str
    ) -> None:
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.written = b""
        self._master, slave = pty.openpty()
        self._set_size(columns, rows)
        self.modes = termios.tcgetattr(slave)
        self._slave = slave
        kept = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "vecchess_cli.main", *arguments],
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            env=kept | {"TERM": "xterm-256color", "COLUMNS": "", "LINES": ""} | environ,
        )  # fmt: skip

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._slave)
        os.close(self._master)

    @property
    def text(self) -> str:
        """What stands on the screen."""
        return "\n".join(self.screen.display)

    def wait_for(self, *words: str) -> str:
        """Read until all ``words`` stand on the screen; returns the screen."""
        return self.wait_until(lambda text: all(word in text for word in words), str(words))

    def wait_until(self, is_so: Callable[[str], bool], what: str) -> str:
        end = time.monotonic() + TIMEOUT_S
        while not is_so(text := self.text):
            assert time.monotonic() < end, f"no {what} on\n{text}"
            assert self.process.poll() is None, f"it ended before {what}:\n{text}"
            self._read()
            while self._read(0.02):
                pass
        return text

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def press_until(self, keys: str, words: str) -> None:
        """Press again and again, each time when the screen has come to rest."""
        for _ in range(20):
            if words in self.text:
                return
            self.press(keys)
            while self._read(0.3):
                pass
        raise AssertionError(f"no {words} on\n{self.text}")

    def resize(self, columns: int, rows: int) -> None:
        while self._read():
            pass
        self._set_size(columns, rows)
        self.screen.reset()
        self.screen.resize(rows, columns)
        os.killpg(self.process.pid, signal.SIGWINCH)

    def ended(self) -> int:
        """Read to the end of the program; returns its exit code."""
        end = time.monotonic() + TIMEOUT_S
        while self.process.poll() is None:
            assert time.monotonic() < end, f"it does not end\n{self.text}"
            self._read()
        while self._read():
            pass
        return self.process.returncode

    @property
    def is_restored(self) -> bool:
        """Whether the terminal is as it was: its modes, the main screen, the cursor."""
        left = self.written.rfind(b"\x1b[?1049l") > self.written.rfind(b"\x1b[?1049h")
        same = termios.tcgetattr(self._slave)[3] == self.modes[3]
        return left and same and self.written.rfind(b"\x1b[?25h") > self.written.rfind(b"\x1b[?25l")

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _read(self, seconds: float = 0.1) -> bool:
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:  # the other end is closed
            return False
        self.written += data
        self._stream.feed(data)
        return bool(data)
