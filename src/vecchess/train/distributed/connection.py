"""One connection between two ranks: JSON objects, a line each. Nothing here ever waits for ever."""

import json
import select
import socket
from contextlib import suppress
from typing import Any

from vecchess.safe_parse import parse_json_object

Message = dict[str, Any]
SEND_S = 10.0
"""A peer that reads nothing for so long, although its buffers are full, counts as gone."""
CHUNK = 1 << 16
HELLO_BYTES = 1 << 12
"""Longest first message: of somebody who has not shown yet that it belongs here."""
MOST_BYTES = 1 << 24
"""Longest message of a rank: theirs have a few kilobytes, and rank 0 tells those of all."""
MOST_MESSAGES = 1 << 10
"""Taken in at a time: who talks without end must not keep its listener."""


class Wire:
    """A connected socket. Both directions raise ConnectionError once the other end is gone.

    An end that says what is no message, or a longer one than ranks send, counts as gone.
    """

    def __init__(self, connected: socket.socket) -> None:
        """Take ``connected`` over."""
        connected.setblocking(False)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = connected
        self._buffer = bytearray()
        self._most_bytes = HELLO_BYTES
        self._is_closed = False

    def fileno(self) -> int:
        """For ``select``; -1 once closed."""
        return self._socket.fileno()

    def send(self, message: Message) -> None:
        """Send one message."""
        data = memoryview(json.dumps(message).encode() + b"\n")
        while data:
            try:
                data = data[self._socket.send(data) :]
            except BlockingIOError:
                if not select.select([], [self._socket], [], SEND_S)[1]:
                    raise ConnectionError("the other end does not read") from None
            except OSError as error:
                raise ConnectionError(str(error)) from None

    def trust(self) -> None:
        """The other end is a rank: it may say as much as ranks do."""
        self._most_bytes = MOST_BYTES

    def receive(self) -> list[Message]:
        """All messages that have come, without waiting. What came before the end comes first."""
        messages: list[Message] = []
        while not self._is_closed and len(messages) < MOST_MESSAGES:
            try:
                data = self._socket.recv(CHUNK)
            except BlockingIOError:
                break
            except OSError:
                data = b""
            self._is_closed = not data
            messages += self._whole(data)
        if self._is_closed and not messages:
            raise ConnectionError("the other end is gone")
        return messages

    def _whole(self, data: bytes) -> list[Message]:
        """The messages that end in ``data``; the rest is kept."""
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = bytes(self._buffer) + lines[0]
            self._buffer.clear()
        self._buffer += rest
        if len(self._buffer) > self._most_bytes:
            raise ConnectionError("the other end does not come to an end")
        try:
            messages = [parse_json_object(line, self._most_bytes) for line in lines]
        except ValueError as error:
            raise ConnectionError(f"the other end says what is no message: {error}") from None
        if any(not isinstance(message.get("kind"), str) for message in messages):
            raise ConnectionError("the other end says what is no message")
        return messages

    def end(self) -> None:
        """Say that nothing more will be sent."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


def readable(wires: list[Wire], wait_s: float) -> list[Wire]:
    """Those with something to receive, the end included, after ``wait_s`` at the latest."""
    return select.select(wires, [], [], max(wait_s, 0.0))[0]
