"""Messages between parent and worker: one JSON object each, a few hundred bytes.

    worker -> parent   stats     counters, every half second
                       note      a line for people
                       shard     a shard was written: its name and sha256
                       failed    the worker ends: what went wrong, with the traceback
    parent -> worker   games     numbers to play, as ranges
                       stop      start no game, write what is finished, end

Positions, policies and games never go through a pipe.
"""

import json
import signal
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any

Message = dict[str, Any]
STAGES = ("starting", "loading the network", "playing", "writing games", "done")
"""What a worker can be at; the index is written into the pulse it shares with the parent."""
PULSE_STAGE, PULSE_BEATS = range(2)
"""Places of the pulse: stage, and turns of the central loop so far."""


def stop_signals() -> list[signal.Signals]:
    """What asks a run to stop. The parent heeds them; workers wait for its word."""
    names = ("SIGINT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGHUP")
    return [getattr(signal, name) for name in names if hasattr(signal, name)]


class Pipe:
    """One end of a worker's pipe. ``send`` may be called by several threads."""

    def __init__(self, connection: Connection) -> None:
        """Wrap ``connection``."""
        self.connection = connection
        self._lock = Lock()

    def send(self, kind: str, **values: Any) -> bool:
        """Send one message; False where nobody is at the other end."""
        data = json.dumps({"kind": kind} | values).encode()
        try:
            with self._lock:
                self.connection.send_bytes(data)
        except (BrokenPipeError, ConnectionResetError, OSError):
            return False
        return True

    def receive(self) -> list[Message] | None:
        """All messages that have come, without waiting; None once the other end is gone."""
        messages: list[Message] = []
        try:
            while self.connection.poll():
                messages.append(json.loads(self.connection.recv_bytes()))
        except (EOFError, ConnectionResetError, OSError):
            return messages or None
        return messages
