"""Events: one look for all, the newest only for who is slow, nothing left of who went."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.types import Message

from tests.dash.site import small_run
from vecchess.dash.answers import Busy, error_answer
from vecchess.dash.views import run_reader
from vecchess.dash.views.run_reader import RunReader, RunRegistry
from vecchess.dash.web.event_hub import EventHub, EventStream
from vecchess.dash.web.topics import parse_topics

RUN = "run/one"


@pytest.fixture(autouse=True)
def _always_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_reader, "FRESH_S", 0.0)


def go(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 20))


def hub_of(path: Path, most: int = 200) -> EventHub:
    return EventHub(RunReader(RunRegistry([path])), most, interval_s=0.01)


def said(event: bytes) -> tuple[str, Any]:
    """Topic and values of an event."""
    name, data = event.decode().strip().split("\n")
    return name.removeprefix("event: "), json.loads(data.removeprefix("data: "))


async def next_of(news: AsyncIterator[bytes], topic: str) -> Any:
    async for event in news:
        name, values = said(event)
        if name == topic:
            return values
    raise AssertionError("it ended")


def test_all_who_listen_share_one_look_and_one_text(tmp_path: Path) -> None:
    hub = hub_of(small_run(tmp_path / "one").path)

    async def listen() -> None:
        with hub.client([RUN]), hub.client([RUN]):
            await hub.refresh()
            texts = []
            for _ in range(2):
                news = hub.events([RUN])
                await anext(news)
                texts.append(await anext(news))
            assert texts[0] is texts[1]
            assert said(texts[0])[1]["status"]["games"] == 120
        assert hub.num_reads == 1
        assert hub.num_clients == 0

    go(listen)


def test_what_did_not_change_is_not_told_again(tmp_path: Path) -> None:
    made = small_run(tmp_path / "one")
    hub = hub_of(made.path)

    async def listen() -> None:
        with hub.client([RUN]):
            await hub.refresh()
            news = hub.events([RUN])
            assert (await next_of(news, "run/one"))["status"]["games"] == 120
            await hub.refresh()
            waiting = asyncio.ensure_future(anext(news))
            await asyncio.sleep(0.02)
            assert not waiting.done()
            made.status(games=121)
            await hub.refresh()
            assert said(await waiting)[1]["status"]["games"] == 121

    go(listen)


def test_nobody_listens_nobody_looks(tmp_path: Path) -> None:
    hub = hub_of(small_run(tmp_path / "one").path)

    async def wait() -> None:
        looking = asyncio.ensure_future(hub.run())
        await asyncio.sleep(0.05)
        assert hub.num_reads == 0
        with hub.client([RUN]):
            await next_of(hub.events([RUN]), "run/one")
        assert hub.num_reads > 0
        await asyncio.sleep(0.05)
        before = hub.num_reads
        await asyncio.sleep(0.05)
        assert hub.num_reads == before
        looking.cancel()

    go(wait)


class Reader:
    """The other end of a stream: takes one event whenever it is allowed to."""

    def __init__(self) -> None:
        self.taken: list[Message] = []
        self.may_take = asyncio.Semaphore(0)
        self.gone = asyncio.Event()

    async def send(self, message: Message) -> None:
        await self.may_take.acquire()
        self.taken.append(message)

    async def receive(self) -> Message:
        await self.gone.wait()
        return {"type": "http.disconnect"}


@asynccontextmanager
async def streaming(hub: EventHub, reader: Reader) -> AsyncIterator[asyncio.Task[None]]:
    stream = EventStream(hub, (RUN,))
    scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
    task = asyncio.ensure_future(stream(scope, reader.receive, reader.send))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_who_is_slow_gets_the_newest_and_misses_the_rest(tmp_path: Path) -> None:
    made = small_run(tmp_path / "one")
    hub = hub_of(made.path)

    async def read_slowly() -> None:
        reader = Reader()
        async with streaming(hub, reader):
            await asyncio.sleep(0)
            for games in range(1, 21):
                made.status(games=games)
                await hub.refresh()
            reader.may_take.release()  # the headers
            for _ in range(2):  # hello, and what is newest by now
                reader.may_take.release()
                await asyncio.sleep(0.01)
            assert len(reader.taken) == 3
            assert said(reader.taken[-1]["body"])[1]["status"]["games"] == 20

    go(read_slowly)


def test_who_goes_leaves_nothing_behind(tmp_path: Path) -> None:
    hub = hub_of(small_run(tmp_path / "one").path)

    async def go_away() -> None:
        readers = [Reader() for _ in range(3)]
        for reader in readers:
            async with streaming(hub, reader) as task:
                await asyncio.sleep(0.01)
                assert hub.num_clients == 1
                reader.gone.set()
                await task
        assert hub.num_clients == 0
        await hub.refresh()
        assert hub._newest == {}

    go(go_away)


def test_there_is_a_most_of_listeners(tmp_path: Path) -> None:
    hub = hub_of(small_run(tmp_path / "one").path)

    async def crowd() -> None:
        readers = [Reader() for _ in range(200)]
        stack = [
            asyncio.ensure_future(EventStream(hub, (RUN,))({"type": "http"}, r.receive, r.send))
            for r in readers
        ]
        await asyncio.sleep(0.05)
        assert hub.num_clients == 200
        late, scope = Reader(), {"type": "http", "headers": []}
        with pytest.raises(Busy, match="200 pages are connected already") as refused:
            await EventStream(hub, (RUN,))(scope, late.receive, late.send)
        assert late.taken == []
        assert (await error_answer(Request(scope), refused.value)).status_code == 503
        readers[0].gone.set()
        await stack[0]
        with hub.client([RUN]):
            assert hub.num_clients == 200
        hub.close()
        for reader in readers:
            reader.may_take = asyncio.Semaphore(9)
        for task in stack:
            task.cancel()
        await asyncio.gather(*stack, return_exceptions=True)
        assert hub.num_clients == 0

    go(crowd)


def test_closing_ends_every_stream(tmp_path: Path) -> None:
    hub = hub_of(small_run(tmp_path / "one").path)

    async def close() -> None:
        reader = Reader()
        reader.may_take = asyncio.Semaphore(100)
        async with streaming(hub, reader) as task:
            await asyncio.sleep(0.01)
            hub.close()
            await task
        assert reader.taken[-1] == {"type": "http.response.body", "body": b"", "more_body": False}

    go(close)


def test_a_topic_that_cannot_be_shown_says_why(tmp_path: Path) -> None:
    hub = hub_of(small_run(tmp_path / "one").path)
    gone = "game/one/7"

    async def listen() -> None:
        with hub.client([gone, RUN]):
            await hub.refresh()
            news = hub.events([gone, RUN])
            assert "no game 7" in (await next_of(news, "game/one/7"))["error"]
            assert "status" in await next_of(news, "run/one")

    go(listen)


def test_topics_are_spelt_as_they_are_read() -> None:
    for text in ("runs", "run/a-b.c", "series/x", "boards/x/64", "game/x/0"):
        assert parse_topics([text, text]) == (text,)
