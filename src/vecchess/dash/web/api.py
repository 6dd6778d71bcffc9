"""The JSON API that pages read; changes are published by ``/api/events``."""

from collections.abc import Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from vecchess import __version__
from vecchess.dash.answers import SafeJSONResponse
from vecchess.dash.views.game_values import GameQuery, game_rows, game_view
from vecchess.dash.views.run_facts import run_facts
from vecchess.dash.views.run_reader import RunReader
from vecchess.dash.views.run_values import run_details, run_rows, series_columns
from vecchess.dash.web.event_hub import EventHub, EventStream
from vecchess.dash.web.topics import parse_topics
from vecchess.monitor.charts import CHARTS
from vecchess.monitor.run_view import RunView

DEFAULT_LINES = 600
MOST_DIGITS = 15


def api_routes(reader: RunReader, hub: EventHub) -> list[Route]:
    """The routes below /api that read: runs by ``reader``, events from ``hub``."""

    async def about(_: Request) -> Response:
        return SafeJSONResponse({"version": __version__})

    async def charts(_: Request) -> Response:
        return SafeJSONResponse([spec.to_dict() for spec in CHARTS])

    async def runs(_: Request) -> Response:
        return SafeJSONResponse(await reader.read(lambda reader: run_rows(reader.registry)))

    async def events(request: Request) -> Response:
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        return EventStream(hub, parse_topics(request.query_params.getlist("t")))

    def of_run(path: str, value: Callable[[RunView, Request], Any]) -> Route:
        async def answer(request: Request) -> Response:
            name = request.path_params["run"]
            found = await reader.read(lambda reader: value(reader.registry.view(name), request))
            return SafeJSONResponse(found)

        return Route(f"/api/runs/{{run}}{path}", answer)

    return [
        Route("/api/about", about),
        Route("/api/charts", charts),
        Route("/api/runs", runs),
        Route("/api/events", events),
        of_run("", lambda view, request: run_details(request.path_params["run"], view)),
        of_run("/config", lambda view, _: view.config),
        of_run("/facts", lambda view, _: run_facts(view)),
        of_run("/elo", lambda view, _: view.elo()),
        of_run("/costs", lambda view, _: view.costs()),
        of_run("/series/{kind}", _series),
        of_run("/games", _games),
        of_run("/games/{number}", _game),
    ]


def _series(view: RunView, request: Request) -> Any:
    most = _count(request.query_params.get("most", ""))
    kind = request.path_params["kind"]
    return series_columns(view.series, kind, DEFAULT_LINES if most is None else most)


def _games(view: RunView, request: Request) -> Any:
    asked = dict(request.query_params)
    chosen = {key: asked[key] for key in ("result", "ending", "order") if key in asked}
    return game_rows(view, GameQuery(**chosen, first=_count(asked.get("first", "")) or 0))


def _game(view: RunView, request: Request) -> Any:
    number = _count(request.path_params["number"])
    if number is None:
        raise HTTPException(404)
    return game_view(view, number)


def _count(text: str) -> int | None:
    """A count in digits, not so many that ``int`` refuses them; None for anything else."""
    is_count = text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS
    return int(text) if is_count else None
