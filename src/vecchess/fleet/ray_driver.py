"""Keeps a player on each node of a Ray cluster; a program of its own, beside the learner.

    python -c "from vecchess.fleet.ray_driver import main; main()" ARGUMENTS

Ray ends a process that loses its cluster, handles its signals and writes to its streams. So the
learner knows nothing of Ray: it starts this program (``ray_players``), which tells it by messages
(``json_pipe``) on stdout

    ready            the cluster answers
    refused   line   the cluster cannot be used
    line      line   something for people
    failed    line   no node can play
    lost      line   the cluster does not answer any more

and stops the players once its stdin ends. Players reach a run in a folder through an actor on the
learner's node, and a run by URL themselves. Decisions 328 to 330.
"""

import json
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from secrets import token_hex
from threading import Event, Thread
from typing import Any

from vecchess.config import ContributeConfig, build
from vecchess.errors import (
    ConfigError,
    NetworkError,
    VecchessError,
    WorkerDied,
    missing_library,
)
from vecchess.fleet.contributor import PlayerRefused, contribute, player_name
from vecchess.fleet.player_list import read_word
from vecchess.fleet.steps import Create, Delete, Get, Names, Put, Request, ask_store
from vecchess.runtime.json_pipe import encode_message
from vecchess.runtime.progress import ProgressDisplay
from vecchess.runtime.reporting import ReportLine
from vecchess.runtime.signals import StopSignals, stop_signals
from vecchess.runtime.torch_environment import prepare_environment
from vecchess.safe_parse import clip_line, is_count
from vecchess.store.remote.object_store import ObjectStore, StoreUnreachable, WaitStopped, is_url

ANSWER_S = 10.0
"""A head that does not answer for so long is not there."""
LOOK_S = 2.0
"""Between two looks at the nodes."""
PLACE_S = 60.0
"""After so long people are told that a node's resources are in use."""
FIRST_PAUSE_S, MOST_PAUSE_S = 1.0, 60.0
"""Before a dead player is replaced; doubled with each that has played no block."""
MOST_DEATHS = 5
"""So many players in a row die on a node without having played a block; then it is left."""
LEAVE_S = 30.0
"""Players that were asked to end have so long: see ``DRAIN_S`` in ``contributor``."""
ASK_S = 0.5
OVER, REFUSED, DIED = "over", "refused", "died"
"""How a player ended: the run is over; none can play on that node; another one may do better."""


class StoreGateway:
    """An actor on the learner's node, by which players reach the run's folder."""

    def __init__(self, place: str) -> None:
        """``place``: see ``ObjectStore.open``."""
        self._store = ObjectStore.open(place)

    def ask(self, request: Request) -> Any:
        """The store's answer to a request of a player."""
        return ask_store(self._store, request)


class RayStore:
    """The store of a run, as a player reaches it: by a ``StoreGateway``.

    Every method raises StoreUnreachable where the actor is gone or the store refuses, WaitStopped
    where ``give_up()`` is true before there is an answer.
    """

    def __init__(self, ray: Any, gateway: Any) -> None:
        """``ray``: the module; ``gateway``: a handle of the actor."""
        self.place = "the run of this Ray cluster"
        self.give_up: Callable[[], bool] = lambda: False
        self._ray, self._gateway = ray, gateway

    def create(self, name: str, data: bytes) -> bool:
        """Make an object unless it is there; returns whether it was made. Where the actor died
        meanwhile and was asked again, it may have been although False is returned."""
        return bool(self._answer(Create(name, data)))

    def put(self, name: str, data: bytes) -> None:
        """Make an object, or replace it."""
        self._answer(Put(name, data))

    def get(self, name: str) -> bytes | None:
        """The content of an object; None where there is none."""
        return self._content(Get(name))

    def get_range(self, name: str, start: int, length: int) -> bytes | None:
        """``length`` bytes of an object from ``start`` on; None where there is none."""
        return self._content(Get(name, start, length))

    def names(self, prefix: str) -> list[str]:
        """The names that begin with ``prefix``."""
        return list(self._answer(Names(prefix)))

    def delete(self, names: Any) -> None:
        """Remove objects; those that are not there are left out."""
        self._answer(Delete([*names]))

    def probe(self) -> None:
        """Do nothing: the driver has tried the store."""

    def _content(self, request: Get) -> bytes | None:
        content: bytes | None = self._answer(request)
        return content

    def _answer(self, request: Request) -> Any:
        answer = self._gateway.ask.remote(request)
        try:
            while not self._ray.wait([answer], timeout=ASK_S)[0]:
                if self.give_up():
                    raise WaitStopped("stopped while the learner's node did not answer")
            return self._ray.get(answer)
        except self._ray.exceptions.RayError as error:
            raise StoreUnreachable(f"the run cannot be reached: {reason_of(error)}") from None


