"""Messages between parent and worker: one JSON object each, a few hundred bytes.

    worker -> parent   stats     counters, every half second
                       note      a line for people
                       gpu       UUID of the GPU it works on
                       shard     a shard was written: its name and sha256
                       failed    the worker ends: what went wrong, with the traceback
    parent -> worker   net       the file of the network to play with from now on
                       games     numbers to play, as ranges, and files in which some are saved
                       rest      nothing to play until further notice
                       stop      start no game, write what is finished, save the others, end

Positions, policies and games never go through a pipe.
"""

import json
from contextlib import suppress
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any

from vecchess.safe_parse import parse_json_object

Message = dict[str, Any]
MOST_BYTES = 1 << 20
"""Longest message that is taken; who sends a longer one counts as gone."""
STAGES = ("starting", "loading the network", "playing", "resting", "writing games", "done")
"""What a worker can be at; the index is written into the pulse it shares with the parent."""
PULSE_STAGE, PULSE_BEATS = range(2)
"""Places of the pulse: stage, and turns of the central loop so far."""


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

    def wait(self) -> None:
        """Return once a message has come, or the other end is gone."""
        with suppress(OSError):
            self.connection.poll(None)

    def receive(self) -> list[Message] | None:
        """All messages that have come, without waiting; None once the other end is gone.

        Who says what is no message counts as gone.
        """
        messages: list[Message] = []
        try:
            while self.connection.poll():
                messages.append(_message(self.connection.recv_bytes(MOST_BYTES)))
        except (EOFError, OSError, ValueError):
            return messages or None
        return messages


def _message(data: bytes) -> Message:
    """Raises ValueError where it is none."""
    message = parse_json_object(data, MOST_BYTES)
    if not isinstance(message.get("kind"), str):
        raise ValueError("a message has a kind")
    return message
