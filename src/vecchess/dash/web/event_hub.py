"""Publishes changes to clients as server-sent events.

Once a second, while clients listen, every topic that one of them wants is read. What differs from
before becomes one event, shared by all; only the newest of a topic is kept, slow clients skip.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from vecchess.dash.views.run_reader import RunReader
from vecchess.dash.web.topics import Topic
from vecchess.errors import VecchessError

INTERVAL_S = 1.0
HEARTBEAT_S = 10.0
"""Seconds after which a quiet stream gets a heartbeat."""
MAX_CLIENTS = 200


class TooManyClientsError(VecchessError):
    """The limit of clients is reached."""


@dataclass(frozen=True)
class TopicEvent:
    """The newest event of a topic."""

    version: int
    event: bytes
    """The bytes of a server-sent event."""


class EventHub:
    """Clients, and the newest event of each topic. Used in the event loop only."""

    def __init__(
        self, reader: RunReader, most: int = MAX_CLIENTS, interval_s: float = INTERVAL_S
    ) -> None:
        """At most ``most`` clients; ``interval_s`` between two reads of the topics."""
        self._reader, self._most, self._interval_s = reader, most, interval_s
        self._wanted: Counter[Topic] = Counter()
        self._newest: dict[Topic, TopicEvent] = {}
        self._published = asyncio.Event()
        self._topic_added = asyncio.Event()
        self.num_clients = 0
        self.num_reads = 0
        self.is_closed = False

    @contextmanager
    def client(self, topics: Iterable[Topic]) -> Iterator[None]:
        """Count a client of ``topics``. Raises TooManyClientsError above the limit."""
        if self.num_clients >= self._most:
            raise TooManyClientsError(
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

    async def events(self, topics: Iterable[Topic]) -> AsyncIterator[bytes]:
        """Events of ``topics`` as they come, the newest only; ends when the hub closes."""
        topics, sent = list(topics), dict[Topic, int]()
        yield _event("hello", {"interval_s": self._interval_s})
        while not self.is_closed:
            published = self._published
            is_new = False
            for topic in topics:
                newest = self._newest.get(topic)
                if newest is not None and newest.version != sent.get(topic):
                    sent[topic] = newest.version
                    is_new = True
                    yield newest.event
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
        changed = False
        for topic, event in found.items():
            before = self._newest.get(topic)
            if topic in self._wanted and (before is None or before.event != event):
                self._newest[topic] = TopicEvent(before.version + 1 if before else 0, event)
                changed = True
        if changed:
            self._wake_clients()

    def close(self) -> None:
        """End all streams."""
        self.is_closed = True
        self._wake_clients()

    def _wake_clients(self) -> None:
        self._published.set()
        self._published = asyncio.Event()


def _read_topics(reader: RunReader, wanted: list[Topic]) -> dict[Topic, bytes]:
    reader.grids.drop_others({topic.run for topic in wanted if topic.kind == "boards"})
    return {topic: _event(topic.text, _read_topic(topic, reader)) for topic in wanted}


def _read_topic(topic: Topic, reader: RunReader) -> Any:
    try:
        return topic.value(reader)
    except VecchessError as error:
        return {"error": str(error)}
    except Exception as error:  # of one topic; the others are not held up
        return {"error": f"cannot be shown: {type(error).__name__}: {error}"}


def _event(name: str, values: Any) -> bytes:
    text = json.dumps(values, separators=(",", ":"))
    return f"event: {name}\ndata: {text}\n\n".encode()


SEND_S = 60.0
"""A client that reads nothing for so long is disconnected; it may connect again."""
HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
}


class EventStream:
    """The response of one client, an ASGI application. Nothing queues up: the next event is chosen
    once it can be sent."""

    def __init__(self, hub: EventHub, topics: tuple[Topic, ...]) -> None:
        """Streams the events of ``hub`` about ``topics``."""
        self._hub, self._topics = hub, topics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream until the client disconnects or stops reading, or the hub closes."""
        try:
            with self._hub.client(self._topics):
                await self._until_gone(receive, send)
        except TooManyClientsError as error:
            refusal = JSONResponse({"error": str(error)}, 503, {"retry-after": "10"})
            await refusal(scope, receive, send)

    async def _until_gone(self, receive: Receive, send: Send) -> None:
        stream = asyncio.ensure_future(self._stream(send))
        gone = asyncio.ensure_future(_disconnect(receive))
        try:
            await asyncio.wait([stream, gone], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (stream, gone):
                task.cancel()
            await asyncio.gather(stream, gone, return_exceptions=True)

    async def _stream(self, send: Send) -> None:
        headers = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async for event in self._hub.events(self._topics):
            message = {"type": "http.response.body", "body": event, "more_body": True}
            async with asyncio.timeout(SEND_S):  # wait_for may swallow that we are cancelled
                await send(message)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