class NodePlayer:
    """An actor that plays blocks on its node. ``stop`` and ``hello`` do not wait for ``play``."""

    def __init__(self) -> None:
        """An actor that has imported and started nothing yet."""
        self._stop = StopSignals()

    def hello(self) -> None:
        """Answer, so that the actor is known to have its place."""

    def play(self, name: str, place: str, gateway: Any, settings: dict[str, Any]) -> list[str]:
        """Play blocks as the player ``name`` until the run is over or ``stop`` is called; returns
        how it ended, and a line about it. ``gateway``: None: the node opens ``place`` itself."""
        import ray
        from rich.console import Console

        prepare_environment()
        display = ProgressDisplay(Console(stderr=True), quiet=True)  # Ray keeps it in its logs
        try:
            store = RayStore(ray, gateway) if gateway else ObjectStore.open(place)
            config = build(ContributeConfig, settings)
            contribute(store, config, self._stop, display, name=name)
        except (ConfigError, NetworkError, PlayerRefused) as error:
            return [REFUSED, clip_line(error)]
        except VecchessError as error:
            return [DIED, clip_line(error)]
        return [OVER, ""]

    def stop(self) -> None:
        """Ask ``play`` to finish the blocks in hand and end."""
        self._stop.request_stop("the learner")


@dataclass
class RayNode:
    """A node of the cluster, and its player."""

    id: str
    host: str
    cpus: float
    gpus: float
    actor: Any = None
    """None: there is no player at the moment."""
    hello: Any = None
    """The answer to ``NodePlayer.hello``; None once it is there, or people were told of a wait."""
    end: Any = None
    """The result of ``NodePlayer.play``."""
    player: str = ""
    begun_s: float = 0.0
    deaths: int = 0
    """Players in a row that died and had played no block."""
    next_s: float = 0.0
    """When the next player may be started."""
    left: str = ""
    """Why none is started any more; "over" where the run is."""

    @property
    def label(self) -> str:
        """What people call it: several nodes may have one host."""
        return f"{self.host}/{self.id[:6]}"

    @property
    def can_play(self) -> bool:
        """Whether it offers a core or a GPU."""
        return self.cpus >= 1 or self.gpus >= 1


