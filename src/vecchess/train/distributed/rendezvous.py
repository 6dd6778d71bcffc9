"""How ranks find each other: torch's key-value store at the master's port, then a wire to rank 0.

Rank 0 writes the port of its hub, and a word that a rank has to know, into the store. The others
read both, connect, and say who they are. Only when all are there, and fit together, does anybody
go on.
"""

import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, NoReturn

from vecchess import __version__
from vecchess.errors import ConfigError, RankLost
from vecchess.train.distributed.connection import Message, Wire, readable
from vecchess.train.distributed.control import Hub, SharedError, Spoke
from vecchess.train.distributed.environment import RankInfo
from vecchess.train.distributed.messages import HELLO, WELCOME, has_all, understood

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

LOOPBACK = ("127.0.0.1", "localhost", "::1")
HUB_KEY = "vecchess/hub"
WATCH_INTERVAL_S = 0.2
POLL_S = 0.05
MUST_AGREE = {
    "version": "version of vecchess",
    "world_size": "number of ranks",
    "local_world_size": "number of ranks of a machine",
    "kind": "kind of device",
}
"""What every rank says of itself, and must say like rank 0."""


def nothing() -> None:
    """Nobody watches."""


def open_store(place: RankInfo, agent_serves: bool, attempt: str, start_s: float) -> "Store":
    """The store at ``place.master_addr``; rank 0 serves it, unless torchrun's agent does.

    That is ``agent_serves``. ``attempt`` keeps apart what torchrun starts again. Raises
    ConfigError with one line where the port is taken, or where nobody answers within ``start_s``.
    """
    from torch._C._distributed_c10d import PrefixStore, TCPStore

    serves = place.rank == 0 and not agent_serves
    where = f"{place.master_addr}:{place.master_port}"
    try:
        store = TCPStore(
            place.master_addr,
            place.master_port,
            is_master=serves,
            timeout=timedelta(seconds=start_s),
            wait_for_workers=False,
            master_listen_fd=_listening(place) if serves else None,
        )
    except (RuntimeError, ValueError) as error:  # DistNetworkError is a RuntimeError
        raise ConfigError(
            f"rank {place.rank}: nobody answers at {where} within {start_s:g} s "
            f"({_first_line(error)}): is rank 0 started there, and is the port open?"
        ) from None
    return PrefixStore(f"vecchess/{attempt}", store)


def port_of(store: "Store") -> int:
    """The port that a store which this process serves listens on."""
    return int(store.underlying_store.port)  # type: ignore[attr-defined]


def meet(
    place: RankInfo, kind: str, store: "Store", start_s: float, watch: Callable[[], None] = nothing
) -> tuple[Hub | Spoke, list[str]]:
    """The wires of this rank, and the hosts of all ranks, once all are there.

    ``kind`` of device: "cpu" or "cuda". ``watch`` is called again and again meanwhile, and raises
    where waiting has become vain. Raises ConfigError where ranks are missing after
    ``start_s``, or do not fit together.
    """
    facts = {
        "rank": place.rank,
        "host": socket.gethostname(),
        "version": __version__,
        "world_size": place.world_size,
        "local_world_size": place.local_world_size,
        "kind": kind,
    }
    if place.rank == 0:
        return _gather(place, facts, store, start_s, watch)
    return _report(place, facts, store, start_s, watch)


def _listening(place: RankInfo) -> int:
    """A listening socket of the store. A run of one machine is not open to others."""
    host = place.master_addr if place.master_addr in LOOPBACK else ""
    try:
        return _server(host, place.master_port).detach()
    except OSError as error:
        raise ConfigError(
            f"rank 0 on {socket.gethostname()} cannot listen on port {place.master_port}: "
            f"{error.strerror}; choose another with --master-port (MASTER_PORT)"
        ) from None


