"""The ranks of a training, one a device, on one machine or several; or the only one.

All ranks call the methods of ``Ranks`` in the same order:

    with join_ranks(info, device) as ranks:      # an error that leaves the block ends all ranks
        ranks.require_same(text, "settings")
        while not ranks.heartbeat(stop.reason, is_done).all_done: ...
        loss.backward(); ranks.all_reduce_(gradients)

Tensors go over torch.distributed (``collectives``); small values, heart-beats and errors over a
TCPStore (``control``), on every kind of device.
"""

import hashlib
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, distributed

from vecchess import __version__
from vecchess.errors import ConfigError, RankLost, VecchessError
from vecchess.machine_limits import num_cores
from vecchess.runtime.devices import CPU, Device, see_only
from vecchess.runtime.signals import Stopped
from vecchess.runtime.torch_environment import torch_threads
from vecchess.train.distributed.collectives import (
    carry_out,
    close_group,
    hold_failing_threads,
    open_group,
    require_backend,
)
from vecchess.train.distributed.control import ControlPlane, SharedError
from vecchess.train.distributed.environment import RankInfo
from vecchess.train.distributed.rank_store import open_store

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

TIMEOUT_S = 45.0
"""A rank that has not entered an operation of all ranks after so long is lost."""
START_S = 300.0
"""Machines of a cluster may start so far apart."""
INTERRUPTED = 130


class Heartbeat(NamedTuple):
    """What all ranks know after a heart-beat."""

    stop: str
    """Why some rank was asked to stop, "SIGTERM" for instance; "" where none was."""
    all_done: bool
    """Whether all ranks are done."""


