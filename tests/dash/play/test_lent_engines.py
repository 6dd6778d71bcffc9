"""Who gets an engine: as many networks as there may be."""

import asyncio
from collections.abc import Callable, Coroutine

import pytest

from vecchess.dash.answers import Busy
from vecchess.dash.play.lent_engines import LentEngines
from vecchess.dash.play.play_engine import EngineEnded


class Stub:
    """An engine without a process."""

    def __init__(self) -> None:
        self.is_alive = True

    def kill(self) -> None:
        self.is_alive = False

    async def close(self) -> None:
        self.kill()


def in_loop(
    work: Callable[[LentEngines], Coroutine[None, None, None]], idle_s: float = 60.0
) -> list[str]:
    """The networks that engines were started for meanwhile."""
    started: list[str] = []

    async def start(net: str) -> Stub:
        started.append(net)
        if net == "broken":
            raise EngineEnded("broken")
        return Stub()

    async def run() -> None:
        await work(LentEngines(start, idle_s, 2))

    asyncio.run(run())
    return started


async def use(engines: LentEngines, net: str) -> None:
    async with engines.lend(net) as engine:
        assert engine.is_alive


def test_an_engine_is_kept() -> None:
    async def work(engines: LentEngines) -> None:
        for net in ("a", "b", "a", "b"):
            await use(engines, net)
        engines.running["a"].kill()
        assert list(engines.running) == ["b"]
        await use(engines, "a")

    started = in_loop(work)
    assert started == ["a", "b", "a"], "a dead one is started anew"


def test_a_third_network_takes_the_place_of_an_idle_one() -> None:
    async def work(engines: LentEngines) -> None:
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

    started = in_loop(work)
    assert started == ["a", "b", "c", "a"]


def test_requests_for_one_network_share_its_engine() -> None:
    async def work(engines: LentEngines) -> None:
        async with engines.lend("a") as first, engines.lend("a") as second:
            assert first is second
        await asyncio.gather(*(use(engines, "a") for _ in range(5)))

    assert in_loop(work) == ["a"]


def test_a_failed_start_is_tried_again() -> None:
    async def work(engines: LentEngines) -> None:
        for _ in range(2):
            with pytest.raises(EngineEnded):
                await use(engines, "broken")
        await use(engines, "a")
        await use(engines, "b")
        assert list(engines.running) == ["a", "b"], "it keeps no place"

    started = in_loop(work)
    assert started == ["broken", "broken", "a", "b"]


def test_idle_engines_end_and_so_do_all_at_the_end() -> None:
    async def work(engines: LentEngines) -> None:
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
