"""Tensors of the slots on the device, and of settled answers on the host; they never move.

Decisions 115, 117 and 119.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from vecchess.chess.planes import reads_moves
from vecchess.inference.cuda.device_weights import padded_values
from vecchess.inference.cuda.tiles import MOST_STEPS
from vecchess.shapes import MAX_MOVES, NUM_OUTCOMES, NUM_SQUARES
from vecchess.snn.integer.bounds import INT16_LIMIT, BoundsReport
from vecchess.snn.presets import NetConfig


@dataclass(frozen=True)
class Widths:
    """Integer types wide enough for the proved bounds; units 2^-F."""

    membranes: torch.dtype
    value_membranes: torch.dtype
    stream: torch.dtype
    """Type of x0 and of the residual stream."""

    @classmethod
    def proved_by(cls, report: BoundsReport) -> "Widths":
        """int16 where no input can leave its range, else int32."""

        def width(*largest: int) -> torch.dtype:
            return torch.int16 if max(largest) < INT16_LIMIT else torch.int32

        value = "value.outcome"
        return cls(
            membranes=width(report.largest("membrane", lambda layer: layer != value)),
            value_membranes=width(report.largest("membrane", lambda layer: layer == value)),
            stream=width(
                report.largest("current", lambda layer: layer == "stem"),
                report.largest("residual stream"),
            ),
        )


class SlotState:
    """Struct of tensors over S slots, on the device; the kernels describe them."""

    def __init__(
        self, config: NetConfig, num_slots: int, widths: Widths, device: torch.device
    ) -> None:
        """All slots free; raises torch.OutOfMemoryError."""

        def empty(dtype: torch.dtype, *shape: int) -> Tensor:
            return torch.zeros(num_slots, *shape, dtype=dtype, device=device)

        board = (NUM_SQUARES, config.channels)
        self.busy = empty(torch.int32)
        self.steps = empty(torch.int32)
        self.legal = empty(torch.int16, MAX_MOVES)
        self.codes = empty(torch.int16, MAX_MOVES * reads_moves(config.num_planes))
        self.num_legal = empty(torch.int32)
        self.input_current = empty(widths.stream, *board)
        layers = 2 * config.blocks + (config.readout == "spikes")
        self.membranes = empty(widths.membranes, layers, *board)
        self.value_membranes = empty(widths.value_membranes, NUM_SQUARES, padded_values(config))
        self.policy = empty(torch.int32, MAX_MOVES)
        self.wdl = empty(torch.int32, NUM_OUTCOMES)
        self.best_move = empty(torch.int32)

        self.active = empty(torch.int32)
        self.num_active = torch.zeros(1, dtype=torch.int32, device=device)
        self.tick = torch.zeros(1, dtype=torch.int64, device=device)
        """Launches of time steps since the start."""
        self.stream = empty(widths.stream, MOST_STEPS, *board)
        self.spikes = empty(torch.int8, MOST_STEPS, *board)
        self.spikes_inside = empty(torch.int8, MOST_STEPS, *board)

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return sum(tensor.nbytes for tensor in vars(self).values())


class HostAnswers:
    """Answers of settled slots, in the host's memory; kernels write here when a slot settles.

    policy: int32[S, L]    wdl: int32[S, 3]    steps: int32[S]
    settled_at: int64[S]   number of the launch the slot settled in, 0 if it never did
    """

    def __init__(self, num_slots: int, host_tensor: Callable[..., Tensor]) -> None:
        """``host_tensor(shape, dtype)``: zeros the device can write to."""
        self.policy = host_tensor((num_slots, MAX_MOVES), torch.int32)
        self.wdl = host_tensor((num_slots, NUM_OUTCOMES), torch.int32)
        self.steps = host_tensor((num_slots,), torch.int32)
        self.settled_at = host_tensor((num_slots,), torch.int64)
        self.arrays = [tensor.numpy() for tensor in (self.policy, self.wdl, self.steps)]
        """policy, wdl and steps as the host reads them: the same memory."""
