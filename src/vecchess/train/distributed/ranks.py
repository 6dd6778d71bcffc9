"""The ranks of a training, one a device, on one machine or many; or the only one.

Phases alternate: in play the leader of each machine is busy with its workers and the others wait,
in learning all step in lockstep, then rank 0 writes. Every method here is called by all ranks in
the same order.

    with join(place, device) as ranks:      # errors that leave the block end all ranks
        ranks.require_same(text, "settings")
        while not ranks.heartbeat(stop.reason, is_done).all_done: ...
        loss.backward(); ranks.all_reduce_(gradients)

Gradients are summed by torch.distributed (``sums``); small things, heart-beats and errors go over
the hub (``hub``), on every kind of device.
"""

import hashlib
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from vecchess.errors import ConfigError, RankLost, VecchessError
from vecchess.runtime.devices import CPU, Device, num_cores, see_only
from vecchess.train.distributed.all_reduce import Sums
from vecchess.train.distributed.control import Hub, SharedError, Spoke
from vecchess.train.distributed.environment import RankInfo
from vecchess.train.distributed.gloo_terminate import hold_failing_threads
from vecchess.train.distributed.process_group import close_group, open_group, require_backend
from vecchess.train.distributed.rendezvous import meet, nothing, open_store

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from torch._C._distributed_c10d import Store

TIMEOUT_S = 45.0
"""A rank that does not turn up for so long is lost."""
START_S = 300.0
"""Machines of a cluster may start so far apart."""
INTERRUPTED = 130
ATTEMPT = "TORCHELASTIC_RESTART_COUNT"
"""How often torchrun has started the ranks again."""


class Heartbeat(NamedTuple):
    """What all ranks know after a heart-beat."""

    stop: str
    """Why some rank was asked to stop, "SIGTERM" for instance; "" where none was."""
    all_done: bool
    """Whether the leaders of all machines are done."""


