"""Routes of the play page, the only ones that take POST.

    GET  ""           networks, strengths and limits to choose from
    POST "/position"  a game, and a typed move if there is one        -> facts of the game
    POST "/read"      a FEN, a PGN, the number of a Chess960 position -> facts of the game
    POST "/pgn"       a game                                          -> its PGN
    POST "/spikes"    a network and a position of a game              -> spikes and values
    POST "/move"      a network and a game                            -> events: its move
    POST "/analyse"   a network and a position of a game              -> events: its best lines

Events are server-sent, each a JSON object; closing the connection ends the work on spikes, moves
and analyses. An error is {"error": "one line"}. Its status is 400 or above where the request is at
fault; a move that is not legal, or a text that is no game, is an answer, with status 200.

Decision 171: events answer a POST.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from vecchess.dash.answers import SafeJSONResponse, error_line
from vecchess.dash.play.parse_requests import (
    AnalysisRequest,
    GameRequest,
    MoveRequest,
    NetworkRequest,
    PgnRequest,
    RequestModel,
    TextRequest,
    read_request,
)
from vecchess.dash.play.service import PlayService, game_as_pgn, game_from_text, position
from vecchess.errors import ConfigError, VecchessError

R = TypeVar("R")
NO_STORE = {"Cache-Control": "no-store"}


def play_routes(service: PlayService) -> list[Route]:
    """Routes relative to their mount; the caller closes ``service``, and answers errors."""

    async def offer(_: Request) -> Response:
        return SafeJSONResponse(await service.offer(), headers=NO_STORE)

    return [
        Route("/", offer, methods=["GET"]),
        _answer("/position", GameRequest, position),
        _answer("/read", TextRequest, game_from_text),
        _answer("/pgn", PgnRequest, game_as_pgn),
        _spikes(service),
        _stream("/move", service, MoveRequest, service.move),
        _stream("/analyse", service, AnalysisRequest, service.analyse),
    ]


def _answer(
    path: str, model: type[RequestModel], work: Callable[[RequestModel], dict[str, Any]]
) -> Route:
    async def endpoint(request: Request) -> Response:
        asked = await read_request(request, model)
        try:
            found = await run_in_threadpool(work, asked)
        except ConfigError as error:  # browsers would log another status as a fault of the page
            found = {"error": error_line(error)}
        return SafeJSONResponse(found, headers=NO_STORE)

    return Route(path, endpoint, methods=["POST"])


def _spikes(service: PlayService) -> Route:
    async def endpoint(request: Request) -> Response:
        asked = await read_request(request, NetworkRequest)
        with service.request_slot():
            seen = await _while_connected(request, service.spike_trace(asked))
        return SafeJSONResponse(seen, headers=NO_STORE)

    return Route("/spikes", endpoint, methods=["POST"])


async def _while_connected(request: Request, work: Coroutine[Any, Any, R]) -> R | None:
    """The result of ``work``, which is cancelled when the client goes; None then.

    Starlette does so for streams only. ``request`` has been read to its end.
    """
    working, gone = asyncio.create_task(work), asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait((working, gone), return_when=asyncio.FIRST_COMPLETED)
        return await working if working.done() else None
    finally:
        working.cancel()
        gone.cancel()


def _stream(
    path: str,
    service: PlayService,
    model: type[RequestModel],
    work: Callable[[RequestModel], AsyncIterator[dict[str, Any]]],
) -> Route:
    async def events(asked: RequestModel) -> AsyncIterator[str]:
        try:
            with service.request_slot():
                async with aclosing(work(asked)) as answers:  # type: ignore[type-var]
                    async for event in answers:
                        yield f"data: {json.dumps(event)}\n\n"
        except VecchessError as error:
            yield f"data: {json.dumps({'error': error_line(error)})}\n\n"

    async def endpoint(request: Request) -> Response:
        found = events(await read_request(request, model))
        return StreamingResponse(found, media_type="text/event-stream", headers=NO_STORE)

    return Route(path, endpoint, methods=["POST"])
