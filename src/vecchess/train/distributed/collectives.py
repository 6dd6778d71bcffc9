"""torch.distributed among the ranks: NCCL on GPUs, gloo on CPUs.

Gradients are summed by one flat all-reduce after the backward pass, not by torch's
DistributedDataParallel (decision 85).
"""

import ctypes
import os
import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from time import sleep
from typing import TYPE_CHECKING, Any

import torch
from torch import distributed

from vecchess.errors import ConfigError
from vecchess.runtime.devices import CPU, Device
from vecchess.train.distributed.control import ControlPlane, has_ended, in_thread
from vecchess.train.distributed.environment import RankInfo
from vecchess.train.distributed.rank_store import LOOPBACK, first_line

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store
    from torch.distributed import Work

BACKSTOP_S = 1800.0
"""torch's own time-out. That of the control plane comes first, with a line that names the rank."""
POLL_S = 50e-6


def require_backend(device: Device) -> None:
    """Raise ConfigError where this torch cannot connect several ranks on such devices."""
    on_gpu = device != CPU
    if not distributed.is_available():
        raise ConfigError("this torch has no torch.distributed: use one device, --gpus 0 or cpu")
    if on_gpu and not distributed.is_nccl_available():
        raise ConfigError(
            "this torch has no NCCL, which several GPUs need: install torch for CUDA on Linux, or "
            "use one GPU, or --gpus cpu:2"
        )
    if not on_gpu and not distributed.is_gloo_available():
        raise ConfigError("this torch has no gloo, which several CPU ranks need: use --gpus cpu")


def open_group(
    info: RankInfo, device: torch.device, store: "Store", control: ControlPlane, start_s: float
) -> None:
    """Initialise torch.distributed; ``store`` is used by nothing else meanwhile.

    In a thread, because torch would wait for a rank that died. Raises ConfigError where ranks
    cannot connect, and as ``ControlPlane.wait_for``.
    """
    connected = in_thread("vecchess-connect", partial(_connect, info, device, store))
    control.enter()
    control.wait_for(lambda: has_ended(connected, 0.01), start_s, "to connect for sums")
    connected.result()


def close_group(is_whole: bool) -> None:
    """Leave torch.distributed. Where a rank is lost, pending operations are given up."""
    if not distributed.is_initialized():
        return
    if is_whole:
        distributed.destroy_process_group()
    elif distributed.get_backend() == "nccl":
        distributed.distributed_c10d._abort_process_group()
    else:
        # gloo cannot give up: abort and destructor wait for the lost rank without end. The group
        # is never destroyed, so that the process can end
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(distributed.group.WORLD))


def carry_out(start: "Callable[[], Work]", control: ControlPlane, timeout_s: float) -> None:
    """Carry out a collective, while a lost rank ends it with an error that names the rank.

    ``timeout_s``: for a rank that has not come. On a GPU this also waits for the collective itself,
    which costs a fraction of a millisecond a step; a rank that hangs is then named before NCCL's
    watchdog ends the process.
    """

    def is_done() -> bool:
        if not work.is_completed():
            sleep(POLL_S)
        return bool(work.is_completed())

    control.enter()
    try:
        work = start()
        control.wait_for(is_done, timeout_s, "a sum over ranks")
        work.wait()
    except RuntimeError as error:  # a connection of torch's broke
        control.find_cause(first_line(error))


def _connect(info: RankInfo, device: torch.device, store: "Store") -> None:
    """The body of ``open_group``'s thread.

    The NCCL branch has not run on several GPUs yet. A thread has a current device of its own,
    hence ``device_id`` here, and ``set_device`` in the main thread.
    """
    from torch._C._distributed_c10d import PrefixStore

    on_gpu = device.type == "cuda"
    if on_gpu:
        # 1: the process ends, and does not hang, should a failed collective go unnoticed
        os.environ.setdefault("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1")
    elif info.master_addr in LOOPBACK and os.path.isdir("/sys/class/net/lo"):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # the host's name may not resolve
    try:
        distributed.init_process_group(
            "nccl" if on_gpu else "gloo",
            store=PrefixStore("collectives", store),
            rank=info.rank,
            world_size=info.world_size,
            timeout=timedelta(seconds=BACKSTOP_S),
            device_id=device if on_gpu else None,
        )
    except RuntimeError as error:
        names = "NCCL_SOCKET_IFNAME" if on_gpu else "GLOO_SOCKET_IFNAME"
        raise ConfigError(
            f"ranks cannot connect for sums: {first_line(error)}; name the network interface "
            f"between the machines in {names}"
        ) from None


def hold_failing_threads() -> Callable[[], None]:
    """Keep a failing thread of gloo from ending the process; returns what undoes it.

    A thread of gloo sends to peers that are ready to receive; where a peer has died by then it
    throws, and nothing in that thread catches (``Pair::sendAsyncMode`` in
    gloo/transport/tcp/pair.cc). C++ ends the process then, before the line that names the dead rank
    is printed. With C++'s terminate handler that thread waits instead (decision 192). A failure in
    the main thread ends the process as usual.

    The handler is compiled, because it has to run without Python: the failing thread may hold
    Python's lock or be unknown to it. Without GNU's C++ library nothing changes.
    """
    try:
        library, system = ctypes.CDLL("libstdc++.so.6"), ctypes.CDLL(None)
        set_handler = library["_ZSt13set_terminatePFvvE"]
        get_handler = library["_ZSt13get_terminatev"]
        pause, this_thread = system["pause"], system["pthread_self"]
    except (OSError, AttributeError):
        return lambda: None
    set_handler.argtypes, set_handler.restype = [ctypes.c_void_p], None
    get_handler.argtypes, get_handler.restype = [], ctypes.c_void_p
    former = get_handler()
    handler = _compiled(pause, this_thread, ctypes.CFUNCTYPE(None)(former))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(handler))  # a thread may wait in it to the end
    set_handler(handler.address)
    return lambda: set_handler(former)


def _compiled(
    pause: "ctypes._NamedFuncPointer",
    this_thread: "ctypes._NamedFuncPointer",
    former: "ctypes._FuncPointer",
) -> Any:
    """A handler that pauses without end; in the main thread it calls ``former``."""
    from numba import cfunc, types

    pause.argtypes, pause.restype = [], ctypes.c_int
    this_thread.argtypes, this_thread.restype = [], ctypes.c_ulong
    main_thread = threading.main_thread().ident

    def handle() -> None:
        while this_thread() != main_thread:
            pause()
        former()

    return cfunc(types.void())(handle)
