"""Players on the nodes of a cluster, with a Ray that is made up: who gets one, and what then."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from vecchess.errors import ConfigError, WorkerDied
from vecchess.fleet import ray_driver
from vecchess.fleet.ray_driver import (
    DIED,
    MOST_DEATHS,
    OVER,
    PLACE_S,
    REFUSED,
    NodePlayer,
    NodePlayers,
    RayStore,
    StoreGateway,
    require_answer,
)
from vecchess.store.remote.block_file import PLAYER_NAME
from vecchess.store.remote.object_store import StoreUnreachable, WaitStopped


class RayError(Exception):
    """What Ray's errors derive from."""


class Actor:
    """A player that is asked for; its methods answer with references."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.is_asked_to_stop = False
        self.hello, self.stop = self._method(self._hello), self._method(self._stop)
        self.play = self._method(self._play)
        self.greeting: list[Any] = []
        self.end: list[Any] = []
        """The result of ``play``, once there is one."""

    @staticmethod
    def _method(function: Any) -> Any:
        return SimpleNamespace(remote=function)

    def _hello(self) -> list[Any]:
        return self.greeting

    def _stop(self) -> None:
        self.is_asked_to_stop = True

    def _play(self, name: str, place: str, gateway: Any, settings: dict[str, Any]) -> list[Any]:
        self.name, self.settings = name, settings
        return self.end


class Ray:
    """As much of the module as is used; a reference is a list with the result, empty before."""

    exceptions = SimpleNamespace(RayError=RayError)

    def __init__(self) -> None:
        self.there: dict[str, dict[str, float]] = {}
        """Node -> its resources."""
        self.actors: list[Actor] = []
        self.waited: list[Any] = []
        self.killed: list[str] = []

    def nodes(self) -> list[dict[str, Any]]:
        return [
            {"NodeID": name, "NodeManagerHostname": "Höst.A", "Alive": True, "Resources": had}
            for name, had in self.there.items()
        ] + [{"NodeID": "dead", "NodeManagerHostname": "b", "Alive": False, "Resources": {}}]

    def remote(self, kind: type) -> Any:
        assert kind is NodePlayer

        def made(**options: Any) -> Any:
            self.actors.append(Actor(options))
            return SimpleNamespace(remote=lambda actor=self.actors[-1]: actor)

        return SimpleNamespace(options=made)

    def wait(
        self, references: list[Any], num_returns: int = 1, timeout: float = 0
    ) -> tuple[list[Any], list[Any]]:
        if timeout > 1:
            self.waited += references
        done = [each for each in references if each]
        return done, [each for each in references if not each]

    def kill(self, actor: Actor) -> None:
        self.killed.append(actor.name)

    def get(self, reference: list[Any]) -> Any:
        if isinstance(reference[0], Exception):
            raise reference[0]
        return reference[0]


class World:
    """A cluster, its players, and a clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ray, self.lines, self.now = Ray(), list[str](), 0.0
        self.fruitful: set[str] = set()
        strategies = ModuleType("ray.util.scheduling_strategies")
        strategies.NodeAffinitySchedulingStrategy = (  # type: ignore[attr-defined]
            lambda node, soft: (node, soft)
        )
        for name in ("ray", "ray.util"):
            monkeypatch.setitem(sys.modules, name, ModuleType(name))
        monkeypatch.setitem(sys.modules, strategies.__name__, strategies)
        monkeypatch.setattr(ray_driver.time, "monotonic", lambda: self.now)
        settings = {"gpus": "0-3", "threads": 0, "backend": "auto"}
        self.players = NodePlayers(
            self.ray, "/run", None, settings, self.lines.append, self.fruitful.__contains__
        )

    def look(self) -> list[Actor]:
        """Look once; returns the players that were started."""
        before = len(self.ray.actors)
        self.players.look()
        return self.ray.actors[before:]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


def test_each_node_with_cores_or_gpus_has_a_player(world: World) -> None:
    world.ray.there = {"a1": {"CPU": 3.0}, "b2": {"CPU": 8.0, "GPU": 2.0}, "c3": {"memory": 1e9}}
    cpu, gpu = world.look()
    assert cpu.options["scheduling_strategy"] == ("a1", False)
    assert (cpu.options["num_cpus"], cpu.options["num_gpus"]) == (3.0, 0.0)
    assert (cpu.settings["gpus"], cpu.settings["threads"]) == ("cpu", 3)
    assert (gpu.options["num_cpus"], gpu.options["num_gpus"]) == (8.0, 2.0)
    assert (gpu.settings["gpus"], gpu.settings["threads"]) == ("all", 0)
    assert all(PLAYER_NAME.fullmatch(actor.name) for actor in (cpu, gpu))
    assert cpu.name != gpu.name
    assert world.look() == world.lines == []


def test_nodes_come_and_go(world: World) -> None:
    world.ray.there = {"a1": {"CPU": 1.0}}
    world.look()
    world.ray.there = {"b2": {"CPU": 1.0}}
    (added,) = world.look()
    assert added.options["scheduling_strategy"][0] == "b2"
    assert world.lines == ["node Höst.A/a1 is gone: others play its blocks"]


