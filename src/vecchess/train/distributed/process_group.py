"""torch.distributed's process group, which carries sums of tensors and nothing else."""

import ctypes
import os
from collections.abc import Callable
from datetime import timedelta
from threading import Thread
from typing import TYPE_CHECKING

from vecchess.errors import ConfigError
from vecchess.runtime.devices import CPU, Device
from vecchess.train.distributed.environment import RankInfo
from vecchess.train.distributed.rendezvous import LOOPBACK

if TYPE_CHECKING:
    import torch
    from torch._C._distributed_c10d import Store

BACKSTOP_S = 1800.0
"""torch's own time-out. Ours comes first, with a better line; this one ends what we do not see."""


def require_backend(device: Device) -> None:
    """Raise ConfigError where this torch cannot connect several ranks on such devices."""
    from torch import distributed

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
    place: RankInfo, device: "torch.device", store: "Store", watch: Callable[[], None]
) -> None:
    """Initialise torch.distributed: NCCL between GPUs, gloo between processors.

    In a thread, for torch would wait for a rank that died meanwhile; ``watch``, called again and
    again, raises then. Raises ConfigError where ranks cannot connect.
    """
    failures: list[BaseException] = []

    def run() -> None:
        try:
            _connect(place, device, store)
        except BaseException as error:
            failures.append(error)

    thread = Thread(target=run, name="vecchess-connect", daemon=True)
    thread.start()
    while thread.is_alive():
        watch()
        thread.join(0.01)
    if failures:
        raise failures[0]


def close_group(is_whole: bool) -> None:
    """Leave torch.distributed. Where a rank is lost, what is under way is given up."""
    from torch import distributed

    if not distributed.is_initialized():
        return
    if is_whole:
        distributed.destroy_process_group()
    elif distributed.get_backend() == "nccl":
        distributed.distributed_c10d._abort_process_group()
    else:
        # gloo cannot give up: abort and destructor alike wait for the peer, in vain. So the group
        # is never destroyed, and the process may end
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(distributed.group.WORLD))


def _connect(place: RankInfo, device: "torch.device", store: "Store") -> None:
    """The body of ``open_group``'s thread.

    The NCCL branch has not run on a GPU yet. A thread has a current device of its own, hence
    ``device_id`` here, and ``set_device`` in the main thread.
    """
    from torch import distributed
    from torch._C._distributed_c10d import PrefixStore

    on_gpu = device.type == "cuda"
    if on_gpu:
        # 1: should we not see that a collective has failed, the process ends rather than hang
        os.environ.setdefault("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1")
    elif place.master_addr in LOOPBACK and os.path.isdir("/sys/class/net/lo"):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # a host name may resolve to nowhere
    try:
        distributed.init_process_group(
            "nccl" if on_gpu else "gloo",
            store=PrefixStore("sums", store),
            rank=place.rank,
            world_size=place.world_size,
            timeout=timedelta(seconds=BACKSTOP_S),
            device_id=device if on_gpu else None,
        )
    except RuntimeError as error:
        names = "NCCL_SOCKET_IFNAME" if on_gpu else "GLOO_SOCKET_IFNAME"
        raise ConfigError(
            f"ranks cannot connect for sums: {str(error).strip().splitlines()[0][:200]}; name the "
            f"network interface between the machines in {names}"
        ) from None
