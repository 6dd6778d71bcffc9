"""The TCPStore at which ranks meet: rank 0 serves it, unless torchrun's agent does."""

import os
import socket
from datetime import timedelta
from typing import TYPE_CHECKING

from vecchess.errors import ConfigError
from vecchess.safe_parse import clip_line
from vecchess.train.distributed.environment import RankInfo

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

LOOPBACK = ("127.0.0.1", "localhost", "::1")
ATTEMPT = "TORCHELASTIC_RESTART_COUNT"
"""How often torchrun has started the ranks again: keys of each attempt are kept apart."""


def open_store(info: RankInfo, start_s: float) -> "Store":
    """Connect to the store at ``info.master_addr``, as rank 0 serve it.

    Raises ConfigError with one line where the port is in use, or where nothing answers within
    ``start_s``.
    """
    from torch._C._distributed_c10d import PrefixStore, TCPStore

    is_served_by_agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    serves = info.rank == 0 and not (is_served_by_agent and info.starter == "torchrun")
    try:
        store = TCPStore(
            info.master_addr,
            info.master_port,
            is_master=serves,
            timeout=timedelta(seconds=start_s),
            wait_for_workers=False,
            master_listen_fd=_listen(info) if serves else None,
        )
    except (RuntimeError, ValueError) as error:  # DistNetworkError is a RuntimeError
        raise ConfigError(
            f"rank {info.rank}: nothing answers at {info.master_addr}:{info.master_port} within "
            f"{start_s:g} s ({first_line(error)}): is rank 0 started there, and is the port open?"
        ) from None
    attempt = os.environ.get(ATTEMPT, "0") if info.starter == "torchrun" else "0"
    return PrefixStore(f"vecchess/{attempt}", store)


def port_of(store: "Store") -> int:
    """The port that a store of this process listens on."""
    return int(store.underlying_store.port)  # type: ignore[attr-defined]


def first_line(error: Exception) -> str:
    """The first line of an error of torch, clipped."""
    return clip_line(str(error).strip().split("\n", 1)[0], 160)


def _listen(info: RankInfo) -> int:
    """A listening socket, as a file descriptor; on one machine it is not open to others."""
    is_local = info.master_addr in LOOPBACK
    is_dual = not is_local and socket.has_dualstack_ipv6()
    is_ipv6 = is_dual or info.master_addr == "::1"
    try:
        return socket.create_server(
            (info.master_addr if is_local else "", info.master_port),
            family=socket.AF_INET6 if is_ipv6 else socket.AF_INET,
            backlog=1024,
            dualstack_ipv6=is_dual,
        ).detach()
    except OSError as error:
        raise ConfigError(
            f"rank 0 on {socket.gethostname()} cannot listen on port {info.master_port}: "
            f"{error.strerror}; choose another with --master-port (MASTER_PORT)"
        ) from None