def _server(host: str, port: int) -> socket.socket:
    if host or not socket.has_dualstack_ipv6():
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=1024)
    return socket.create_server(
        ("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=1024
    )


def _gather(
    place: RankInfo, facts: Message, store: "Store", start_s: float, watch: Callable[[], None]
) -> tuple[Hub, list[str]]:
    word = secrets.token_hex(16)
    host = place.master_addr if place.master_addr in LOOPBACK else ""
    wires: dict[int, Wire] = {}
    hosts = {0: facts["host"]}
    with _server(host, 0) as server:
        store.set(HUB_KEY, f"{server.getsockname()[1]} {word}")
        deadline = monotonic() + start_s
        while len(hosts) < place.world_size:
            wire, theirs = _hear(server, word, deadline, watch)
            if wire is None:
                _give_up(list(wires.values()), _missing_line(place, hosts, start_s))
            if reason := _misfit(facts, theirs, hosts):
                _give_up([*wires.values(), wire], reason)
            wires[theirs["rank"]], hosts[theirs["rank"]] = wire, theirs["host"]
    names = [hosts[rank] for rank in range(place.world_size)]
    for wire in wires.values():
        with suppress(ConnectionError):  # whoever is gone again is missed at the next exchange
            wire.send({"kind": "welcome", "hosts": names})
    return Hub(wires, names), names


def _hear(
    server: socket.socket, word: str, deadline: float, watch: Callable[[], None]
) -> tuple[Wire | None, Message]:
    """The next rank that turns up, and what it says of itself; None at ``deadline``."""
    while (left := deadline - monotonic()) > 0:
        server.settimeout(min(left, WATCH_INTERVAL_S))
        try:
            wire = Wire(server.accept()[0])
        except TimeoutError:
            watch()
            continue
        message = _first_message(wire, min(deadline, monotonic() + 5.0), watch)
        if message is not None and has_all(message, HELLO) and _is_same(message["word"], word):
            return wire, message
        wire.close()  # somebody else who tries ports
    return None, {}


def _is_same(one: str, other: str) -> bool:
    """Compared in a time that tells nothing."""
    return secrets.compare_digest(one.encode("utf-8", "replace"), other.encode())


def _first_message(wire: Wire, deadline: float, watch: Callable[[], None]) -> Message | None:
    try:
        while (left := deadline - monotonic()) > 0:
            watch()
            wait_s = min(left, WATCH_INTERVAL_S)
            if readable([wire], wait_s) and (messages := wire.receive()):
                return messages[0]
    except (ConnectionError, ValueError):
        return None
    return None


def _misfit(facts: Message, theirs: Message, hosts: dict[int, str]) -> str:
    """One line where a rank does not belong to this run; "" where it does."""
    who = f"rank {theirs['rank']} on {theirs['host']}"
    for key, words in MUST_AGREE.items():
        if theirs[key] != facts[key]:
            return (
                f"{who} was started with another {words} than rank 0: {theirs[key]}, not "
                f"{facts[key]}; start every machine with the same settings"
            )
    if not 0 < theirs["rank"] < facts["world_size"]:
        return f"{who} is none of {facts['world_size']} ranks: check --node-rank and --nnodes"
    if theirs["rank"] in hosts:
        return (
            f"{who} turned up although {hosts[theirs['rank']]} has rank {theirs['rank']} already: "
            "give every machine its own --node-rank"
        )
    return ""


def _missing_line(place: RankInfo, hosts: dict[int, str], start_s: float) -> str:
    missing = [str(rank) for rank in range(place.world_size) if rank not in hosts]
    return (
        f"of {place.world_size} ranks, rank {', '.join(missing)} did not turn up within "
        f"{start_s:g} s: is every machine started, with the same --nnodes and --master-addr?"
    )


def _give_up(wires: list[Wire], line: str) -> NoReturn:
    for wire in wires:
        with suppress(ConnectionError):
            wire.send({"kind": "over", "line": line, "exit_code": ConfigError.exit_code})
    raise ConfigError(line)


def _report(
    place: RankInfo, facts: Message, store: "Store", start_s: float, watch: Callable[[], None]
) -> tuple[Spoke, list[str]]:
    where = f"rank 0 at {place.master_addr}"
    deadline = monotonic() + start_s
    try:
        while not store.check([HUB_KEY]) and monotonic() < deadline:
            watch()
            sleep(POLL_S)
        port, word = store.get(HUB_KEY).decode().split()
        connected = socket.create_connection((place.master_addr, int(port)), start_s)
    except (RuntimeError, OSError) as error:
        raise ConfigError(
            f"rank {place.rank}: {where} did not open its port for ranks within {start_s:g} s "
            f"({_first_line(error)}): has it failed, or is there a firewall?"
        ) from None
    wire = Wire(connected)
    answer = _welcome(wire, facts | {"word": word}, start_s, watch)
    if answer is None:
        raise RankLost(f"rank {place.rank}: {where} ended before all ranks were there")
    if answer["kind"] == "over":
        raise SharedError("", answer["exit_code"])
    return Spoke(wire, answer["hosts"]), answer["hosts"]


def _welcome(
    wire: Wire, hello: Message, start_s: float, watch: Callable[[], None]
) -> Message | None:
    try:
        wire.trust()
        wire.send(hello)
        answer = _first_message(wire, monotonic() + start_s + 5.0, watch)
        return None if answer is None else understood([answer], WELCOME)[0]
    except ConnectionError:
        return None


def _first_line(error: Any) -> str:
    return str(error).strip().split("\n", 1)[0][:160]