def test_dead_players_are_replaced_ever_later_until_the_node_is_left(world: World) -> None:
    world.ray.there = {"a1": {"CPU": 1.0}, "b2": {"CPU": 1.0}}
    actor, healthy = world.look()
    healthy.greeting.append(None)
    pauses = []
    for _ in range(MOST_DEATHS):
        actor.end.append(RayError("The actor died.\nits whole log"))
        began, started = world.now, world.look()
        while not started and world.now < began + 1000:
            world.now += 1
            started = world.look()
        if started:
            pauses.append(world.now - began)
            (actor,) = started
    assert len(pauses) == MOST_DEATHS - 1
    assert pauses == sorted(set(pauses))
    assert len(set(world.ray.killed)) == MOST_DEATHS, "one that Ray has lost sight of may go on"
    assert [line.partition(" (")[0] for line in world.lines[:1]] == [
        f"player {world.ray.actors[0].name} ended"
    ]
    assert world.lines[-1] == (
        f"node Höst.A/a1 is left: {MOST_DEATHS} players in a row ended there without having "
        "played a block (The actor died.)"
    )


def test_a_player_that_has_played_is_replaced_as_often_as_needed(world: World) -> None:
    world.ray.there = {"a1": {"CPU": 1.0}}
    (actor,) = world.look()
    for _ in range(3 * MOST_DEATHS):
        world.fruitful.add(actor.name)
        actor.end.append([DIED, "a worker died"])
        assert world.look() == []
        world.now += ray_driver.FIRST_PAUSE_S
        (actor,) = world.look()


def test_a_node_that_cannot_play_is_left_and_the_last_one_ends_all(world: World) -> None:
    world.ray.there = {"a1": {"CPU": 1.0}, "b2": {"CPU": 1.0}}
    first, second = world.look()
    first.end.append([REFUSED, "no tablebases"])
    assert world.look() == []
    assert world.lines == ["node Höst.A/a1 does not play: no tablebases"]
    second.end.append([REFUSED, "no tablebases"])
    with pytest.raises(WorkerDied, match="no node of the Ray cluster can play: no tablebases"):
        world.look()


def test_players_that_end_with_the_run_are_no_failure(world: World) -> None:
    world.ray.there = {"a1": {"CPU": 1.0}}
    (actor,) = world.look()
    actor.end.append([OVER, ""])
    world.now += 1000
    assert world.look() == world.lines == []


def test_a_wait_for_resources_is_told_once(world: World) -> None:
    world.ray.there = {"a1": {"CPU": 1.0}, "b2": {"CPU": 1.0}}
    _, placed = world.look()
    placed.greeting.append(None)
    for _ in range(3):
        world.now += PLACE_S
        assert world.look() == []
    line = "node Höst.A/a1 does not play yet: its CPUs or GPUs are in use"
    assert world.lines == [line]


def test_only_players_that_have_begun_are_waited_for_at_the_end(world: World) -> None:
    world.ray.there = {"a1": {"CPU": 1.0}, "b2": {"CPU": 1.0}}
    begun, waiting = world.look()
    begun.greeting.append(None)
    world.players.stop()
    assert begun.is_asked_to_stop
    assert waiting.is_asked_to_stop
    assert len(world.ray.waited) == 1
    assert world.ray.waited[0] is begun.end


@pytest.mark.parametrize(
    "address", ["127.0.0.1:1", "ray://127.0.0.1:1", "[::1]:1", "127.0.0.1:99999", "no host:6379"]
)
def test_an_address_without_a_cluster_is_one_line(address: str) -> None:
    with pytest.raises(ConfigError, match="no Ray cluster answers at ") as error:
        require_answer(address)
    assert address in str(error.value)
    assert "\n" not in str(error.value)


class Gateway:
    """A gateway whose requests are answered at once, or fail as Ray's do."""

    def __init__(self, folder: Path) -> None:
        self._gateway = StoreGateway(str(folder))
        self.is_dead = self.is_slow = False
        self.ask = SimpleNamespace(remote=self._ask)

    def _ask(self, request: Any) -> list[Any]:
        if self.is_slow:
            return []
        return [RayError("gone\nand its log") if self.is_dead else self._gateway.ask(request)]


def test_a_store_behind_a_gateway(tmp_path: Path) -> None:
    gateway = Gateway(tmp_path)
    store = RayStore(Ray(), gateway)
    assert store.create("fleet/a", b"first")
    assert not store.create("fleet/a", b"second")
    store.put("fleet/b", b"0123456789")
    assert (tmp_path / "fleet/b").read_bytes() == b"0123456789"
    assert (store.get("fleet/a"), store.get("fleet/c")) == (b"first", None)
    assert store.get_range("fleet/b", 2, 3) == b"234"
    assert store.names("fleet/") == ["fleet/a", "fleet/b"]
    store.delete(["fleet/a", "fleet/c"])
    assert store.names("fleet/") == ["fleet/b"]


def test_a_gateway_that_does_not_answer(tmp_path: Path) -> None:
    gateway = Gateway(tmp_path)
    store = RayStore(Ray(), gateway)
    gateway.is_dead = True
    with pytest.raises(StoreUnreachable, match=r"^the run cannot be reached: gone$"):
        store.get("fleet/a")
    gateway.is_slow, store.give_up = True, lambda: True
    with pytest.raises(WaitStopped):
        store.get("fleet/a")
