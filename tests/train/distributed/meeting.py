"""Ranks of one process, in threads, around a store of their own."""

import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import torch
from torch._C._distributed_c10d import PrefixStore, TCPStore

from vecchess.train.distributed.control import ControlPlane
from vecchess.train.distributed.environment import RankInfo
from vecchess.train.distributed.ranks import Ranks

HOST = socket.gethostname()
FACTS = "3 ranks"
Results = list[Any]


@dataclass
class Meeting:
    """Ranks of one process around a store of their own."""

    server: TCPStore | None = field(
        default_factory=lambda: TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    )
    ranks: list[Ranks] = field(default_factory=list)
    children: dict[int, str] = field(default_factory=dict)
    """Failed children of rank 0."""

    def add(self, info: RankInfo, facts: str = FACTS, timeout_s: float = 5.0) -> Ranks:
        """One more rank, which has not met the others."""
        assert self.server is not None
        store = TCPStore(
            "127.0.0.1", self.server.port, timeout=timedelta(seconds=30), wait_for_workers=False
        )  # a busy machine may take long to connect
        store.set_timeout(timedelta(seconds=5))
        children = (lambda: self.children) if info.rank == 0 else dict
        control = ControlPlane(PrefixStore("test", store), info, facts, children)
        self.ranks.append(Ranks(info, torch.device("cpu"), control, timeout_s))
        return self.ranks[-1]

    def of(self, count: int, timeout_s: float = 5.0) -> list[Ranks]:
        """Ranks that have met, two a machine from the second machine on."""
        for rank in range(count):
            info = RankInfo(rank, count, max(rank - 1, 0), 1, min(rank, 1), 2)
            self.add(info, timeout_s=timeout_s)
        met = on_all(self.ranks, lambda one: one._control.meet(30.0))  # of a busy machine too
        assert met == [None] * count, met
        return self.ranks


def stop(one: Ranks) -> None:
    """End the heart-beats of a rank, which tells nothing to the others: as a dead host."""
    assert one._control is not None
    one._control._closing = True
    one._control._thread.join(2.0)


def at_once(*programs: Callable[[], Any]) -> Results:
    """What each of the programs returned or raised, run in a thread each."""
    results: Results = [None] * len(programs)

    def run(index: int) -> None:
        try:
            results[index] = programs[index]()
        except BaseException as error:
            results[index] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(programs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def on_all(ranks: list[Ranks], do: Callable[[Any], Any]) -> Results:
    return at_once(*(lambda one=one: do(one) for one in ranks))
