"""Access control in front of every port: host, method, site and token of a request.

Decisions 162 and 182.
"""

import hmac
from hashlib import sha256
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

READ = ("GET", "HEAD")
OWN_SITES = ("same-origin", "none")
"""Sec-Fetch-Site of requests by our own pages, and of addresses typed by hand."""
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
HEADERS = {
    "content-security-policy": (
        "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}


class AccessControl:
    """Middleware that passes requests to ``app`` or refuses them."""

    def __init__(
        self,
        app: ASGIApp,
        token: str = "",
        any_host: bool = False,
        posts: tuple[str, ...] = (),
        public: tuple[str, ...] = (),
    ) -> None:
        """``token``: needed by every request, "" for none. ``any_host``: the server may be reached
        by any host name; otherwise by those of the loopback only, against DNS rebinding. ``posts``:
        what the paths begin with that take POST. ``public``: paths that need no token."""
        self._app, self._token, self._any_host = app, token, any_host
        self._posts, self._public = posts, public
        self._cookie = f"vecchess_{sha256(token.encode()).hexdigest()[:12]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse or pass on a request; every answer carries the security headers."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        asked = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        shown = bool(self._token) and _same(asked.get("token", [""])[-1], self._token)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer = MutableHeaders(scope=message)
                answer.update(HEADERS)
                answer.setdefault("cache-control", "no-store")
                if shown:
                    cookie = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
                    answer.append("set-cookie", cookie)
            await send(message)

        refusal = self._refusal(scope, headers, shown)
        await (refusal or self._app)(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope, headers: Headers, shown: bool) -> JSONResponse | None:
        if len(headers.getlist("host")) > 1:
            return _refuse(400, "a request has one Host header")
        if not scope.get("query_string", b"").isascii():
            return _refuse(400, "the address is not ASCII")
        if not self._any_host and _without_port(headers.get("host", "")) not in LOOPBACK_NAMES:
            return _refuse(403, "this port answers to localhost and 127.0.0.1 only")
        if scope["method"] not in READ and not scope["path"].startswith(self._posts):
            return _refuse(405, "this port is read-only: it takes GET and HEAD", READ)
        if scope["path"].startswith("/api/") and _is_foreign(headers):
            return _refuse(403, "requests by pages of other sites are refused")
        is_public = not self._token or scope["path"] in self._public
        if not (is_public or shown or self._known(scope)):
            return _refuse(401, "open the address that `vecchess dash` printed, with its token")
        return None

    def _known(self, scope: Scope) -> bool:
        """Whether the browser sent the cookie of this port, with the token."""
        return _same(HTTPConnection(scope).cookies.get(self._cookie, ""), self._token)


def _is_foreign(headers: Headers) -> bool:
    """Whether a page of another origin sent the request, by either header: old browsers send one.

    Another port of this machine is another page, although browsers call it the same site.
    """
    if headers.get("sec-fetch-site", OWN_SITES[0]) not in OWN_SITES:
        return True
    return any(_host_of(origin) != headers.get("host") for origin in headers.getlist("origin"))


def _host_of(origin: str) -> str | None:
    """Host and port of an Origin header; None where it names none, such as "null"."""
    try:
        return urlsplit(origin).netloc or None
    except ValueError:
        return None


def _same(one: str, other: str) -> bool:
    """Whether both are equal, compared in constant time."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name.lower() if colon and port.isdecimal() else host.lower()


def _refuse(status: int, why: str, allow: tuple[str, ...] = ()) -> JSONResponse:
    return JSONResponse({"error": why}, status, {"allow": ", ".join(allow)} if allow else None)
