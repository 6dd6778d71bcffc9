"""Runs one command for a starter that may die.

    python -m vecchess.ray_launcher.process_guard COMMAND ...

It writes messages (``json_pipe``) to stdout: "out" and "err" with each line of the command's
streams, and at the end "ended" with its exit code, below 0 for a signal. When stdin ends, because
the starter closed it or died, the command gets SIGTERM, and time to save.

The guard leaves its starter's process tree before anything else. With an actor Ray kills the
children of the actor's process; grandchildren would go on, with nothing to stop them.

Decision 111.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Lock, Thread
from typing import IO, Any

from vecchess.runtime.child_program import end_program, start_program
from vecchess.runtime.json_pipe import encode_message

LEAVE_S = 120.0
"""A command that was asked to stop has so long: training may finish an update before it saves."""
DRAIN_S = 5.0
"""Wait after the command's end for other processes that hold its streams."""
_WRITING = Lock()


def main() -> None:
    """Run the command of the arguments to its end."""
    if os.fork():
        os._exit(0)
    os.setsid()
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # Ray's workers block SIGINT
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    streams |= {"stdin": subprocess.DEVNULL, "text": True, "errors": "replace"}
    child = start_program(sys.argv[1:], **streams)
    readers = [_start(_forward, "out", child.stdout), _start(_forward, "err", child.stderr)]
    _start(_stop_at_end_of_stdin, child)
    code = child.wait()
    for thread in readers:
        thread.join(DRAIN_S)
    _write("ended", exit_code=code)
    os._exit(0)  # the thread at stdin cannot be interrupted


def _start(target: Callable[..., None], *arguments: Any) -> Thread:
    thread = Thread(target=target, args=arguments, daemon=True)
    thread.start()
    return thread


def _write(kind: str, **values: Any) -> None:
    with _WRITING, suppress(OSError):  # the starter may be gone
        os.write(1, encode_message(kind, **values))


def _forward(kind: str, stream: IO[str]) -> None:
    for line in stream:
        _write(kind, line=line.rstrip("\n"))


def _stop_at_end_of_stdin(child: "subprocess.Popen[str]") -> None:
    while os.read(0, 4096):
        pass
    child.terminate()
    end_program(child, LEAVE_S)


if __name__ == "__main__":
    main()
