"""HTTP with an end to patience: who begins to ask and does not come to an end is hung up on.

uvicorn waits for ever for the rest of a request's head; a few hundred connections that send a byte
now and then would take every place.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 10.0
"""So long a connection may take to ask something."""


class PatientProtocol(H11Protocol):
    """One connection."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        """As uvicorn makes it."""
        super().__init__(*arguments, **settings)
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody is there."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Somebody says something."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Somebody has been answered."""
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there."""
        self._forget()
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
