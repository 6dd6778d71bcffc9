"""Routes of the play page, the only ones that take POST.

    GET  ""           networks, strengths and limits to choose from
    POST "/position"  a game, and a typed move if there is one        -> facts of the game
    POST "/read"      a FEN, a PGN, the number of a Chess960 position -> facts of the game
    POST "/pgn"       a game                                          -> its PGN
    POST "/spikes"    a network and a position of a game              -> spikes and values
    POST "/move"      a network and a game                            -> events: its move
    POST "/analyse"   a network and a position of a game              -> events: its best lines

Events are server-sent, each a JSON object; closing the connection ends the work. An error is
{"error": "one line"}.
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
    """Routes relative to their mount; the caller closes ``service``."""

    async def offer(request: Request) -> Response:
        return SafeJSONResponse(await service.offer(), headers=NO_STORE)

    return [
        Route("/", offer, methods=["GET"]),
        _post("/position", _json_endpoint(service, GameRequest, service.position)),
        _post("/read", _json_endpoint(service, TextRequest, service.read)),
        _post("/pgn", _json_endpoint(service, PgnRequest, service.pgn)),
        _post("/spikes", _json_endpoint(service, NetworkRequest, service.spike_trace)),
        _post("/move", _event_endpoint(service, MoveRequest, service.move)),
        _post("/analyse", _event_endpoint(service, AnalysisRequest, service.analyse)),
    ]


def _post(path: str, endpoint: Endpoint) -> Route:
    return Route(path, endpoint, methods=["POST"])


def _json_endpoint(
    service: PlayService,
    model: type[RequestModel],
    work: Callable[[RequestModel], Awaitable[dict[str, Any]]],
) -> Endpoint:
    """An endpoint with one answer."""

    async def endpoint(request: Request) -> Response:
        try:
            asked = await read_request(request, model)
            with service.request_slot():
                return SafeJSONResponse(await work(asked), headers=NO_STORE)
        except VecchessError as error:
            return _failure(error)

    return endpoint


def _event_endpoint(
    service: PlayService,
    model: type[RequestModel],
    work: Callable[[RequestModel], AsyncIterator[dict[str, Any]]],
) -> Endpoint:
    """An endpoint with a stream of events."""

    async def events(asked: RequestModel) -> AsyncIterator[str]:
        try:
            with service.request_slot():
                async with aclosing(work(asked)) as answers:  # type: ignore[type-var]
                    async for event in answers:
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
