"""Starts a process on each of several nodes of a Ray cluster. Games never pass through Ray.

Placement groups with STRICT_SPREAD give every bundle a node of its own
(https://docs.ray.io/en/latest/ray-core/scheduling/placement-group.html).

Decisions 110, 112 and 113.
"""

import logging
import os
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from time import monotonic
from typing import Any, NamedTuple

from vecchess.errors import ConfigError, WorkerDied
from vecchess.ray_launcher.node_process import NodeProcess
from vecchess.runtime.json_pipe import Message
from vecchess.runtime.reporting import ReportLine
from vecchess.runtime.signals import StopSignals
from vecchess.safe_parse import is_count

PLACE_S = 60.0
"""Wait for resources of the cluster that are in use."""
ANSWER_S = 10.0
WAIT_S = 1.0


class NodeRequest(NamedTuple):
    """Nodes to book, and what of each."""

    nodes: int
    gpus_per_node: int
    cpus_per_node: int


class RemoteProcess:
    """A ``NodeProcess`` on a node of the cluster. ``messages`` and ``stop`` do not wait for it."""

    def __init__(self, ray: Any, actor: Any, name: str, address: str) -> None:
        """``address`` is the node's, for other nodes."""
        self.name, self.address = name, address
        self._ray, self._actor = ray, actor

    def free_port(self) -> int:
        """A free port of the node. Raises WorkerDied where the node fails, as ``start``."""
        return int(self._result(self._actor.free_port.remote()))

    def start(self, arguments: list[str], folder: str, variables: dict[str, str]) -> None:
        """Start the command on the node, as ``NodeProcess`` does."""
        self._result(self._actor.start.remote(arguments, folder, variables))
        self._answer = self._actor.messages.remote(WAIT_S)

    def messages(self) -> list[Message]:
        """Messages of ``NodeProcess``; "lost" where Ray gives up the node or the actor."""
        if not self._ray.wait([self._answer], timeout=0)[0]:
            return []
        try:
            messages: list[Message] = self._ray.get(self._answer)
        except self._ray.exceptions.RayError as error:
            return [{"kind": "lost", "reason": _reason(error)}]
        self._answer = self._actor.messages.remote(WAIT_S)
        return messages

    def stop(self) -> None:
        """Ask the command to save and end."""
        self._actor.stop.remote()

    def _result(self, reference: Any) -> Any:
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            raise WorkerDied(f"cannot start on node {self.name}: {_reason(error)}") from None


@contextmanager
def connect_ray(address: str | None) -> Iterator[Any]:
    """Connect to a cluster for a block, which gets the module ``ray``; its stdout is discarded.

    ``address`` None takes RAY_ADDRESS, or else this machine alone. Raises ConfigError where that
    fails. Handlers of signals are to be installed within the block: Ray installs one for SIGTERM.
    """
    try:
        import ray
    except ImportError:
        raise ConfigError('vecchess ray needs Ray: pip install "vecchess[ray]"') from None
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    _require_answer(address)
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    if address == "local":
        quiet["include_dashboard"] = False
    # where a node dies Ray prints the last 20 lines of its log to stdout, which no option turns off
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        try:
            ray.init(address, **quiet)
        except Exception as error:  # Ray raises Exception itself, too
            raise ConfigError(f"no Ray cluster at {address}: {_reason(error)}") from None
        try:
            yield ray
        finally:
            ray.shutdown()


@contextmanager
def processes_on_nodes(
    ray: Any, request: NodeRequest, stop: StopSignals, report_line: ReportLine
) -> Iterator[list[RemoteProcess]]:
    """Processes on nodes of their own, for a block; none where ``stop`` came before nodes were
    booked. ``report_line`` is told of a wait. Raises ConfigError where the cluster is too small.
    """
    with _group(ray, request, stop, report_line) as group:
        yield [] if stop.reason else _processes(ray, request, group)


def _require_answer(address: str) -> None:
    """Raise ConfigError where no server listens, for which Ray would wait minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not is_count(port):  # "auto" or "local"
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), ANSWER_S).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(
            f"no Ray cluster answers at {address} ({reason}): is its head started?"
        ) from None


def _living_nodes(ray: Any) -> dict[str, dict[str, Any]]:
    """By its id, each node that Ray does not know to be dead."""
    return {node["NodeID"]: node for node in ray.nodes() if node["Alive"]}


def _require_room(request: NodeRequest, ray: Any) -> None:
    """Raise ConfigError where the cluster has too few nodes of this size, free or in use."""
    nodes = _living_nodes(ray).values()
    had = [tuple(node["Resources"].get(name, 0.0) for name in ("CPU", "GPU")) for node in nodes]
    wanted = request.cpus_per_node, request.gpus_per_node
    if sum(cpus >= wanted[0] and gpus >= wanted[1] for cpus, gpus in had) < request.nodes:
        sizes = sorted(Counter(had).items(), reverse=True)
        there = ", ".join(f"{n} with {cpus:g} and {gpus:g}" for (cpus, gpus), n in sizes)
        raise ConfigError(
            f"--nodes {request.nodes} with {wanted[0]} CPUs and {wanted[1]} GPUs each: "
            f"the cluster has too few such nodes ({there})"
        )


@contextmanager
def _group(
    ray: Any, request: NodeRequest, stop: StopSignals, report_line: ReportLine
) -> Iterator[Any]:
    """Book a placement group for a block; not waited for once ``stop`` came.

    While it waits, each look at the cluster may find that a node is dead, which Ray notices late.
    """
    from ray.util.placement_group import placement_group, remove_placement_group

    _require_room(request, ray)
    bundle = {"CPU": request.cpus_per_node, "GPU": request.gpus_per_node}
    wanted = {name: count for name, count in bundle.items() if count}
    group = placement_group([wanted] * request.nodes, strategy="STRICT_SPREAD")
    deadline, is_told = monotonic() + PLACE_S, False
    try:
        while not group.wait(WAIT_S) and not stop.reason:
            _require_room(request, ray)
            if monotonic() > deadline:
                raise ConfigError(
                    f"no room for --nodes {request.nodes} within {PLACE_S:g} s: CPUs or GPUs of "
                    "the cluster are in use; see `ray status`"
                )
            if not is_told:
                report_line(
                    f"waiting up to {PLACE_S:g} s for --nodes {request.nodes}: CPUs or GPUs of "
                    "the cluster are in use, or a node has died"
                )
                is_told = True
        yield group
    finally:
        remove_placement_group(group)


def _processes(ray: Any, request: NodeRequest, group: Any) -> list[RemoteProcess]:
    from ray.util.placement_group import placement_group_table
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    nodes = _living_nodes(ray)
    amounts = {"num_cpus": request.cpus_per_node, "num_gpus": request.gpus_per_node}
    processes = []
    for index, node_id in sorted(placement_group_table(group)["bundles_to_node_id"].items()):
        place = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=index)
        host, address = (nodes[node_id][f"NodeManager{key}"] for key in ("Hostname", "Address"))
        name = f"{host}/{index}"
        actor = ray.remote(NodeProcess).options(**amounts, scheduling_strategy=place).remote(name)
        processes.append(RemoteProcess(ray, actor, name, address))
    return processes


def _reason(error: Exception) -> str:
    """An error of Ray in one line; the cause, where an actor failed."""
    text = str(getattr(error, "cause", None) or error).strip()
    return text.split("\n", 1)[0][:200] or type(error).__name__
