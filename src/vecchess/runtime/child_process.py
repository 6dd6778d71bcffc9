"""Functions in spawned processes: started, alive, the reason of their death, killed.

Ctrl-C reaches every process of the terminal's group. A child that is still importing would die
of it with a traceback before it can install a handler. So it is started with the signals blocked
(a blocked signal stays blocked across exec), sets them to be ignored, and unblocks them.
"""

import faulthandler
import gc
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import Pipe, current_process, parent_process, resource_tracker
from multiprocessing.context import SpawnProcess
from threading import Thread
from types import ModuleType
from typing import Any

from vecchess.errors import ConfigError
from vecchess.runtime.signals import stop_signals, way_to_end

NUM_LINES = 40
"""Lines of a child's stderr that are kept."""
MOST_TEXT = 400
"""Characters kept of a line."""
KILL_WAIT_S = 5.0
_STDOUT, _STDERR = 1, 2
_CLOSE_WAIT_S = 1.0


class ChildProcess(SpawnProcess):
    """A spawned process, which ignores stop signals; torch and numba do not survive fork.

    Its garbage collector rests while the process imports what its target needs, and at its end:
    looking at all that numba and torch make, which stays, takes a third of that time.
    """

    def __init__(
        self,
        name: str,
        target: Callable[..., object],
        args: Iterable[Any] = (),
        *,
        daemon: bool = True,
        ends_with_parent: bool = True,
        keeps_stderr: bool = False,
    ) -> None:
        """Prepare the process; ``start`` starts it.

        ends_with_parent: it exits at once when this process ends, whatever the cause.
        keeps_stderr: its last lines are kept; a process that dies in a driver or an allocator
        leaves its reason there and nowhere else.
        """
        super().__init__(target=target, args=args, name=name, daemon=daemon)
        self._ends_with_parent, self._module = ends_with_parent, target.__module__
        self._stderr = _StderrReader() if keeps_stderr and os.name == "posix" else None
        self._stderr_end = None if self._stderr is None else self._stderr.child_end

    def __reduce__(self) -> tuple[Any, ...]:
        """Begin in the child with ``_unimported``, before the target and its arguments."""
        return _unimported, (type(self),), self.__dict__ | {"_stderr": None}

    def start(self) -> None:
        """Start the process. Where a signal comes meanwhile, it is ended.

        Raises ConfigError in a process that may have no children.
        """
        if current_process().daemon:
            raise ConfigError(
                "this process is a daemon of multiprocessing, and may start no other: use "
                "Process(daemon=False) or concurrent.futures.ProcessPoolExecutor"
            )
        try:
            with _signals_blocked(stop_signals()), self._without_main():
                super().start()
        except BaseException:
            if self.pid is not None:
                self.end()
            raise
        finally:
            if self._stderr is not None:
                self._stderr.start()

    @contextmanager
    def _without_main(self) -> Iterator[None]:
        """Hide a script, which the child would run again as its main module: nothing of it is
        needed there, and one that plays games at its top level would play them again. A module that
        was started with -m stays: it may prepare the processes it starts."""
        main = sys.modules["__main__"]
        if self._module != "__main__" and main.__spec__ is None:
            sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main

    def run(self) -> None:
        """Call the target, in the child; what it prints goes to stderr: the parent has results."""
        if self._stderr_end is not None:
            os.dup2(self._stderr_end.fileno(), _STDERR)
            self._stderr_end.close()
            faulthandler.enable(all_threads=False)
        with suppress(OSError):  # a stream is closed
            os.dup2(_STDERR, _STDOUT)
        ignore_signals(stop_signals())  # the parent decides when to stop
        if self._ends_with_parent:
            exit_with_parent()
        gc.enable()
        gc.freeze()
        try:
            super().run()
        finally:
            gc.freeze()

    def end(self, patience_s: float = 0.0) -> None:
        """Wait until the process has ended; kill it where that takes longer than ``patience_s``."""
        if patience_s > 0:
            self.join(patience_s)
        if self.is_alive():
            self.kill()
        self.join(KILL_WAIT_S)

    def reason_of_death(self) -> str:
        """How the process ended, or is about to: "killed by SIGKILL", "exit code 3"."""
        self.join(KILL_WAIT_S)
        return way_to_end(self.exitcode)

    def last_lines(self) -> list[str]:
        """The last lines on stderr of a process that has ended."""
        return [] if self._stderr is None else self._stderr.last_lines()


class _StderrReader:
    """The parent's end of a child's stderr: forwarded to this process's own, its last lines kept.

    It is read in a thread until the child and its children have closed theirs.
    """

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=NUM_LINES)
        self._rest = b""
        self._own_end, self.child_end = Pipe(duplex=False)
        self._thread = Thread(target=self._run, name="child-stderr", daemon=True)

    def start(self) -> None:
        """Read from now on; the child has been started."""
        self.child_end.close()
        self._thread.start()

    def last_lines(self) -> list[str]:
        self._thread.join(_CLOSE_WAIT_S)
        rest = [_text(self._rest)] if self._rest else []
        return [*self._lines, *rest][-NUM_LINES:]

    def _run(self) -> None:
        with self._own_end, suppress(OSError):
            while data := os.read(self._own_end.fileno(), 1 << 16):
                with suppress(OSError):  # our own stderr is closed
                    os.write(_STDERR, data)
                *lines, self._rest = (self._rest + data).split(b"\n")
                self._lines.extend(map(_text, lines))
                self._rest = self._rest[-MOST_TEXT:]


def _text(line: bytes) -> str:
    return line[-MOST_TEXT:].decode(errors="replace").rstrip()


def _unimported(kind: type[ChildProcess]) -> ChildProcess:
    gc.disable()
    return kind.__new__(kind)


@contextmanager
def _signals_blocked(numbers: Iterable[signal.Signals]) -> Iterator[None]:
    """Start processes within the block with the signals ``numbers`` blocked."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows has no process groups of a terminal
        yield
        return
    resource_tracker.ensure_running()  # starting it unblocks signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore_signals(numbers: Iterable[signal.Signals]) -> None:
    """Ignore these signals from now on, also those that are pending; called in the child."""
    numbers = list(numbers)
    for number in numbers:
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)


def exit_with_parent() -> None:
    """Exit at once when the parent ends, whatever the cause; called in the child."""
    Thread(target=_exit_with_parent, name="vecchess-parent", daemon=True).start()


def _exit_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
