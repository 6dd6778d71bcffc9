"""Keeps one command for a starter that may die.

    python -m vecchess.ray_launcher.process_guard COMMAND ...

On stdout it says, a JSON list a line, what becomes of the command: ["err", line] and ["out", line]
of its two streams, and at the end ["ended", exit code], below 0 for a signal. When stdin ends,
because the starter closed it or is no more, the command gets SIGTERM, and time to save.

The guard leaves its starter's children before anything else. With an actor Ray kills the children
of its process, and what they had started would go on, with nobody to stop it.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Lock, Thread
from typing import IO, Any

LEAVE_S = 120.0
"""A command that was asked to stop has so long: training may finish a step before it saves."""
DRAIN_S = 5.0
"""Whoever still holds the streams of a command that has ended is not waited for any longer."""
_SPEAKING = Lock()


def main() -> None:
    """Run the command of the arguments to its end."""
    if os.fork():
        os._exit(0)
    os.setsid()
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # Ray's workers hold SIGINT back
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    streams |= {"stdin": subprocess.DEVNULL, "text": True, "errors": "replace"}
    child = subprocess.Popen(sys.argv[1:], **streams, start_new_session=True)
    readers = [_begin(_repeat, "out", child.stdout), _begin(_repeat, "err", child.stderr)]
    _begin(_stop_at_end_of_stdin, child)
    code = child.wait()
    for thread in readers:
        thread.join(DRAIN_S)
    _say("ended", code)
    os._exit(0)  # the thread at stdin cannot be woken


def _begin(target: Callable[..., None], *arguments: Any) -> Thread:
    thread = Thread(target=target, args=arguments, daemon=True)
    thread.start()
    return thread


def _say(kind: str, what: str | int) -> None:
    with _SPEAKING, suppress(OSError):  # nobody need listen
        os.write(1, json.dumps([kind, what]).encode() + b"\n")


def _repeat(kind: str, stream: IO[str]) -> None:
    for line in stream:
        _say(kind, line.rstrip("\n"))


def _stop_at_end_of_stdin(child: "subprocess.Popen[str]") -> None:
    while os.read(0, 4096):
        pass
    child.terminate()
    try:
        child.wait(LEAVE_S)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
