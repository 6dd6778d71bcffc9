"""Server-sent events to one page. Nothing queues up: what is sent next is chosen once it can be."""

import asyncio

from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from vecchess.dash.web.event_hub import Hub, TooManyError
from vecchess.dash.web.topics import Topic

PATIENCE_S = 60.0
"""A page that takes nothing for so long is cut off; it may come again."""
HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
}


class EventStream:
    """A response that lasts: an ASGI application of its own."""

    def __init__(self, hub: Hub, topics: tuple[Topic, ...]) -> None:
        """Events of ``hub`` about ``topics``."""
        self._hub, self._topics = hub, topics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Talk until the page goes, the hub closes, or nobody takes what is said."""
        try:
            with self._hub.listener(self._topics):
                await self._until_gone(receive, send)
        except TooManyError as error:
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
