"""Listening sockets, and the address of the dashboard: host, port and token."""

import ipaddress
import re
import secrets
import socket
from dataclasses import dataclass

from vecchess.errors import ConfigError

TOKEN_BYTES = 18


@dataclass(frozen=True)
class Address:
    """A listening socket, and the URL that reaches it."""

    socket: socket.socket
    host: str
    port: int
    token: str
    """The token that a browser has to show; "" for none."""
    is_loopback: bool
    """Whether only this machine reaches it."""
    page: str = ""
    """The page to open; "" for that of all runs."""

    @property
    def url(self) -> str:
        """The address to open in a browser."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        if self.host in ("0.0.0.0", "::"):
            host = socket.gethostname()
        token = f"?token={self.token}" if self.token else ""
        return f"http://{host}:{self.port}/{token}" + (f"#{self.page}" if self.page else "")


def listen(host: str, port: int, token: str = "") -> Address:
    """Listen at ``host`` and ``port``, 0 takes any that is free.

    Other machines need a token: a random one is made where none is given. Raises ConfigError where
    the host is not one of this machine's, the port is taken, or the token has other characters
    than letters, digits, dots, dashes, underscores and tildes.
    """
    if not re.fullmatch("[A-Za-z0-9._~-]*", token):
        raise ConfigError("--token takes letters, digits and -._~ only")
    taken, is_loopback = open_port(host, port, "", "; --port 0 takes any that is free")
    if not is_loopback:
        token = token or secrets.token_urlsafe(TOKEN_BYTES)
    return Address(taken, host, taken.getsockname()[1], token, is_loopback)


def open_port(host: str, port: int, flags: str, advice: str = "") -> tuple[socket.socket, bool]:
    """A listening socket, and whether this machine alone reaches it.

    flags: what the names of the flags for host and port begin with, for errors; advice: what to do
    where the port is taken. Raises ConfigError as ``listen``.
    """
    try:
        family, *_, where = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError):
        raise ConfigError(
            f"--{flags}host {host!r} is no address; try --{flags}host 127.0.0.1"
        ) from None
    is_loopback = ipaddress.ip_address(str(where[0]).partition("%")[0]).is_loopback
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(where)
        listening.listen()
    except OSError as error:
        listening.close()
        raise ConfigError(
            f"--{flags}port {port}: cannot listen on {host}: {error.strerror or error}{advice}"
        ) from None
    return listening, is_loopback
