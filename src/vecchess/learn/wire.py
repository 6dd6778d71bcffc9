"""One connection between two ranks: JSON objects, a line each. Nothing here ever waits for ever."""

import json
import select
import socket
from contextlib import suppress
from typing import Any

Message = dict[str, Any]
SEND_S = 10.0
"""A peer that reads nothing for so long, although its buffers are full, counts as gone."""
CHUNK = 1 << 16


class Wire:
    """A connected socket. Both directions raise ConnectionError once the other end is gone."""

    def __init__(self, connected: socket.socket) -> None:
        """Take ``connected`` over."""
        connected.setblocking(False)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = connected
        self._buffer = b""
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

    def receive(self) -> list[Message]:
        """All messages that have come, without waiting. What came before the end comes first."""
        while not self._is_closed:
            try:
                data = self._socket.recv(CHUNK)
            except BlockingIOError:
                break
            except OSError:
                data = b""
            self._buffer += data
            self._is_closed = not data
        *lines, self._buffer = self._buffer.split(b"\n")
        if self._is_closed and not lines:
            raise ConnectionError("the other end is gone")
        return [json.loads(line) for line in lines]

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
