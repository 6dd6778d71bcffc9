"""Sums of tensors over ranks, while the hub is listened to.

Gradients are averaged by one flat all-reduce after the backward pass, and not by torch's
DistributedDataParallel, which sends them from within the backward pass: when a rank runs out of
memory half-way it repeats the pass in smaller micro-batches, and its half of a collective must not
be under way by then. These networks have 0.3 to 100 MB of parameters; what is lost by not hiding
one all-reduce behind the backward pass is small.
"""

from time import monotonic, sleep
from typing import TYPE_CHECKING

from vecchess.train.distributed.control import ROLL_S, Hub, Spoke

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from torch.distributed import Work

POLL_S = 50e-6


class Sums:
    """One flat all-reduce for each kind of number among the tensors."""

    def __init__(self, contact: Hub | Spoke, timeout_s: float) -> None:
        """``contact`` tells who failed meanwhile; after ``timeout_s`` a rank is lost."""
        self._contact, self._timeout_s = contact, timeout_s

    def all_reduce_(self, tensors: "list[Tensor]") -> None:
        """As ``Ranks.all_reduce_``."""
        import torch

        wide = [t for t in tensors if t.dtype == torch.float64 or not t.is_floating_point()]
        narrow = [t for t in tensors if t.is_floating_point() and t.dtype != torch.float64]
        for bucket, dtype in ((narrow, torch.float32), (wide, torch.float64)):
            if bucket:
                self._sum_bucket(bucket, dtype)

    def _sum_bucket(self, bucket: "list[Tensor]", dtype: "torch.dtype") -> None:
        import torch
        from torch import distributed

        with torch.no_grad():
            flat = torch.cat([tensor.reshape(-1).to(dtype) for tensor in bucket])
            try:
                work = distributed.all_reduce(flat, async_op=True)
                self._wait_for(work)
                work.wait()
            except RuntimeError as error:  # a connection of torch's broke: the hub knows whose
                self._find_missing(str(error).strip().split("\n", 1)[0][:160])
            parts = flat.split([tensor.numel() for tensor in bucket])
            for tensor, part in zip(bucket, parts, strict=True):
                tensor.copy_(part.reshape(tensor.shape))

    def _wait_for(self, work: "Work") -> None:
        """Until ``work`` has ended, well or not, while the hub is listened to.

        ``Work.wait`` would not hear of a rank that fails. On a GPU this also waits for the
        collective itself, which costs a fraction of a millisecond a step; and a rank that hangs
        becomes a line here before NCCL's watchdog ends the process with a page of its own. The
        roll is called so early that it ends within the time-out.
        """
        patience_s = max(self._timeout_s - ROLL_S, self._timeout_s / 2)
        deadline = monotonic() + patience_s
        while not work.is_completed():
            self._contact.check()
            if monotonic() > deadline:
                self._find_missing(f"a sum over ranks took more than {patience_s:g} s")
            sleep(POLL_S)

    def _find_missing(self, reason: str) -> None:
        self._contact.find_missing(f"{reason} (is the network between them whole?)")
