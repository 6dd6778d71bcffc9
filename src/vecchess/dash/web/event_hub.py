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
BEAT_S = 10.0
"""A listener hears something at least so often."""
MAX_CLIENTS = 200


class TooManyClientsError(VecchessError):
    """Every place for listeners is taken."""


@dataclass(frozen=True)
class TopicEvent:
    """What a topic says now."""

    version: int
    event: bytes
    """As a server-sent event."""


class EventHub:
    """Listeners and the newest of each topic. Lives in the event loop."""

    def __init__(
        self, reader: RunReader, most: int = MAX_CLIENTS, interval_s: float = INTERVAL_S
    ) -> None:
        """At ``most`` so many listeners; ``interval_s`` between two looks."""
        self._reader, self._most, self._interval_s = reader, most, interval_s
        self._wanted: Counter[Topic] = Counter()
        self._newest: dict[Topic, TopicEvent] = {}
        self._turned = asyncio.Event()
        self._called = asyncio.Event()
        self.num_listeners = 0
        self.num_looks = 0
        self.is_closed = False

    @contextmanager
    def listener(self, topics: Iterable[Topic]) -> Iterator[None]:
        """Count a client of ``topics``. Raises TooManyClientsError above the limit."""
        if self.num_listeners >= self._most:
            raise TooManyClientsError(
                f"{self._most} pages listen already; close some, then reload this one"
            )
        topics = list(topics)
        self.num_listeners += 1
        self._wanted.update(topics)
        if any(topic not in self._newest for topic in topics):
            self._called.set()
        try:
            yield
        finally:
            self.num_listeners -= 1
            self._wanted.subtract(topics)
            self._wanted += Counter()  # drops those at zero
            for topic in self._newest.keys() - self._wanted.keys():
                del self._newest[topic]

    async def news(self, topics: Iterable[Topic]) -> AsyncIterator[bytes]:
        """Events about ``topics`` as they come, the newest only; ends when the hub closes."""
        topics, heard = list(topics), dict[Topic, int]()
        yield _event("hello", {"interval_s": self._interval_s})
        while not self.is_closed:
            turned = self._turned
            is_new = False
            for topic in topics:
                said = self._newest.get(topic)
                if said is not None and said.version != heard.get(topic):
                    heard[topic] = said.version
                    is_new = True
                    yield said.event
            if is_new:
                continue  # what came while the last was on its way
            try:
                async with asyncio.timeout(BEAT_S):
                    await turned.wait()
            except TimeoutError:
                yield _event("beat", {})

    async def run(self) -> None:
        """Look, and tell, for ever."""
        while True:
            self._called.clear()
            if not self._wanted:
                await self._called.wait()
            await self.look()
            with_news = asyncio.ensure_future(self._called.wait())
            await asyncio.wait([with_news], timeout=self._interval_s)
            with_news.cancel()

    async def look(self) -> None:
        """Look once at everything that is wanted."""
        self.num_looks += 1
        wanted = list(self._wanted)
        found = await self._reader.ask(lambda reader: _look(reader, wanted))
        changed = False
        for topic, event in found.items():
            before = self._newest.get(topic)
            if topic in self._wanted and (before is None or before.event != event):
                self._newest[topic] = TopicEvent(before.version + 1 if before else 0, event)
                changed = True
        if changed:
            self._turn()

    def close(self) -> None:
        """Send all listeners home."""
        self.is_closed = True
        self._turn()

    def _turn(self) -> None:
        self._turned.set()
        self._turned = asyncio.Event()


def _look(reader: RunReader, wanted: list[Topic]) -> dict[Topic, bytes]:
    reader.grids.keep({topic.run for topic in wanted if topic.kind == "boards"})
    return {topic: _event(topic.text, _said(topic, reader)) for topic in wanted}


def _said(topic: Topic, reader: RunReader) -> Any:
    try:
        return topic.look(reader)
    except VecchessError as error:
        return {"error": str(error)}
    except Exception as error:  # whatever it is, the other topics go on
        return {"error": f"cannot be shown: {type(error).__name__}: {error}"}


def _event(name: str, values: Any) -> bytes:
    text = json.dumps(values, separators=(",", ":"))
    return f"event: {name}\ndata: {text}\n\n".encode()


PATIENCE_S = 60.0
"""A page that takes nothing for so long is cut off; it may come again."""
HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
}


class EventStream:
    """A response that lasts: an ASGI application of its own."""

    def __init__(self, hub: EventHub, topics: tuple[Topic, ...]) -> None:
        """Events of ``hub`` about ``topics``."""
        self._hub, self._topics = hub, topics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Talk until the page goes, the hub closes, or nobody takes what is said."""
        try:
            with self._hub.listener(self._topics):
                await self._until_gone(receive, send)
        except TooManyClientsError as error:
            refusal = JSONResponse({"error": str(error)}, 503, {"retry-after": "10"})
            await refusal(scope, receive, send)

    async def _until_gone(self, receive: Receive, send: Send) -> None:
        talk = asyncio.ensure_future(self._talk(send))
        gone = asyncio.ensure_future(_disconnect(receive))
        try:
            await asyncio.wait([talk, gone], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (talk, gone):
                task.cancel()
            await asyncio.gather(talk, gone, return_exceptions=True)

    async def _talk(self, send: Send) -> None:
        headers = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async for event in self._hub.news(self._topics):
            message = {"type": "http.response.body", "body": event, "more_body": True}
            async with asyncio.timeout(PATIENCE_S):  # wait_for may swallow that we are cancelled
                await send(message)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
