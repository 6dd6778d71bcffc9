"""The TCPStore at which ranks meet: rank 0 serves it, unless torchrun's agent does.

    asked         how many processes have asked for a start, over all starts in this store
    start/N       the start that process N belongs to
    S/has/R       rank R knows that it belongs to start S
    S/...         keys of the ranks of start S (``control``)

An agent's store outlives the ranks: torchrun starts them again after a failure and after each
change of the machines, and agents count restarts each by itself. So rank 0 names the start after
its own number, and tells it to all who have asked, until all ranks of its start know (decision
314).
"""

import os
import socket
from datetime import timedelta
from time import monotonic, sleep
from typing import TYPE_CHECKING

from vecchess.errors import ConfigError
from vecchess.safe_parse import clip_line
from vecchess.train.distributed.environment import RankInfo

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

LOOPBACK = ("127.0.0.1", "localhost", "::1")
AGENT_STORE = "TORCHELASTIC_USE_AGENT_STORE"
SEPARATE = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"
"""Has torchrun let rank 0 serve the store, a new one at each start."""
POLL_S = 0.02


def open_store(info: RankInfo, start_s: float) -> "Store":
    """Connect to the store at ``info.master_addr``, as rank 0 serve it.

    Its keys are those of this start alone. Raises ConfigError with one line where the port is in
    use, or where nothing answers, or some rank does not come to an agent's store, within
    ``start_s``.
    """
    from torch._C._distributed_c10d import PrefixStore, TCPStore

    has_agent = info.starter == "torchrun" and os.environ.get(AGENT_STORE) == "True"
    serves = info.rank == 0 and not has_agent
    if not serves:
        _wait_for_answer(info, start_s)
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
        raise _no_answer(info, start_s, first_line(error)) from None
    keys = PrefixStore("vecchess", store)
    return keys_of_start(keys, info, start_s) if has_agent else keys


def keys_of_start(store: "Store", info: RankInfo, start_s: float) -> "Store":
    """The part of a store with keys of earlier ranks that only the ranks of this start use.

    Returns once this rank knows the start, rank 0 once all do. Raises ConfigError that names who
    has not come within ``start_s``.
    """
    from torch._C._distributed_c10d import PrefixStore

    number = store.add("asked", 1)
    deadline = monotonic() + start_s
    answered = 0

    def missing() -> list[int]:
        """The ranks that this one waits for: for rank 0's answer, or until all know rank 0's."""
        nonlocal answered
        if info.rank:
            return [] if store.check([f"start/{number}"]) else [0]
        asked = store.add("asked", 0)
        for other in range(answered + 1, asked + 1):
            store.set(f"start/{other}", str(number))
        answered = asked
        others = range(1, info.world_size)
        return [rank for rank in others if not store.check([f"{number}/has/{rank}"])]

    while late := missing():
        if monotonic() > deadline:
            raise ConfigError(
                f"of {info.world_size} ranks, rank {', '.join(map(str, late))} did not turn up at "
                f"torchrun's store within {start_s:g} s: is every machine started, and is "
                f"{SEPARATE}=1 set for every torchrun?"
            )
        sleep(POLL_S)
    start = store.get(f"start/{number}").decode()
    store.set(f"{start}/has/{info.rank}", "")
    return PrefixStore(start, store)


def port_of(store: "Store") -> int:
    """The port that a store of this process listens on."""
    return int(store.underlying_store.port)  # type: ignore[attr-defined]


def first_line(error: Exception) -> str:
    """The first line of an error of torch, clipped."""
    return clip_line(str(error).strip().split("\n", 1)[0], 160)


def _wait_for_answer(info: RankInfo, start_s: float) -> None:
    """Return once the store's port takes a connection: torch writes a page where none does."""
    deadline = monotonic() + start_s
    while True:
        try:
            socket.create_connection((info.master_addr, info.master_port), start_s).close()
            return
        except OSError as error:
            if monotonic() > deadline:
                raise _no_answer(info, start_s, str(error.strerror or error)) from None
        sleep(POLL_S)


def _no_answer(info: RankInfo, start_s: float, why: str) -> ConfigError:
    return ConfigError(
        f"rank {info.rank}: nothing answers at {info.master_addr}:{info.master_port} within "
        f"{start_s:g} s ({why}): is rank 0 started there, and is the port open?"
    )


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
