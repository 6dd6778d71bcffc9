"""Places posts on the nodes of a Ray cluster, one each. Games and positions never pass through Ray.

Placement groups with STRICT_SPREAD give every bundle a node of its own
(https://docs.ray.io/en/latest/ray-core/scheduling/placement-group.html).
"""

import logging
import os
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, NamedTuple

from vecchess.errors import ConfigError, WorkerDied
from vecchess.ray_launcher.node_process import News, Post
from vecchess.runtime.signals import StopSignals

PLACE_S = 60.0
"""What others hold of the cluster is waited for so long."""
ANSWER_S = 10.0
WAIT_S = 1.0


class Request(NamedTuple):
    """What is wanted of the cluster."""

    nodes: int
    gpus_per_node: int
    cpus_per_node: int


class RayPost:
    """A ``Post`` on a node of the cluster. ``news`` and ``stop`` do not wait for it."""

    def __init__(self, ray: Any, actor: Any, name: str, address: str) -> None:
        """``address`` is where other nodes reach this one."""
        self.name, self.address = name, address
        self._ray, self._actor = ray, actor

    def free_port(self) -> int:
        """As ``Post.free_port``. Raises WorkerDied, as ``start``, where the node does not."""
        return int(self._result(self._actor.free_port.remote()))

    def start(self, arguments: list[str], folder: str, variables: dict[str, str]) -> None:
        """As ``Post.start``."""
        self._result(self._actor.start.remote(arguments, folder, variables))
        self._asked = self._actor.news.remote(WAIT_S)

    def news(self) -> News:
        """As ``Post.news``; a node or actor that Ray gives up is lost."""
        if not self._ray.wait([self._asked], timeout=0)[0]:
            return []
        try:
            news: News = self._ray.get(self._asked)
        except self._ray.exceptions.RayError as error:
            return [("lost", _reason(error))]
        self._asked = self._actor.news.remote(WAIT_S)
        return news

    def stop(self) -> None:
        """As ``Post.stop``."""
        self._actor.stop.remote()

    def _result(self, reference: Any) -> Any:
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            raise WorkerDied(f"cannot start on node {self.name}: {_reason(error)}") from None


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """The module ``ray``, connected, for a block; raises ConfigError where it cannot be.

    ``address`` None takes RAY_ADDRESS, or else this machine alone. Signals are to be taken over
    within the block: Ray takes SIGTERM when it connects.
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
    try:
        ray.init(address, **quiet)
    except Exception as error:  # Ray raises Exception itself, too
        raise ConfigError(f"no Ray cluster at {address}: {_reason(error)}") from None
    try:
        yield ray
    finally:
        ray.shutdown()


@contextmanager
def posted(ray: Any, request: Request, stop: StopSignals) -> Iterator[list[RayPost]]:
    """Posts on nodes of their own, for a block; none where ``stop`` came before they were placed.

    Raises ConfigError where the cluster of ``connected`` has not enough for them.
    """
    nodes = {node["NodeID"]: node for node in ray.nodes() if node["Alive"]}
    _require_room(request, list(nodes.values()))
    with _group(request, stop) as group:
        yield [] if stop.reason else _posts(ray, request, group, nodes)


def _require_answer(address: str) -> None:
    """Raise ConfigError where nobody listens, for which Ray would wait minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdecimal():  # "auto" or "local"
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), ANSWER_S).close()
    except OSError as error:
        raise ConfigError(
            f"no Ray cluster answers at {address} ({error.strerror or error}): is its head started?"
        ) from None


def _require_room(request: Request, nodes: list[dict[str, Any]]) -> None:
    """Raise ConfigError for what the cluster does not have, however long one waits."""
    had = [tuple(node["Resources"].get(name, 0.0) for name in ("CPU", "GPU")) for node in nodes]
    wanted = request.cpus_per_node, request.gpus_per_node
    if sum(cpus >= wanted[0] and gpus >= wanted[1] for cpus, gpus in had) < request.nodes:
        sizes = sorted(Counter(had).items(), reverse=True)
        there = ", ".join(f"{n} with {cpus:g} and {gpus:g}" for (cpus, gpus), n in sizes)
        raise ConfigError(
            f"--nodes {request.nodes} with {wanted[0]} CPUs and {wanted[1]} GPUs each: "
            f"the cluster has not as many ({there})"
        )


@contextmanager
def _group(request: Request, stop: StopSignals) -> Iterator[Any]:
    """A placement group that is there, unless ``stop`` came."""
    from ray.util.placement_group import placement_group, remove_placement_group

    bundle = {"CPU": request.cpus_per_node, "GPU": request.gpus_per_node}
    wanted = {name: count for name, count in bundle.items() if count}
    group = placement_group([wanted] * request.nodes, strategy="STRICT_SPREAD")
    deadline = monotonic() + PLACE_S
    try:
        while not group.wait(WAIT_S) and not stop.reason:
            if monotonic() > deadline:
                raise ConfigError(
                    f"no room for --nodes {request.nodes} within {PLACE_S:g} s: others hold CPUs "
                    "or GPUs of the cluster; see `ray status`"
                )
        yield group
    finally:
        remove_placement_group(group)


def _posts(
    ray: Any, request: Request, group: Any, nodes: dict[str, dict[str, Any]]
) -> list[RayPost]:
    from ray.util.placement_group import placement_group_table
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    amounts = {"num_cpus": request.cpus_per_node, "num_gpus": request.gpus_per_node}
    posts = []
    for index, node_id in sorted(placement_group_table(group)["bundles_to_node_id"].items()):
        place = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=index)
        host, address = (nodes[node_id][f"NodeManager{key}"] for key in ("Hostname", "Address"))
        name = f"{host}/{index}"
        actor = ray.remote(Post).options(**amounts, scheduling_strategy=place).remote(name)
        posts.append(RayPost(ray, actor, name, address))
    return posts


def _reason(error: Exception) -> str:
    """What Ray says in one line: of an error in an actor, the error."""
    text = str(getattr(error, "cause", None) or error).strip()
    return text.split("\n", 1)[0][:200] or type(error).__name__
