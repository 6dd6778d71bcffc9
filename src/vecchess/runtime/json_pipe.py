"""Messages between processes: JSON objects with a "kind", one on a line.

The same lines go through a multiprocessing connection (``JsonPipe``) or the standard streams of a
helper process (``encode_message``, ``decode_message``).
"""

import json
from contextlib import suppress
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any

from vecchess.safe_parse import parse_json_object

Message = dict[str, Any]
MOST_BYTES = 1 << 20
"""Longest message that is accepted."""


def encode_message(kind: str, **values: Any) -> bytes:
    """One line with its line end."""
    return json.dumps({"kind": kind} | values).encode() + b"\n"


def decode_message(line: bytes | str) -> Message:
    """The message on one line. Raises ValueError where it is none, or longer than MOST_BYTES."""
    message = parse_json_object(line, MOST_BYTES)
    if not isinstance(message.get("kind"), str):
        raise ValueError('a message needs a "kind"')
    return message


class JsonPipe:
    """One end of a multiprocessing pipe. Several threads may call ``send``."""

    def __init__(self, connection: Connection) -> None:
        """A peer that sends a message of more than MOST_BYTES counts as gone."""
        self.connection = connection
        self._lock = Lock()

    def send(self, kind: str, **values: Any) -> bool:
        """Send one message; False where the other end is closed."""
        data = encode_message(kind, **values)
        try:
            with self._lock:
                self.connection.send_bytes(data)
        except OSError:
            return False
        return True

    def wait(self) -> None:
        """Return once there is a message, or the other end is closed."""
        with suppress(OSError):
            self.connection.poll(None)

    def receive(self) -> list[Message] | None:
        """All messages that are there, without waiting; None once the other end is closed.

        A peer that sends anything but messages counts as gone.
        """
        messages: list[Message] = []
        try:
            while self.connection.poll():
                messages.append(decode_message(self.connection.recv_bytes(MOST_BYTES)))
        except (EOFError, OSError, ValueError):
            return messages or None
        return messages
