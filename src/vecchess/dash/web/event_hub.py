"""Publishes changes to clients as server-sent events.

Once a second, while clients listen, every topic that one of them wants is read. What differs from
before becomes one event, shared by all; only the newest of a topic is kept, slow clients skip.

Decision 160.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from vecchess.dash.answers import Busy
from vecchess.dash.views.run_reader import RunReader
from vecchess.dash.web.topics import keep_grids, read_topic
from vecchess.errors import VecchessError

INTERVAL_S = 1.0
HEARTBEAT_S = 10.0
"""Seconds after which a quiet stream gets a heartbeat."""
MAX_CLIENTS = 200


class EventHub:
    """Clients, and the newest event of each topic. Used in the event loop only."""

    def __init__(
        self, reader: RunReader, most: int = MAX_CLIENTS, interval_s: float = INTERVAL_S
    ) -> None:
        """At most ``most`` clients; ``interval_s`` between two reads of the topics."""
        self._reader, self._most, self._interval_s = reader, most, interval_s
        self._wanted: Counter[str] = Counter()
        self._newest: dict[str, bytes] = {}
        self._published = asyncio.Event()
        self._topic_added = asyncio.Event()
        self.num_clients = 0
        self.num_reads = 0
        self.is_closed = False

    @contextmanager
    def client(self, topics: Iterable[str]) -> Iterator[None]:
        """Count a client of ``topics``. Raises Busy above the limit."""
        if self.num_clients >= self._most:
            raise Busy(
                f"{self._most} pages are connected already; close some, then reload this one"
            )
        topics = list(topics)
        self.num_clients += 1
        self._wanted.update(topics)
        if any(topic not in self._newest for topic in topics):
            self._topic_added.set()
        try:
            yield
        finally:
            self.num_clients -= 1
            self._wanted.subtract(topics)
            self._wanted += Counter()  # drops those at zero
            for topic in self._newest.keys() - self._wanted.keys():
                del self._newest[topic]

    async def events(self, topics: Iterable[str]) -> AsyncIterator[bytes]:
        """Events of ``topics`` as they come, the newest only; ends when the hub closes."""
        topics, sent = list(topics), dict[str, bytes]()
        yield _event("hello", {"interval_s": self._interval_s})
        while not self.is_closed:
            published = self._published
            is_new = False
            for topic in topics:
                newest = self._newest.get(topic)
                if newest is not None and newest is not sent.get(topic):
                    sent[topic] = newest
                    is_new = True
                    yield newest
            if is_new:
                continue  # more may have come while the last was sent
            try:
                async with asyncio.timeout(HEARTBEAT_S):
                    await published.wait()
            except TimeoutError:
                yield _event("beat", {})

    async def run(self) -> None:
        """Read the topics that clients want once an interval, until cancelled."""
        while True:
            self._topic_added.clear()
            if not self._wanted:
                await self._topic_added.wait()
            await self.refresh()
            added = asyncio.ensure_future(self._topic_added.wait())
            await asyncio.wait([added], timeout=self._interval_s)
            added.cancel()

    async def refresh(self) -> None:
        """Read all topics that clients want once, and publish what changed."""
        self.num_reads += 1
        wanted = list(self._wanted)
        found = await self._reader.read(lambda reader: _read_topics(reader, wanted))
        changed = {
            topic: event
            for topic, event in found.items()
            if topic in self._wanted and event != self._newest.get(topic)
        }
        self._newest |= changed
        if changed:
            self._wake_clients()

    def close(self) -> None:
        """End all streams."""
        self.is_closed = True
        self._wake_clients()

    def _wake_clients(self) -> None:
        self._published.set()
        self._published = asyncio.Event()


class EventStream(StreamingResponse):
    """The events of one client, until it disconnects or the hub closes. Nothing queues up: the next
    event is chosen once it can be sent."""

    def __init__(self, hub: EventHub, topics: tuple[str, ...]) -> None:
        """Streams the events of ``hub`` about ``topics``."""
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        super().__init__(hub.events(topics), headers=headers, media_type="text/event-stream")
        self._hub, self._topics = hub, topics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream; raises Busy before anything is sent."""
        with self._hub.client(self._topics):
            await super().__call__(scope, receive, send)


def _read_topics(reader: RunReader, wanted: list[str]) -> dict[str, bytes]:
    keep_grids(wanted, reader)
    return {topic: _event(topic, _value(topic, reader)) for topic in wanted}


def _value(topic: str, reader: RunReader) -> Any:
    try:
        return read_topic(topic, reader)
    except VecchessError as error:
        return {"error": str(error)}
    except Exception as error:  # of one topic; the others are not held up
        return {"error": f"cannot be shown: {type(error).__name__}: {error}"}


def _event(name: str, values: Any) -> bytes:
    text = json.dumps(values, separators=(",", ":"))
    return f"event: {name}\ndata: {text}\n\n".encode()
