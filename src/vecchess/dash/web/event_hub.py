"""What changes, told to all who listen. Only the newest is kept: whoever is slow misses the rest.

Once a second, and only while somebody listens, the desk looks at each topic that is wanted. What
differs from before becomes one text, shared by all.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from vecchess.dash.views.reader_thread import Desk
from vecchess.dash.web.topics import Topic
from vecchess.errors import VecchessError

INTERVAL_S = 1.0
BEAT_S = 10.0
"""A listener hears something at least so often."""
MOST_LISTENERS = 200


class TooManyError(VecchessError):
    """Every place for listeners is taken."""


@dataclass(frozen=True)
class News:
    """What a topic says now."""

    version: int
    event: bytes
    """As a server-sent event."""


class Hub:
    """Listeners and the newest of each topic. Lives in the event loop."""

    def __init__(
        self, desk: Desk, most: int = MOST_LISTENERS, interval_s: float = INTERVAL_S
    ) -> None:
        """At ``most`` so many listeners; ``interval_s`` between two looks."""
        self._desk, self._most, self._interval_s = desk, most, interval_s
        self._wanted: Counter[Topic] = Counter()
        self._newest: dict[Topic, News] = {}
        self._turned = asyncio.Event()
        self._called = asyncio.Event()
        self.num_listeners = 0
        self.num_looks = 0
        self.is_closed = False

    @contextmanager
    def listener(self, topics: Iterable[Topic]) -> Iterator[None]:
        """Be counted while listening to ``topics``. Raises TooManyError where there is no place."""
        if self.num_listeners >= self._most:
            raise TooManyError(
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
        found = await self._desk.ask(lambda desk: _look(desk, wanted))
        changed = False
        for topic, event in found.items():
            before = self._newest.get(topic)
            if topic in self._wanted and (before is None or before.event != event):
                self._newest[topic] = News(before.version + 1 if before else 0, event)
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


def _look(desk: Desk, wanted: list[Topic]) -> dict[Topic, bytes]:
    desk.grids.keep({topic.run for topic in wanted if topic.kind == "boards"})
    return {topic: _event(topic.text, _said(topic, desk)) for topic in wanted}


def _said(topic: Topic, desk: Desk) -> Any:
    try:
        return topic.look(desk)
    except VecchessError as error:
        return {"error": str(error)}
    except Exception as error:  # whatever it is, the other topics go on
        return {"error": f"cannot be shown: {type(error).__name__}: {error}"}


def _event(name: str, values: Any) -> bytes:
    text = json.dumps(values, separators=(",", ":"))
    return f"event: {name}\ndata: {text}\n\n".encode()