class Ranks:
    """This rank among all. ``Ranks.alone`` has nobody to wait for, and needs no network."""

    def __init__(
        self,
        place: RankInfo,
        device: "torch.device",
        contact: Hub | Spoke | None = None,
        hosts: list[str] | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Use ``join`` or ``alone``. For one thread alone."""
        self.rank = place.rank
        self.world_size = place.world_size
        self.local_rank = place.local_rank
        self.local_world_size = place.local_world_size
        self.node = place.node
        self.num_nodes = place.num_nodes
        self.device = device
        self.host = socket.gethostname()
        self.hosts = hosts or [self.host]
        """The host of every rank."""
        self._contact = contact
        self._timeout_s = timeout_s

    @classmethod
    def alone(cls, device: "torch.device") -> "Ranks":
        """The only rank."""
        return cls(RankInfo(), device)

    @property
    def is_main(self) -> bool:
        """Rank 0: it alone writes, and speaks for all."""
        return self.rank == 0

    @property
    def is_local_main(self) -> bool:
        """Local rank 0: parent of the machine's workers and of its other ranks."""
        return self.local_rank == 0

    def all_reduce_(self, tensors: "list[Tensor]") -> None:
        """Replace each tensor by its sum over ranks: the same bits on every rank.

        Tensors lie on ``device``, of any shape, of the same shapes and dtypes on all ranks.
        float64 and integers (up to 2^53) are summed in float64, all others in float32. Raises
        RankLost, or SharedError where another rank fails meanwhile.
        """
        if self._contact is not None and tensors:
            Sums(self._contact, self._timeout_s).all_reduce_(tensors)

    def broadcast_(self, tensors: "list[Tensor]") -> None:
        """Give every rank rank 0's content of each tensor, exactly; shapes and dtypes as there.

        Raises as ``all_reduce_``, which it is: of rank 0's values and zeros.
        """
        if self._contact is None:
            return
        if not self.is_main:
            for tensor in tensors:
                tensor.zero_()
        self.all_reduce_(tensors)

    def broadcast_bytes(self, data: bytes) -> bytes:
        """Rank 0's ``data`` on all ranks; theirs is not looked at."""
        import torch

        if self._contact is None:
            return data
        size = int(self.broadcast_object({"size": len(data)})["size"])
        even = size + size % 2
        padded = data.ljust(even, b"\0") if self.is_main else bytes(even)
        # two bytes to a float32: every value stays below 2^24, so the sum is exact
        halves = torch.frombuffer(bytearray(padded), dtype=torch.uint16).float().to(self.device)
        self.broadcast_([halves])
        return halves.cpu().to(torch.int32).to(torch.uint16).numpy().tobytes()[:size]

    def broadcast_object(self, value: dict[str, Any] | None) -> dict[str, Any]:
        """Rank 0's ``value`` (what JSON can say, a few kB) on all ranks."""
        said = self._exchange("broadcast", value if self.is_main else None)[0]
        assert isinstance(said, dict)
        return said

    def gather_object(self, value: dict[str, Any]) -> list[dict[str, Any]]:
        """Every rank's ``value`` (what JSON can say, a few kB), by rank, on all ranks."""
        return self._exchange("gather", value)

    def barrier(self) -> None:
        """Go on when all ranks are here."""
        self._exchange("barrier", None)

    def heartbeat(self, stop_reason: str, is_done: bool) -> Heartbeat:
        """The heart-beat: all ranks call it about once a second, in play and between steps.

        It takes as long as the last rank takes to turn up, so ranks that only wait may call it in
        a plain loop. ``is_done`` counts for leaders of machines alone. Raises RankLost that names
        who did not turn up within the time-out, and where; at once where a process died.
        """
        said = self._exchange("beat", [stop_reason, is_done or not self.is_local_main])
        reasons = [reason for reason, _ in said if reason]
        return Heartbeat(reasons[0] if reasons else "", all(done for _, done in said))

    def require_same(self, text: str, what: str = "settings") -> None:
        """Raise ConfigError that names the ranks whose ``text`` is not rank 0's.

        Compared by sha256; ``what`` it is, for people.
        """
        sums = self._exchange("same", hashlib.sha256(text.encode()).hexdigest())
        others = [rank for rank, sha256 in enumerate(sums) if sha256 != sums[0]]
        if others:
            names = ", ".join(f"rank {rank} on {self.hosts[rank]}" for rank in others)
            raise ConfigError(
                f"{names}: other {what} than rank 0 on {self.hosts[0]}; start every machine with "
                "the same flags, variables and files"
            )

    @contextmanager
    def timeout(self, timeout_s: float) -> Iterator[None]:
        """Within the block ranks wait so long for each other: for a first step that compiles.

        All ranks enter it alike.
        """
        before, self._timeout_s = self._timeout_s, timeout_s
        try:
            yield
        finally:
            self._timeout_s = before

    @contextmanager
    def sharing_errors(self) -> Iterator[None]:
        """Let an error that leaves the block on one rank end all ranks, with one exit code.

        ``join`` has it around its whole block: a loop needs none of its own, but must not swallow
        a VecchessError that a method of this class raised. Rank 0 raises the error with the name
        of the rank it is from; others raise one without a line, which prints nothing. Where rank 0
        is out of reach every leader of a machine raises the line.
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
        except Exception as error:  # a bug: its traceback stays with the rank that has it
            self._share(f"{type(error).__name__}: {error}", 1)
            raise

    def close(self) -> None:
        """Hang up; ``join`` does."""
        if self._contact is not None:
            self._contact.close()

    def _share(self, line: str, exit_code: int) -> bool:
        return self._contact is not None and self._contact.share(line, exit_code)

    def _exchange(self, operation: str, value: Any) -> list[Any]:
        if self._contact is None:
            return [value]
        return self._contact.exchange(operation, value, self._timeout_s)


@contextmanager
def join(
    place: RankInfo,
    device: Device,
    store: "Store | None" = None,
    timeout_s: float = TIMEOUT_S,
    start_s: float = START_S,
    watch: Callable[[], None] = nothing,
) -> Iterator[Ranks]:
    """Take this process's place among the ranks, for a block.

    From here on the process sees no other GPU than ``device``. ``store`` is given where this
    process serves one already; ``watch`` is called while ranks are awaited, and may raise. Raises
    ConfigError with one line where ranks do not come together.
    """
    import torch

    see_only(device)
    torch.set_num_threads(max(1, num_cores() // place.local_world_size))
    on_gpu = device != CPU
    if place.world_size == 1:
        yield Ranks.alone(torch.device(device.name))
        return
    require_backend(device)
    if on_gpu:
        torch.cuda.set_device(device.name)
    store = store or open_store(place, _agent_serves(), os.environ.get(ATTEMPT, "0"), start_s)
    contact, hosts = meet(place, "cuda" if on_gpu else "cpu", store, start_s, watch)
    ranks = Ranks(place, torch.device(device.name), contact, hosts, timeout_s)
    release = nothing if on_gpu else hold_failing_threads()
    try:
        with ranks.sharing_errors():
            open_group(place, ranks.device, store, contact.check)
            yield ranks
            ranks.barrier()
        close_group(is_whole=True)
        release()
    except BaseException:
        close_group(is_whole=False)
        raise
    finally:
        ranks.close()


def _agent_serves() -> bool:
    return os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
