"""Parses the requests of the play page: one model for each body."""

import asyncio
from typing import Annotated, TypeVar

from pydantic import BaseModel, Field, ValidationError
from starlette.requests import ClientDisconnect, Request

from vecchess.config.settings import Settings
from vecchess.config.uci_settings import LEAST_ELO, MOST_ELO
from vecchess.dash.answers import RequestRefused
from vecchess.dash.play.play_game import MOST_PLIES
from vecchess.safe_parse import clip_line

MOST_BYTES = 1 << 16
BODY_S = 10.0
"""Seconds within which a body has to arrive."""
MOST_SIMS, MOST_ANALYSIS_SIMS = 1000, 20_000

Text = Annotated[str, Field(max_length=120)]
Move = Annotated[str, Field(max_length=8)]


class GameRequest(Settings):
    """A game: the FEN it starts from, or "startpos", and its moves in UCI; one more as typed."""

    start: Text = "startpos"
    moves: tuple[Move, ...] = Field(default=(), max_length=MOST_PLIES)
    typed: Text | None = None


class TextRequest(Settings):
    """A game to be read: a FEN or a PGN, or the number of a Chess960 start position."""

    text: str = ""
    chess960: Annotated[int, Field(ge=0, le=959)] | None = None


class PgnRequest(GameRequest):
    """A game to write as PGN: its players, and its end where the board does not show it."""

    white: Text = "?"
    black: Text = "?"
    date: Annotated[str, Field(pattern=r"^\d{4}\.\d{2}\.\d{2}$")] = "????.??.??"
    result: Annotated[str, Field(pattern=r"^(1-0|0-1|1/2-1/2|\*)$")] = "*"
    termination: Text = ""


class NetworkRequest(GameRequest):
    """A position of a game, and a network by name."""

    network: str = Field(max_length=300)


class MoveRequest(NetworkRequest):
    """A move of the network: simulations, 0 for its policy alone, or a rating of UCI_Elo."""

    sims: Annotated[int, Field(ge=0, le=MOST_SIMS)] = 0
    elo: Annotated[int, Field(ge=LEAST_ELO, le=MOST_ELO)] | None = None


class AnalysisRequest(NetworkRequest):
    """The best lines after so many simulations."""

    sims: Annotated[int, Field(ge=1, le=MOST_ANALYSIS_SIMS)] = MOST_ANALYSIS_SIMS


RequestModel = TypeVar("RequestModel", bound=BaseModel)


async def read_request(request: Request, model: type[RequestModel]) -> RequestModel:
    """The body of a request from our own page; raises RequestRefused for any other."""
    # pages of other sites can send forms at most
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != "application/json":
        raise RequestRefused(415, "the body has to be application/json")
    try:
        async with asyncio.timeout(BODY_S):
            body = await _body(request)
        return model.model_validate_json(body)
    except TimeoutError:
        raise RequestRefused(408, f"no whole request within {BODY_S:g} s: try again") from None
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"])) or "the body"
        raise RequestRefused(400, clip_line(f"{where}: {fault['msg']}")) from None


async def _body(request: Request) -> bytes:
    """The whole body, of ``MOST_BYTES`` at most."""
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                raise RequestRefused(413, f"the request is longer than {MOST_BYTES // 1024} KiB")
    except ClientDisconnect:
        raise RequestRefused(400, "the request ended early") from None
    return bytes(body)
