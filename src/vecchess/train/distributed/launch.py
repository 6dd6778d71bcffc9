"""Starts the ranks of this machine, or takes the place that torchrun or srun gave this process.

Local rank 0 runs in this process: it owns the terminal and the signals, and is the parent of the
machine's self-play workers. So torch's elastic agent does not fit, which is a parent of all ranks
(decision 86). The other ranks are spawned, see one device each, ignore signals (they learn of them
by a heart-beat), and end when this process ends.
"""

import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any, TypeVar

from vecchess.errors import RankLost, VecchessError
from vecchess.runtime.child_process import ChildProcess
from vecchess.runtime.devices import Device
from vecchess.runtime.torch_environment import prepare_environment
from vecchess.train.distributed.collectives import require_backend
from vecchess.train.distributed.environment import Cluster, RankInfo, device_of, local_ranks
from vecchess.train.distributed.rank_store import open_store, port_of
from vecchess.train.distributed.ranks import START_S, TIMEOUT_S, join_ranks

ResultT = TypeVar("ResultT")
LEAVE_S = 10.0
"""At the end spawned ranks have so long to end."""
LEAVE_LOST_S = 2.0
"""Seconds that others have to leave where a rank is lost: one that is stopped never ends."""


def run_ranks(
    target: Callable[..., ResultT],
    arguments: tuple[Any, ...],
    devices: list[Device],
    cluster: Cluster | None = None,
    timeout_s: float = TIMEOUT_S,
    start_s: float = START_S,
) -> ResultT:
    """Run ``target(ranks, *arguments)`` on every rank; returns what it returned on this one.

    ``target`` is a function of a module and ``arguments`` can be pickled: they go to spawned
    processes. ``devices`` are this machine's, of ``parse_gpus``, which cannot be called again by
    ``target``: each rank sees its own only. One device and one machine need no network at all.
    Raises ConfigError where ranks do not come together, RankLost where one is lost, or what
    ``target`` raises on any rank (see ``Ranks.sharing_errors``).
    """
    prepare_environment()  # for spawned ranks
    infos = local_ranks(devices, cluster or Cluster(), os.environ)
    store = None
    if len(infos) > 1:
        require_backend(devices[0])
        if infos[0].rank == 0:  # before others start, so that they know its port, chosen or free
            store = open_store(infos[0], start_s)
            infos = [replace(info, master_port=port_of(store)) for info in infos]

    def join(info: RankInfo) -> "partial[Any]":
        return partial(join_ranks, info, device_of(info, devices), timeout_s, start_s)

    spawned = {info.rank: (target, arguments, join(info)) for info in infos[1:]}
    with _spawned(spawned) as failed, join(infos[0])(store, failed) as ranks:
        return target(ranks, *arguments)


@contextmanager
def _spawned(programs: dict[int, tuple[Any, ...]]) -> Iterator[Callable[[], Mapping[int, str]]]:
    """Run ``run_rank`` with the arguments of each rank in a process during the block; all have
    ended after it.

    The block gets a function that returns how ranks ended that failed.
    """
    processes: dict[int, ChildProcess] = {}
    wait_s = LEAVE_S
    try:
        for rank, arguments in programs.items():
            processes[rank] = ChildProcess(
                f"vecchess-rank-{rank}", run_rank, arguments, daemon=False
            )
            processes[rank].start()
        yield lambda: {
            rank: process.reason_of_death()
            for rank, process in processes.items()
            if process.exitcode
        }
    except RankLost:
        wait_s = LEAVE_LOST_S
        raise
    finally:
        deadline = monotonic() + wait_s
        for process in processes.values():
            process.end(deadline - monotonic())


def run_rank(target: Callable[..., Any], arguments: tuple[Any, ...], join: "partial[Any]") -> None:
    """Body of a spawned rank; ``join()`` connects it to the others."""
    code = 0
    try:
        with join() as ranks:
            target(ranks, *arguments)
    except VecchessError as error:  # its line is empty where another process prints it
        code = error.exit_code
        if line := " ".join(str(error).split()):
            print(f"vecchess: error: {line}", file=sys.stderr)
    except BaseException:
        code = 1
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    if code:
        os._exit(code)  # a broken collective would keep the interpreter from ending
