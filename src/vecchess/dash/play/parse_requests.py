"""What the play page may ask: the shape of each body."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import ClientDisconnect, Request

from vecchess.config.uci_settings import LEAST_ELO, MOST_ELO
from vecchess.dash.play.play_game import MOST_PLIES
from vecchess.errors import VecchessError
from vecchess.safe_parse import clip_line

MOST_BYTES = 1 << 16
BODY_S = 10.0
"""So long a body may take to come."""
MOST_SIMS, MOST_ANALYSIS_SIMS = 1000, 20_000

Text = Annotated[str, Field(max_length=120)]
Move = Annotated[str, Field(max_length=8)]


class RequestRefused(VecchessError):  # noqa: N818  (the name says what happened)
    """A request that is not looked into; ``status`` is HTTP's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class GameRequest(BaseModel):
    """A game: the FEN it starts from, or "startpos", and its moves in UCI; one more as typed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: Text = "startpos"
    moves: tuple[Move, ...] = Field(default=(), max_length=MOST_PLIES)
    typed: Text | None = None


class TextRequest(BaseModel):
    """A game to be read: a FEN or a PGN, or the number of a Chess960 start position."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str = ""
    chess960: Annotated[int, Field(ge=0, le=959)] | None = None


class PgnRequest(GameRequest):
    """A game to be written, who played it, and how it ended where the board does not say."""

    white: Text = "?"
    black: Text = "?"
    date: Annotated[str, Field(pattern=r"^\d{4}\.\d{2}\.\d{2}$")] = "????.??.??"
    result: Annotated[str, Field(pattern=r"^(1-0|0-1|1/2-1/2|\*)$")] = "*"
    termination: Text = ""


class NetworkRequest(GameRequest):
    """A place in a game, and a network by name."""

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
    _check_type(request.headers)
    try:
        async with asyncio.timeout(BODY_S):
            body = await _body(request)
        return model.model_validate_json(body)
    except TimeoutError:
        raise RequestRefused(408, f"nothing came for {BODY_S:g} s: ask again") from None
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"])) or "the body"
        raise RequestRefused(400, clip_line(f"{where}: {fault['msg']}")) from None


async def _body(request: Request) -> bytes:
    """All of it, which is never more than ``MOST_BYTES``."""
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                raise RequestRefused(413, f"that is too long: {MOST_BYTES // 1024} KiB is the most")
    except ClientDisconnect:
        raise RequestRefused(400, "the body ends before it is whole") from None
    return bytes(body)


def _check_type(headers: Mapping[str, str]) -> None:
    """Raise Refused for anything but JSON: a page of another site that the guard does not know for
    one can send a form at most."""
    if headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
        raise RequestRefused(415, "only application/json is taken here")
