"""Who gets an engine: as many as there may be, one request each at a time."""

import asyncio
from collections.abc import Callable, Coroutine

import pytest

from vecchess.dash.play.engine_pool import EnginePool
from vecchess.dash.play.helper_process import Busy, HelperFailed
from vecchess.dash.play.uci_engine import PlayEngine


class Stub:
    """An engine without a process."""

    def __init__(self) -> None:
        self.is_alive = True

    def kill(self) -> None:
        self.is_alive = False

    async def close(self) -> None:
        self.kill()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The networks that engines were started for."""
    nets: list[str] = []

    async def start(net: str) -> Stub:
        nets.append(net)
        if net == "broken":
            raise HelperFailed("broken")
        return Stub()

    monkeypatch.setattr(PlayEngine, "start", start)
    return nets


def in_loop(
    work: Callable[[EnginePool], Coroutine[None, None, None]], idle_s: float = 60.0
) -> None:
    async def run() -> None:
        await work(EnginePool(asyncio.Lock(), idle_s))

    asyncio.run(run())


async def use(engines: EnginePool, net: str) -> None:
    async with engines.lend(net) as engine:
        assert engine.is_alive


def test_an_engine_is_kept(started: list[str]) -> None:
    async def work(engines: EnginePool) -> None:
        for net in ("a", "b", "a", "b"):
            await use(engines, net)
        engines.running["a"].kill()
        assert list(engines.running) == ["b"]
        await use(engines, "a")

    in_loop(work)
    assert started == ["a", "b", "a"], "a dead one is started anew"


def test_a_third_network_takes_the_place_of_an_idle_one(started: list[str]) -> None:
    async def work(engines: EnginePool) -> None:
        await use(engines, "a")
        first = engines.running["a"]
        async with engines.lend("b"):
            await use(engines, "c")
            assert list(engines.running) == ["b", "c"]
            assert not first.is_alive
            async with engines.lend("c"):
                with pytest.raises(Busy, match="2 networks are in use"):
                    await use(engines, "a")
        await use(engines, "a")

    in_loop(work)
    assert started == ["a", "b", "c", "a"]


def test_requests_for_one_network_take_turns(started: list[str]) -> None:
    users: list[int] = []

    async def ask(engines: EnginePool) -> None:
        async with engines.lend("a"):
            users.append(1)
            assert sum(users) == 1
            await asyncio.sleep(0)
            users.append(-1)

    async def work(engines: EnginePool) -> None:
        await asyncio.gather(*(ask(engines) for _ in range(5)))

    in_loop(work)
    assert (started, len(users)) == (["a"], 10)


def test_a_failed_start_is_tried_again(started: list[str]) -> None:
    async def work(engines: EnginePool) -> None:
        for _ in range(2):
            with pytest.raises(HelperFailed):
                await use(engines, "broken")
        await use(engines, "a")
        await use(engines, "b")
        assert list(engines.running) == ["a", "b"], "it keeps no place"

    in_loop(work)
    assert started == ["broken", "broken", "a", "b"]


def test_idle_engines_end_and_so_do_all_at_the_end(started: list[str]) -> None:
    async def work(engines: EnginePool) -> None:
        async with engines.lend("a"):
            await asyncio.sleep(0.05)
            assert list(engines.running) == ["a"], "in use is not idle"
        await use(engines, "b")
        last = engines.running["b"]
        while engines.running:
            await asyncio.sleep(0.01)
        assert not last.is_alive
        await use(engines, "a")
        last = engines.running["a"]
        await engines.close()
        assert not last.is_alive

    in_loop(work, idle_s=0.01)
