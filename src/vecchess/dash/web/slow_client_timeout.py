"""HTTP with an end to patience: who begins to ask and does not come to an end is hung up on, and so
is who asks and does not take the answer.

uvicorn waits for ever for the rest of a request's head, and for room to write; a few hundred
connections that send a byte now and then, or read nothing, would take every place.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 10.0
"""So long a connection may take to ask something."""
TAKE_S = 60.0
"""So long it may take nothing of what is there for it."""


class SlowClientTimeout(H11Protocol):
    """One connection."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        """As uvicorn makes it."""
        super().__init__(*arguments, **settings)
        self._timer: asyncio.TimerHandle | None = None
        self._taking: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody is there."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # writing pauses whenever anything is left
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Somebody says something."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Somebody has been answered."""
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """Somebody does not take all that is said at once."""
        super().pause_writing()
        self._wait_for_room()

    def resume_writing(self) -> None:
        """Somebody has taken it."""
        self._stop_waiting()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there."""
        self._forget()
        self._stop_waiting()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Look at the clock while nothing is asked."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._forget()
        elif self._timer is None and not self.transport.is_closing():
            self._timer = self.loop.call_later(HEAD_S, self.transport.close)

    def _forget(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait_for_room(self) -> None:
        left = self.transport.get_write_buffer_size()
        self._taking = self.loop.call_later(TAKE_S, self._look_for_room, left)

    def _look_for_room(self, before: int) -> None:
        """Hang up where nothing was taken, without waiting until it is, as ``close`` does."""
        if self.transport.get_write_buffer_size() < before:
            self._wait_for_room()
        else:
            self.transport.abort()

    def _stop_waiting(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None