class NodePlayers:
    """Keeps one player on each node that has CPUs or GPUs, as nodes come and go."""

    def __init__(
        self,
        ray: Any,
        place: str,
        gateway: Any,
        settings: dict[str, Any],
        report_line: ReportLine,
        has_played: Callable[[str], bool],
    ) -> None:
        """settings: of ``ContributeConfig``, for nodes of all kinds. has_played: whether the player
        of a name has played a block."""
        self._ray, self._place, self._gateway = ray, place, gateway
        self._settings, self._report_line, self._has_played = settings, report_line, has_played
        self._nodes: dict[str, RayNode] = {}

    def look(self) -> None:
        """Give a player to each node that has none, and see how the others do. Raises WorkerDied
        where no node can play."""
        living = map(_node_of, living_nodes(self._ray))
        there = {node.id: node for node in living if node.can_play}
        for gone in self._nodes.keys() - there.keys():
            node = self._nodes.pop(gone)
            self._report_line(f"node {node.label} is gone: others play its blocks")
        self._nodes = there | self._nodes
        for node in self._nodes.values():
            if node.actor is not None:
                self._look_after(node)
            if node.actor is None and not node.left and time.monotonic() >= node.next_s:
                self._start(node)
        reasons = {node.left for node in self._nodes.values()}
        if reasons and not reasons & {"", OVER}:
            raise WorkerDied(f"no node of the Ray cluster can play: {min(reasons)}")

    def stop(self) -> None:
        """Ask all players to end, and wait for those that have begun."""
        started = [node for node in self._nodes.values() if node.actor is not None]
        for node in started:
            node.actor.stop.remote()
        placed = [node.end for node in started if self._is_placed(node)]
        if placed:
            self._ray.wait(placed, num_returns=len(placed), timeout=LEAVE_S)

    def _start(self, node: RayNode) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        settings = dict(self._settings)
        if node.gpus:
            settings["gpus"] = "all"  # that Ray lets the actor see
        else:
            settings |= {"gpus": "cpu", "threads": settings["threads"] or max(1, int(node.cpus))}
        options = {
            "num_cpus": node.cpus,
            "num_gpus": node.gpus,
            "max_concurrency": 3,
            "scheduling_strategy": NodeAffinitySchedulingStrategy(node.id, soft=False),
        }
        node.player = player_name(node.host)
        node.actor = self._ray.remote(NodePlayer).options(**options).remote()
        node.hello, node.begun_s = node.actor.hello.remote(), time.monotonic()
        node.end = node.actor.play.remote(node.player, self._place, self._gateway, settings)

    def _look_after(self, node: RayNode) -> None:
        if self._ray.wait([node.end], timeout=0)[0]:
            how, line = self._how_it_ended(node)
            node.actor = node.hello = None
            if how == DIED:
                self._replace_later(node, line)
            else:
                node.left = line or OVER
                if how == REFUSED:
                    self._report_line(f"node {node.label} does not play: {line}")
        elif not self._is_placed(node) and time.monotonic() > node.begun_s + PLACE_S:
            self._report_line(f"node {node.label} does not play yet: its CPUs or GPUs are in use")
            node.begun_s = float("inf")

    def _is_placed(self, node: RayNode) -> bool:
        """Whether the node's player has its resources."""
        if node.hello is not None and self._ray.wait([node.hello], timeout=0)[0]:
            node.hello = None
        return node.hello is None

    def _how_it_ended(self, node: RayNode) -> tuple[str, str]:
        try:
            how, line = self._ray.get(node.end)
        except Exception as error:  # of Ray, or a fault of ours on the node
            with suppress(Exception):  # Ray may have lost sight of it alone
                self._ray.kill(node.actor)
            return DIED, reason_of(error)
        return how, line

    def _replace_later(self, node: RayNode, line: str) -> None:
        node.deaths = 0 if self._has_played(node.player) else node.deaths + 1
        if node.deaths < MOST_DEATHS:
            pause_s = min(FIRST_PAUSE_S * 2**node.deaths, MOST_PAUSE_S)
            node.next_s = time.monotonic() + pause_s
            if node.deaths <= 1:
                self._report_line(f"player {node.player} ended ({line}): another one begins")
            return
        node.left = line
        self._report_line(
            f"node {node.label} is left: {MOST_DEATHS} players in a row ended there without having "
            f"played a block ({line})"
        )


def require_answer(address: str) -> None:
    """Raise ConfigError where no server listens at a cluster's address, for which Ray would wait
    minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not is_count(port):  # "auto" or "local"
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), ANSWER_S).close()
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(
            f"no Ray cluster answers at {address} ({reason}): is its head started?"
        ) from None


def living_nodes(ray: Any) -> list[dict[str, Any]]:
    """The nodes that Ray does not know to be dead, as it describes them."""
    return [node for node in ray.nodes() if node["Alive"]]


def reason_of(error: Exception) -> str:
    """An error of Ray in one line; the cause, where an actor failed."""
    text = str(getattr(error, "cause", None) or error).strip()
    return clip_line(text.split("\n", 1)[0], 120) or type(error).__name__


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Connect to a cluster for a block, which gets the module ``ray``. Raises ConfigError where
    that fails. The signals that Ray handles from then on are to be handled within the block."""
    try:
        import ray
    except ImportError:
        raise missing_library("ray", "ray") from None
    require_answer(address)
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    if address == "local":
        quiet["include_dashboard"] = False
    try:
        ray.init(address, **quiet)
    except Exception as error:  # Ray raises Exception itself, too
        raise ConfigError(f"no Ray cluster at {address}: {reason_of(error)}") from None
    try:
        yield ray
    finally:
        ray.shutdown()


