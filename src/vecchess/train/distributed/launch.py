"""Starts the ranks of this machine, or finds that torchrun or srun did.

Local rank 0 runs in this process: it owns the terminal and the signals, and is the parent of the
machine's self-play workers. The others are spawned, see one device each, and heed no signal: they
are told by a heart-beat. They end when this process ends, however it does.
"""

import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Iterator
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
from vecchess.runtime.devices import CPU, Device, num_cores
from vecchess.runtime.signals import stop_signals
from vecchess.train.distributed.environment import Cluster, RankInfo, device_of, local_ranks
from vecchess.train.distributed.process_group import require_backend
from vecchess.train.distributed.ranks import START_S, TIMEOUT_S, join
from vecchess.train.distributed.rendezvous import nothing, open_store, port_of

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

ResultT = TypeVar("ResultT")
LEAVE_S = 10.0
"""At the end ranks have so long to leave."""
LEAVE_LOST_S = 2.0
"""Where one is lost: it may be stopped, and would never leave."""


@dataclass(frozen=True)
class RankPlan(Generic[ResultT]):
    """Everything a spawned rank is told at its start."""

    target: Callable[..., ResultT]
    arguments: tuple[Any, ...]
    place: RankInfo
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
    processes. ``devices`` are this machine's, of ``parse_gpus``, which cannot be called again in
    here: each rank sees its own only. One device and one machine need no network at all. Raises
    ConfigError where ranks do not come together, RankLost where one is lost, or what ``target``
    raises on any rank (see ``Ranks.sharing_errors``).
    """
    places = local_ranks(devices, cluster or Cluster(), os.environ)
    here = RankPlan(target, arguments, places[0], device_of(places[0], devices), timeout_s, start_s)
    if len(places) == 1:
        return _run_here(here, None)
    store, here = _served(here)
    port = here.place.master_port
    others = [
        replace(here, place=replace(place, master_port=port), device=device_of(place, devices))
        for place in places[1:]
    ]
    with _spawned(others) as watch:
        return _run_here(here, store, watch)


def _run_here(
    plan: RankPlan[ResultT], store: "Store | None", watch: Callable[[], None] = nothing
) -> ResultT:
    with join(plan.place, plan.device, store, plan.timeout_s, plan.start_s, watch) as ranks:
        return plan.target(ranks, *plan.arguments)


def _served(plan: RankPlan[ResultT]) -> tuple["Store | None", RankPlan[ResultT]]:
    """Open rank 0's store before others start, so that they know its port, chosen or free."""
    require_backend(plan.device)
    if plan.place.rank != 0:
        return None, plan
    store = open_store(plan.place, False, "0", plan.start_s)
    return store, replace(plan, place=replace(plan.place, master_port=port_of(store)))


@contextmanager
def _spawned(plans: list[RankPlan[Any]]) -> Iterator[Callable[[], None]]:
    """Run ``plans`` in processes of their own during the block. None is left behind.

    The block gets a function that raises RankLost where one has ended.
    """
    processes: list[SpawnProcess] = []
    wait_s = LEAVE_S
    try:
        for plan in plans:
            processes.append(_start(plan))
        yield lambda: _require_alive(processes)
    except RankLost as error:
        wait_s = LEAVE_LOST_S
        raise RankLost(f"{error}{_ends_of(processes)}") from None
    finally:
        _end(processes, wait_s)


def _start(plan: RankPlan[Any]) -> SpawnProcess:
    process = get_context("spawn").Process(
        target=run_rank, args=(plan,), name=f"vecchess-rank-{plan.place.rank}"
    )
    with _environment(plan):
        start_with_signals_blocked(process, stop_signals())
    return process


@contextmanager
def _environment(plan: RankPlan[Any]) -> Iterator[None]:
    """What a child must find in its environment before it imports torch."""
    values = {
        "OMP_NUM_THREADS": str(max(1, num_cores() // plan.place.local_world_size)),
        # torch warns of every address that has no host name
        "TORCH_CPP_LOG_LEVEL": os.environ.get("TORCH_CPP_LOG_LEVEL", "ERROR"),
    }
    if plan.device != CPU:
        values["CUDA_VISIBLE_DEVICES"] = plan.device.visible
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _require_alive(processes: list[SpawnProcess]) -> None:
    """Raise RankLost where a rank ended before all ranks met: its own words are on stderr."""
    for process in processes:
        if process.exitcode is not None:
            where = f"{_name(process)} on {socket.gethostname()}"
            raise RankLost(f"{where} ended before it met the others (exit code {process.exitcode})")


def _ends_of(processes: list[SpawnProcess]) -> str:
    """How ranks of this machine ended that were killed, for the line about them."""
    deadline = monotonic() + 0.5
    ends = []
    for process in processes:
        process.join(max(0.0, deadline - monotonic()))
        if process.exitcode is not None and process.exitcode < 0:
            ends.append(f"{_name(process)}: {signal.Signals(-process.exitcode).name}")
    return f" ({', '.join(ends)})" if ends else ""


def _name(process: SpawnProcess) -> str:
    return process.name.removeprefix("vecchess-").replace("-", " ")


def _end(processes: list[SpawnProcess], wait_s: float) -> None:
    """Wait a little for ranks to leave, then end those that do not."""
    deadline = monotonic() + wait_s
    for process in processes:
        process.join(max(0.0, deadline - monotonic()))
        if process.is_alive():
            process.kill()
            process.join(LEAVE_S)


def run_rank(plan: RankPlan[Any]) -> None:
    """Body of a spawned rank."""
    ignore_signals(stop_signals())  # local rank 0 decides when to stop
    exit_with_parent()
    code = 0
    try:
        _run_here(plan, None)
    except VecchessError as error:  # a line that nobody else could say
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
