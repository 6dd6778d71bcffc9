"""HTTP/1.1 with limits for clients: time, and number of connections.

A connection is closed where a client does not finish its request in time, or stops reading the
answer. Above the number of connections the one that has waited longest for its request gives way.
uvicorn has no such limits: a few hundred connections that send a byte now and then, or read
nothing, would take every place, or every file descriptor of a run.

Decisions 183 and 300.
"""

import asyncio
import sys
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S = 10.0
"""Seconds within which a connection has to send a whole request."""
READ_S = 60.0
"""Seconds within which a client has to read some of the data that waits for it."""
DESCRIPTOR_SHARE = 4
"""Connections take at most one in so many of the files that a process may open."""


def fitting_connections(most: int) -> int:
    """Connections at a time: ``most``, or fewer where this process may open few files.

    A run that served more could not open its own files any longer.
    """
    if sys.platform == "win32":
        return most
    import resource

    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most if files == resource.RLIM_INFINITY else min(most, max(1, files // DESCRIPTOR_SHARE))


class ClientLimits(H11Protocol):
    """One connection."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        """Take what uvicorn gives its protocol."""
        super().__init__(*arguments, **settings)
        self._request_timer: asyncio.TimerHandle | None = None
        """Runs while the client has to send a request."""
        self._read_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time for the first request, and make room for it."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # writing pauses whenever anything is left
        self._update_request_timer()
        self._make_room()

    def data_received(self, data: bytes) -> None:
        """Stop the time once the request is whole."""
        super().data_received(data)
        self._update_request_timer()

    def on_response_complete(self) -> None:
        """Start the time for the next request."""
        super().on_response_complete()
        self._update_request_timer()

    def pause_writing(self) -> None:
        """Start the time for reading: the client did not take all data at once."""
        super().pause_writing()
        self._start_read_timer()

    def resume_writing(self) -> None:
        """Stop the time for reading: the client has taken all data."""
        self._stop_read_timer()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop both timers."""
        self._stop_request_timer()
        self._stop_read_timer()
        super().connection_lost(exc)

    def _make_room(self) -> None:
        """Abort the connection whose request is due first, at last this one, if there are more
        than there may be."""
        if self.limit_concurrency is None or len(self.connections) < self.limit_concurrency:
            return
        due = {
            other: other._request_timer.when()
            for other in self.connections
            if isinstance(other, ClientLimits) and other._request_timer is not None
        }
        first = min(due, key=due.__getitem__, default=self)
        self.connections.discard(first)  # the loop closes it a turn later, and makes others before
        first.transport.abort()

    def _update_request_timer(self) -> None:
        """Run the timer while no request is being answered."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_request_timer()
        elif self._request_timer is None and not self.transport.is_closing():
            self._request_timer = self.loop.call_later(REQUEST_S, self.transport.close)

    def _stop_request_timer(self) -> None:
        if self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None

    def _start_read_timer(self) -> None:
        left = self.transport.get_write_buffer_size()
        self._read_timer = self.loop.call_later(READ_S, self._check_progress, left)

    def _check_progress(self, before: int) -> None:
        """Abort the connection if nothing was read; ``close`` would wait until all is."""
        if self.transport.get_write_buffer_size() < before:
            self._start_read_timer()
        else:
            self.transport.abort()

    def _stop_read_timer(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None
