"""JSON answers, and the status of errors."""

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from vecchess.errors import DataError, VecchessError


class SafeJSONResponse(JSONResponse):
    """Plain values as JSON. Bytes of file names that are not UTF-8 become question marks, so that
    one such name does not make the whole answer fail."""

    def render(self, content: Any) -> bytes:
        """Return the bytes of the JSON."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


class RequestRefused(VecchessError):  # noqa: N818  (the name says what happened)
    """A request that is refused; ``status`` is that of HTTP."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Busy(RequestRefused):
    """The limit of engines, requests or clients is reached."""

    def __init__(self, message: str) -> None:
        super().__init__(503, message)


def error_line(error: Exception) -> str:
    """The error as one line for people."""
    return " ".join(str(error).split())


async def error_answer(_: Request, error: Exception) -> SafeJSONResponse:
    """The answer to a request that failed with a VecchessError."""
    status = 404 if isinstance(error, DataError) else 400
    headers = {"cache-control": "no-store"}
    return SafeJSONResponse({"error": error_line(error)}, getattr(error, "status", status), headers)
