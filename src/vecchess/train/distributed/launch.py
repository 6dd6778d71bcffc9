"""Starts the ranks of this machine, or takes the place that torchrun or srun gave this process.

Local rank 0 runs in this process: it owns the terminal and the signals, and is the parent of the
machine's self-play workers. So torch's elastic agent does not fit, which is a parent of all ranks
(decision 86). The other ranks are spawned, see one device each, ignore signals (they learn of them
by a heart-beat), and end when this process ends.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from multiprocessing.context import SpawnProcess
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from vecchess.errors import RankLost, VecchessError
from vecchess.runtime.child_process import (
    exit_with_parent,
    ignore_signals,
    start_with_signals_blocked,
)
from vecchess.runtime.devices import Device
from vecchess.runtime.signals import stop_signals
from vecchess.train.distributed.collectives import require_backend
from vecchess.train.distributed.environment import Cluster, RankInfo, device_of, local_ranks
from vecchess.train.distributed.rank_store import open_store, port_of
from vecchess.train.distributed.ranks import START_S, TIMEOUT_S, join_ranks

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

ResultT = TypeVar("ResultT")
LEAVE_S = 10.0
"""At the end spawned ranks have so long to end."""
LEAVE_LOST_S = 2.0
"""Where a rank is lost: it may be stopped, and would never end."""


@dataclass(frozen=True)
class RankPlan(Generic[ResultT]):
    """Everything that a spawned rank is given at its start."""

    target: Callable[..., ResultT]
    arguments: tuple[Any, ...]
    info: RankInfo
    device: Device
    timeout_s: float
    start_s: float


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
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # for spawned ranks, as in the command
    infos = local_ranks(devices, cluster or Cluster(), os.environ)
    store = None
    if len(infos) > 1:
        require_backend(devices[0])
        if infos[0].rank == 0:  # before others start, so that they know its port, chosen or free
            store = open_store(infos[0], start_s)
            infos = [replace(info, master_port=port_of(store)) for info in infos]
    plans = [
        RankPlan(target, arguments, info, device_of(info, devices), timeout_s, start_s)
        for info in infos
    ]
    with _spawned(plans[1:]) as failed:
        return _run_here(plans[0], store, failed)


def _run_here(
    plan: RankPlan[ResultT],
    store: "Store | None" = None,
    failed_children: Callable[[], Mapping[int, str]] = dict,
) -> ResultT:
    with join_ranks(
        plan.info, plan.device, store, plan.timeout_s, plan.start_s, failed_children
    ) as ranks:
        return plan.target(ranks, *plan.arguments)


@contextmanager
def _spawned(plans: list[RankPlan[Any]]) -> Iterator[Callable[[], Mapping[int, str]]]:
    """Run ``plans`` in processes of their own during the block; all have ended after it.

    The block gets a function that returns how ranks ended that failed: "SIGKILL", "exit code 3".
    """
    processes: dict[int, SpawnProcess] = {}
    wait_s = LEAVE_S
    try:
        for plan in plans:
            processes[plan.info.rank] = _start(plan)
        yield lambda: {
            rank: _way_to_end(process.exitcode)
            for rank, process in processes.items()
            if process.exitcode
        }
    except RankLost:
        wait_s = LEAVE_LOST_S
        raise
    finally:
        deadline = monotonic() + wait_s
        for process in processes.values():
            process.join(max(0.0, deadline - monotonic()))
            if process.is_alive():
                process.kill()
                process.join(LEAVE_S)


def _start(plan: RankPlan[Any]) -> SpawnProcess:
    process = get_context("spawn").Process(
        target=run_rank, args=(plan,), name=f"vecchess-rank-{plan.info.rank}"
    )
    start_with_signals_blocked(process, stop_signals())
    return process


def _way_to_end(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return signal.Signals(-exit_code).name
    return f"exit code {exit_code}"


def run_rank(plan: RankPlan[Any]) -> None:
    """Body of a spawned rank."""
    ignore_signals(stop_signals())  # local rank 0 decides when to stop
    exit_with_parent()
    code = 0
    try:
        _run_here(plan)
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
