"""Starts of ranks in one store that outlives them, as torchrun's agent serves it."""

import re
from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from torch._C._distributed_c10d import PrefixStore, Store, TCPStore

from tests.train.distributed.meeting import at_once
from vecchess.errors import ConfigError
from vecchess.train.distributed.environment import RankInfo
from vecchess.train.distributed.rank_store import keys_of_start


@pytest.fixture
def connect() -> Callable[[], TCPStore]:
    """Returns what connects a process to one store."""
    server = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)

    def connect() -> TCPStore:
        timeout = timedelta(seconds=60)
        return TCPStore("127.0.0.1", server.port, timeout=timeout, wait_for_workers=False)

    connect.server = server  # type: ignore[attr-defined]
    return connect


def start(
    connect: Callable[[], TCPStore], ranks: int, world_size: int, start_s: float = 60.0
) -> list[Store]:
    """What so many ranks, all of the world or fewer, get in one start, by rank."""
    infos = [RankInfo(rank, world_size) for rank in range(ranks)]
    return at_once(*(partial(keys_of_start, connect(), info, start_s) for info in infos))


def test_each_start_has_keys_of_its_own(connect: Callable[[], TCPStore]) -> None:
    """The restarts that agents count, and the number of ranks, change nothing."""
    for number, world_size in enumerate((3, 3, 1, 2, 4)):
        stores = start(connect, world_size, world_size)
        assert not any(isinstance(store, Exception) for store in stores), stores
        assert not any(store.check(["host/0"]) for store in stores), number
        stores[0].set("host/0", str(number))
        assert [store.get("host/0") for store in stores] == [str(number).encode()] * world_size


def test_ranks_that_were_killed_while_they_met_disturb_no_later_start(
    connect: Callable[[], TCPStore],
) -> None:
    for without in ([1], [0]):
        infos = [RankInfo(rank, 3) for rank in range(3) if rank not in without]
        ends = at_once(*(partial(keys_of_start, connect(), info, 0.2) for info in infos))
        assert any(isinstance(end, ConfigError) for end in ends)
    stores = start(connect, 3, 3)
    stores[2].set("a", "b")
    assert [store.get("a") for store in stores] == [b"b"] * 3


def test_who_does_not_come_is_named(connect: Callable[[], TCPStore]) -> None:
    first, second = start(connect, 2, 4, 0.3)
    line = re.escape("of 4 ranks, rank 2, 3 did not turn up at torchrun's store within 0.3 s: ")
    assert isinstance(first, ConfigError)
    assert re.match(line, str(first))
    assert isinstance(second, Store)  # it knows rank 0's start, and hears of its end there
    with pytest.raises(ConfigError, match="of 2 ranks, rank 0 did not turn up at torchrun's sto"):
        keys_of_start(connect(), RankInfo(1, 2), 0.2)


def test_a_store_keeps_few_keys_of_old_starts(connect: Callable[[], TCPStore]) -> None:
    root = PrefixStore("vecchess", connect())
    for _ in range(5):
        infos = [RankInfo(rank, 2) for rank in range(2)]
        at_once(*(partial(keys_of_start, root, info, 5.0) for info in infos))
    assert connect.server.num_keys() <= 5 * 4 + 2  # type: ignore[attr-defined]
