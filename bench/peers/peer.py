"""A torch module as an entrant: at its best batch size and memory layout, and checked."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vecchess.bench.entrants import Batches
from vecchess.bench.paired_timing import Count
from vecchess.inference.requests import Requests
from vecchess.snn.modules.network import unpack_bitboards

CPU_BATCHES = (16, 64)
GPU_BATCHES = (1024, 4096)
LAYOUTS = {"NCHW": torch.contiguous_format, "NHWC": torch.channels_last}

Answer = Callable[[Tensor], tuple[Tensor, Tensor]]
"""planes float32[B, P, 8, 8] -> accumulators of policy float32[B, 4672] and wdl float32[B, 3]."""


class Peer:
    """Answers batches of the questions, planes unpacked from bitboards as for everybody.

    In its favour, answers stay where they are: nobody picks the legal moves out of them.
    """

    def __init__(
        self, name: str, answer: Answer, questions: Requests, device: str, time_steps: int
    ) -> None:
        """``answer`` is on ``device`` already; ``time_steps`` is what every answer takes."""
        self.name = name
        self.device = device
        self.layout = "NCHW"
        self.batch = 1
        self._answer = answer
        self._time_steps = time_steps
        self._planes = questions.planes
        self._batches = Batches(len(self._planes))

    def turn(self) -> Count:
        """One batch."""
        rows = self._batches.take(self.batch)
        self._run(self._planes[rows])
        return Count(len(rows), len(rows) * self._time_steps)

    def accumulators(self, num: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """policy float32[num, 4672] and wdl float32[num, 3] of the first questions."""
        batches = range(0, min(num, len(self._planes)), self.batch)
        rows = [(np.arange(self.batch) + first) % len(self._planes) for first in batches]
        policy, wdl = zip(*(self._run(self._planes[part]) for part in rows), strict=True)
        return torch.cat(policy)[:num].cpu().numpy(), torch.cat(wdl)[:num].cpu().numpy()

    def tune(self) -> None:
        """Settle for the fastest of a few batch sizes and both memory layouts."""
        batches = CPU_BATCHES if self.device == "cpu" else GPU_BATCHES
        sizes = sorted({min(size, len(self._planes)) for size in batches})
        trials = [(size, layout) for size in sizes for layout in LAYOUTS]
        self.settle(*max(trials, key=lambda trial: self._speed(*trial)))

    def settle(self, batch: int, layout: str) -> None:
        """Work in batches of ``batch``, laid out as "NCHW" or "NHWC"."""
        self.batch, self.layout = batch, layout
        if isinstance(self._answer, torch.nn.Module):
            self._answer.to(memory_format=LAYOUTS[layout])  # type: ignore[call-overload]

    def facts(self) -> dict[str, Any]:
        """How it was run."""
        return {"batch": self.batch, "layout": self.layout}

    def _speed(self, batch: int, layout: str) -> float:
        """Positions/s of one turn after another that warms up."""
        self.settle(batch, layout)
        self.turn()
        start = perf_counter()
        self.turn()
        return batch / (perf_counter() - start)

    @torch.no_grad()
    def _run(self, planes: NDArray[np.uint64]) -> tuple[Tensor, Tensor]:
        boards = unpack_bitboards(torch.from_numpy(planes).to(self.device)).permute(0, 3, 1, 2)
        policy, wdl = self._answer(boards.contiguous(memory_format=LAYOUTS[self.layout]))
        if self.device != "cpu":
            torch.cuda.synchronize(self.device)
        return policy, wdl