def gateway_to(ray: Any, place: str) -> Any:
    """An actor on this node that has the run's folder. Raises ConfigError where it does not see
    it."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    options = {"max_restarts": -1, "max_task_retries": -1, "max_concurrency": 8}
    remote = ray.remote(StoreGateway).options(num_cpus=0, scheduling_strategy=here, **options)
    gateway = remote.remote(place)
    store, name = ObjectStore.open(place), f"fleet/.ray-{token_hex(8)}"
    store.put(name, b"")
    try:
        is_seen = ray.get(gateway.ask.remote(Get(name)), timeout=PLACE_S) is not None
    except ray.exceptions.RayError as error:
        raise ConfigError(f"Ray starts no actor on this machine: {reason_of(error)}") from None
    finally:
        store.delete([name])
    if not is_seen:
        raise ConfigError(
            f"Ray's processes here do not see {place}: start the training on a node of the "
            "cluster, outside of containers that hide the folder, or give a --run-dir by URL"
        )
    return gateway


def main() -> None:
    """Keep players until stdin ends; the arguments are those of ``keep_players``, as JSON."""
    told = os.fdopen(os.dup(1), "wb", buffering=0)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # where a node dies Ray prints its log, which no option turns off
        os.dup2(nowhere, stream)

    def tell(kind: str, line: str = "") -> None:
        with suppress(OSError):  # the learner may be gone
            told.write(encode_message(kind, line=line))

    ended = Event()
    Thread(target=_wait_for_end, args=(ended,), daemon=True).start()
    try:
        keep_players(**json.loads(sys.argv[1]), tell=tell, ended=ended)
    except ConfigError as error:
        tell("refused", str(error))
    except WorkerDied as error:
        tell("failed", str(error))
    except Exception as error:
        tell("lost", reason_of(error))


def keep_players(
    address: str,
    place: str,
    settings: dict[str, Any],
    tell: Callable[[str, str], None],
    ended: Event,
) -> None:
    """Keep players for the run in ``place`` on a cluster's nodes until ``ended`` is set.

    Raises ConfigError where the cluster will not do, WorkerDied where no node of it can play, an
    error of Ray where it is lost.
    """
    _handle_signals()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # of a cluster that is started here
    with connected(address) as ray:
        _handle_signals()
        gateway = None if is_url(place) else gateway_to(ray, place)
        store = ObjectStore.open(place, patience_s=ANSWER_S)

        def has_played(player: str) -> bool:
            with suppress(VecchessError, ValueError):
                return bool(read_word(store, player).get("blocks"))
            return False

        players = NodePlayers(
            ray, place, gateway, settings, lambda line: tell("line", line), has_played
        )
        store.probe()
        tell("ready", "")
        while not ended.is_set():
            players.look()
            ended.wait(LOOK_S)
        players.stop()


def _handle_signals() -> None:
    """Do nothing at signals: the learner decides when to end. Programs that are started from here
    do not inherit that."""
    for number in stop_signals():
        signal.signal(number, lambda *_: None)


def _wait_for_end(ended: Event) -> None:
    while os.read(0, 4096):
        pass
    ended.set()


def _node_of(facts: dict[str, Any]) -> RayNode:
    cpus, gpus = (facts["Resources"].get(name, 0.0) for name in ("CPU", "GPU"))
    return RayNode(facts["NodeID"], clip_line(facts["NodeManagerHostname"]), cpus, gpus)