class Ranks:
    """This rank among all; used by one thread. ``Ranks.alone`` needs no network."""

    def __init__(
        self,
        info: RankInfo,
        device: torch.device,
        control: ControlPlane | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Use ``join_ranks`` or ``alone``."""
        self.rank, self.world_size = info.rank, info.world_size
        self.node, self.num_nodes = info.node, info.num_nodes
        self.device = device
        self.is_main = info.rank == 0
        """Rank 0: it alone plays and writes, and prints for all."""
        self.is_local_main = info.local_rank == 0
        """Leader of its machine: parent of its other ranks, writer of its copy of the run."""
        self._control, self._timeout_s = control, timeout_s

    @classmethod
    def alone(cls, device: torch.device) -> "Ranks":
        """The only rank."""
        return cls(RankInfo(), device)

    @property
    def hosts(self) -> list[str]:
        """The host of every rank."""
        return self._control.hosts if self._control else [socket.gethostname()]

    def all_reduce_(self, tensors: list[Tensor]) -> None:
        """Replace each tensor by its sum over ranks: the same bits on every rank.

        Tensors lie on ``device``, of any shape, of the same shapes and dtypes on all ranks.
        float64 and integers (up to 2^53) are summed in float64, all others in float32. Raises
        RankLost, or SharedError where another rank fails meanwhile.
        """
        if self._control is None:
            return
        is_wide = [t.dtype == torch.float64 or not t.is_floating_point() for t in tensors]
        for wide, dtype in ((False, torch.float32), (True, torch.float64)):
            bucket = [t for t, one in zip(tensors, is_wide, strict=True) if one is wide]
            if bucket:
                flat = torch.cat([tensor.detach().reshape(-1).to(dtype) for tensor in bucket])
                start = partial(distributed.all_reduce, flat, async_op=True)
                carry_out(start, self._control, self._timeout_s)
                sums = flat.split([tensor.numel() for tensor in bucket])
                for tensor, part in zip(bucket, sums, strict=True):
                    tensor.detach().copy_(part.reshape(tensor.shape))

    def broadcast_(self, tensors: list[Tensor]) -> None:
        """Give every rank rank 0's content of each tensor, byte for byte; shapes and dtypes as
        there. Raises as ``all_reduce_``."""
        if self._control is None:
            return
        own = [tensor.detach().contiguous().reshape(-1).view(torch.uint8) for tensor in tensors]
        flat = torch.cat(own)
        start = partial(distributed.broadcast, flat, src=0, async_op=True)
        carry_out(start, self._control, self._timeout_s)
        received = flat.split([part.numel() for part in own])
        for tensor, part in zip(tensors, received, strict=True):
            aligned = part.clone()
            tensor.detach().copy_(aligned.view(tensor.dtype).reshape(tensor.shape))

    def broadcast_bytes(self, data: bytes) -> bytes:
        """Rank 0's ``data`` on all ranks; theirs is ignored."""
        if self._control is None:
            return data
        size = int(self.broadcast_object({"size": len(data)})["size"])
        content = bytearray(data if self.is_main else size) or bytearray(1)
        tensor = torch.frombuffer(content, dtype=torch.uint8).to(self.device)
        self.broadcast_([tensor])
        return tensor.cpu().numpy().tobytes()[:size]

    def broadcast_object(self, value: dict[str, Any] | None) -> dict[str, Any]:
        """Rank 0's ``value`` (JSON, a few kB) on all ranks."""
        first = self._exchange("broadcast", value if self.is_main else None)[0]
        assert isinstance(first, dict)
        return first

    def gather_object(self, value: dict[str, Any]) -> list[dict[str, Any]]:
        """Every rank's ``value`` (JSON, a few kB), by rank, on all ranks."""
        return self._exchange("gather", value)

    def barrier(self) -> None:
        """Return when all ranks have called it."""
        self._exchange("barrier", None)

    def heartbeat(self, stop_reason: str, is_done: bool) -> Heartbeat:
        """Exchange stop requests; called about once a second in play, and between updates.

        It returns when the last rank has called it, so ranks that only wait may call it in a plain
        loop. Raises RankLost that names ranks that died or did not call it within the time-out, and
        their hosts.
        """
        beats = self._exchange("heartbeat", [stop_reason, is_done])
        reasons = [reason for reason, _ in beats if reason]
        return Heartbeat(reasons[0] if reasons else "", all(done for _, done in beats))

    def require_same(self, text: str, what: str = "settings") -> None:
        """Raise an error where the ``text`` of a rank differs from rank 0's; ``what`` is its name.

        On rank 0 it is a ConfigError that names these ranks, on others a SharedError without a
        line: each finds out by itself.
        """
        digests = self._exchange("same", hashlib.sha256(text.encode()).hexdigest())
        others = [rank for rank, digest in enumerate(digests) if digest != digests[0]]
        if others and not self.is_main:
            raise SharedError("", ConfigError.exit_code)
        if others:
            names = ", ".join(f"rank {rank} on {self.hosts[rank]}" for rank in others)
            raise ConfigError(
                f"{names}: other {what} than rank 0 on {self.hosts[0]}; start every machine with "
                "the same flags, variables and files"
            )

    def end_soon_if(self, is_ending: Callable[[], bool]) -> None:
        """Take a silent rank for lost sooner while ``is_ending()``, which the control thread calls,
        is true: see ``ControlPlane.is_ending``."""
        if self._control is not None:
            self._control.is_ending = is_ending

    @contextmanager
    def timeout(self, timeout_s: float) -> Iterator[None]:
        """Ranks wait up to ``timeout_s`` for each other within the block; all ranks enter it."""
        before, self._timeout_s = self._timeout_s, timeout_s
        try:
            yield
        finally:
            self._timeout_s = before

    @contextmanager
    def leaving_together(self, timeout_s: float) -> Iterator[None]:
        """A ``timeout`` whose block no rank leaves before all have come to its end: for work of
        some ranks that takes longer than the others wait."""
        with self.timeout(timeout_s):
            yield
            self.barrier()

    @contextmanager
    def sharing_errors(self) -> Iterator[None]:
        """Let an error that leaves the block on one rank end all ranks, with one exit code.

        ``join_ranks`` has it around its block: a loop in there must not swallow a VecchessError of
        this class. Rank 0 raises the error with the name of the rank it is from; others raise one
        without a line. Where rank 0 is out of reach every leader of a machine raises the line.
        """
        try:
            yield
        except SharedError:
            raise
        except RankLost as error:
            if self.is_local_main:
                raise
            raise SharedError("", error.exit_code) from None
        except VecchessError as error:
            if self._share(str(error), error.exit_code):
                raise SharedError("", error.exit_code) from None
            raise
        except KeyboardInterrupt:
            self._share("", INTERRUPTED)
            raise
        except Stopped as stopped:
            self._share("", stopped.exit_code)
            raise
        except Exception as error:  # a bug: the rank that has it prints its traceback
            self._share(f"{type(error).__name__}: {error}", 1)
            raise

    def _share(self, line: str, exit_code: int) -> bool:
        return self._control is not None and self._control.share(line, exit_code)

    def _exchange(self, operation: str, value: Any) -> list[Any]:
        if self._control is None:
            return [value]
        return self._control.exchange(operation, value, self._timeout_s)


@contextmanager
def join_ranks(
    info: RankInfo,
    device: Device,
    timeout_s: float,
    start_s: float,
    store: "Store | None" = None,
    failed_children: Callable[[], Mapping[int, str]] = dict,
) -> Iterator[Ranks]:
    """Connect this process to the other ranks, for a block; it sees no GPU but ``device``.

    ``store`` is given where this process serves one already, ``failed_children`` as for
    ``ControlPlane``. Raises ConfigError with one line where ranks do not come together.
    """
    see_only(device)
    num_ranks = 1 if info.starter == "srun" else info.local_world_size  # its tasks have cores each
    with torch_threads(num_cores() // num_ranks):
        torch_device, on_gpu = torch.device(device.name), device != CPU
        if info.world_size == 1:
            yield Ranks.alone(torch_device)
            return
        require_backend(device)
        if on_gpu:
            torch.cuda.set_device(device.name)
        store = store or open_store(info, start_s)
        group_store = store.clone()  # type: ignore[attr-defined]
        facts = (
            f"vecchess {__version__}, {info.world_size} ranks, {info.local_world_size} on a "
            f"machine, kind of device {torch_device.type}"
        )
        control = ControlPlane(store, info, facts, failed_children)
        ranks = Ranks(info, torch_device, control, timeout_s)
        release = None if on_gpu else hold_failing_threads()
        try:
            with ranks.sharing_errors():
                control.meet(start_s)
                open_group(info, torch_device, group_store, control, start_s)
                yield ranks
                ranks.barrier()
            close_group(is_whole=True)
            if release is not None:
                release()
        except BaseException:
            close_group(is_whole=False)
            raise
        finally:
            control.close()
