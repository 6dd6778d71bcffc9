"""The play page's part of the server: the only one that may be posted to.

    GET  ""           what there is to play against
    POST "/position"  a game, or one with a move that was typed       -> where it has come to
    POST "/read"      a FEN, a PGN, the number of a Chess960 position -> the game
    POST "/pgn"       a game                                          -> its PGN
    POST "/spikes"    a network and a place in a game                 -> what its neurons do
    POST "/move"      a network and a game                            -> events: its move
    POST "/analyse"   a network and a place in a game                 -> events: its best lines

Events are server-sent ones, each a JSON object; hanging up stops what they tell of. Whatever goes
wrong is {"error": "one line"}.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from vecchess.dash.json_response import SafeJSONResponse
from vecchess.dash.play.helper_process import Busy, HelperFailed
from vecchess.dash.play.parse_requests import (
    AnalysisRequest,
    GameRequest,
    MoveRequest,
    NetworkRequest,
    PgnRequest,
    RequestModel,
    RequestRefused,
    TextRequest,
    read_request,
)
from vecchess.dash.play.service import PlayService
from vecchess.errors import VecchessError

NO_STORE = {"Cache-Control": "no-store"}

Endpoint = Callable[[Request], Awaitable[Response]]


def routes(service: PlayService) -> list[Route]:
    """Routes below the place where they are mounted; ``service`` is the caller's to close."""

    async def offer(request: Request) -> Response:
        return SafeJSONResponse(await service.offer(), headers=NO_STORE)

    return [
        Route("/", offer, methods=["GET"]),
        _post("/position", _answering(service, GameRequest, service.position)),
        _post("/read", _answering(service, TextRequest, service.read)),
        _post("/pgn", _answering(service, PgnRequest, service.pgn)),
        _post("/spikes", _answering(service, NetworkRequest, service.look)),
        _post("/move", _telling(service, MoveRequest, service.move)),
        _post("/analyse", _telling(service, AnalysisRequest, service.analyse)),
    ]


def _post(path: str, endpoint: Endpoint) -> Route:
    return Route(path, endpoint, methods=["POST"])


def _answering(
    service: PlayService,
    model: type[RequestModel],
    work: Callable[[RequestModel], Awaitable[dict[str, Any]]],
) -> Endpoint:
    """An endpoint that answers once."""

    async def endpoint(request: Request) -> Response:
        try:
            asked = await read_request(request, model)
            with service.seat():
                return SafeJSONResponse(await work(asked), headers=NO_STORE)
        except VecchessError as error:
            return _failure(error)

    return endpoint


def _telling(
    service: PlayService,
    model: type[RequestModel],
    work: Callable[[RequestModel], AsyncIterator[dict[str, Any]]],
) -> Endpoint:
    """An endpoint that answers with events."""

    async def events(asked: RequestModel) -> AsyncIterator[str]:
        try:
            with service.seat():
                async with aclosing(work(asked)) as told:  # type: ignore[type-var]
                    async for event in told:
                        yield _event(event)
        except VecchessError as error:
            yield _event({"error": _line(error)})

    async def endpoint(request: Request) -> Response:
        try:
            asked = await read_request(request, model)
        except VecchessError as error:
            return _failure(error)
        return StreamingResponse(events(asked), media_type="text/event-stream", headers=NO_STORE)

    return endpoint


def _event(event: dict[str, Any]) -> str:
    return f"data: {json.dumps(event)}\n\n"


def _failure(error: VecchessError) -> Response:
    status = 400
    if isinstance(error, RequestRefused):
        status = error.status
    elif isinstance(error, (Busy, HelperFailed)):
        status = 503
    return SafeJSONResponse({"error": _line(error)}, status, headers=NO_STORE)


def _line(error: VecchessError) -> str:
    return " ".join(str(error).split())
