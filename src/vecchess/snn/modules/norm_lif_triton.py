"""Ghost norm, shortcut and LIF neurons of a layer on an NVIDIA GPU, in one pass.

Behind a convolution every neuron and step would be read and written by the statistics, the norm,
the sum with the shortcut and the neuron, one after the other. Here statistics read the currents
once; then a current is read, normalised, added to its shortcut and fired without leaving registers.
Currents may be bfloat16, as autocast makes them; all sums are float32. The backward makes the
currents anew, and gradients of the norm's statistics are one more product and sum.

A program takes 16 squares of a board, so that its sums, one for each channel, belong to one group;
they are added up in float64, in one order.

Decision 280.
"""

from typing import Any, NamedTuple

import torch
import triton
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional

from vecchess.shapes import NUM_SQUARES
from vecchess.snn.modules.bf16_products import asks_for_bf16
from vecchess.snn.modules.fused_layer import EPSILON, FusedJob, FusedOutput
from vecchess.snn.modules.lif_triton import block_of, by_step
from vecchess.snn.modules.neuron import LifOutput, Spikes
from vecchess.snn.modules.norm_lif_kernels import (
    moments,
    norm_backward,
    norm_lif_backward,
    norm_lif_forward,
)

SQUARES = 16
"""Squares of a board that a program takes."""
PARTS = NUM_SQUARES // SQUARES


class Tiles(NamedTuple):
    """How [T, B, 8, 8, C] is divided among programs."""

    parts: int
    """Programs."""
    parts_of_group: int
    num_channels: int
    shape: dict[str, int]
    """STEPS, SQUARES, ROWS and LANES of the kernels."""

    @classmethod
    def of(cls, currents: Tensor, group: int) -> "Tiles":
        """For groups of ``group`` boards."""
        num_steps, num_boards, *_, num_channels = currents.shape
        lanes = triton.next_power_of_2(num_channels)
        rows = min(SQUARES, max(1, block_of(num_steps) // lanes))
        shape = {"STEPS": num_steps, "SQUARES": SQUARES, "ROWS": rows, "LANES": lanes}
        return cls(num_boards * PARTS, group * PARTS, num_channels, shape)

    def by_channel(self, like: Tensor) -> Tensor:
        """Room for a number of each part and channel."""
        return torch.empty(self.parts, self.num_channels, device=like.device)

    def grouped(self, parts: Tensor) -> tuple[Tensor, Tensor]:
        """float32[parts, C] -> float64[groups, parts of a group, C], 0 where a group has fewer, and
        float64[groups, parts of a group, 1], whether there is a part."""
        num_groups = -(-self.parts // self.parts_of_group)
        lacking = num_groups * self.parts_of_group - self.parts
        padded = functional.pad(parts.double(), (0, 0, 0, lacking))
        is_part = torch.arange(len(padded), device=parts.device) < self.parts
        shape = (num_groups, self.parts_of_group, -1)
        return padded.view(shape), is_part.double().view(shape)


class _NormLif(Function):
    """Currents [T, B, 8, 8, C], weight and bias [C], shortcut [T or 1, ...], membranes -> currents
    with their shortcut (or [0]), spikes, membranes, rate, mean and variance [groups, C]."""

    @staticmethod
    def forward(
        ctx: Any,
        currents: Tensor,
        weight: Tensor,
        bias: Tensor,
        shortcut: Tensor | None,
        membrane: Tensor,
        job: FusedJob,
        kind: torch.dtype,
    ) -> tuple[Tensor, ...]:
        currents, membrane = by_step(currents), membrane.contiguous()
        tiles = Tiles.of(currents, job.group)
        mean, variance = _statistics(currents, tiles)
        inverse = torch.rsqrt(variance + EPSILON)
        gain = (weight * inverse).float()
        offset = (bias - mean * gain).float()
        num, step_of_shortcut = membrane.numel(), 0
        if shortcut is not None:
            shortcut = by_step(shortcut)
            step_of_shortcut = shortcut.stride(0) if len(shortcut) > 1 else 0
        wanted = 0 if shortcut is None else len(currents)
        summed = torch.empty(wanted, *currents.shape[1:], device=currents.device)
        spikes = torch.empty(currents.shape, dtype=kind, device=currents.device)
        after = torch.empty_like(membrane)
        counts = torch.empty(tiles.parts, dtype=torch.int32, device=currents.device)
        with torch.cuda.device_of(currents):
            norm_lif_forward[(tiles.parts,)](
                currents, shortcut, gain, offset, membrane, None if shortcut is None else summed,
                spikes, after, counts, currents.stride(0), step_of_shortcut, num,
                tiles.num_channels, tiles.parts_of_group, GRID_BITS=job.grid_bits,
                enable_fp_fusion=False, **tiles.shape,
            )  # fmt: skip
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(currents, shortcut, gain, offset, membrane, mean, inverse)
        ctx.job, ctx.tiles = job, tiles
        rate = (counts.sum(dtype=torch.float64) / max(1, spikes.numel())).float()
        ctx.mark_non_differentiable(mean, variance)
        return summed, spikes, after, rate, mean, variance

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        of_summed, of_spikes, of_after, of_rate = gradients[:4]
        currents, shortcut, gain, offset, membrane, mean, inverse = ctx.saved_tensors
        job, tiles, num = ctx.job, ctx.tiles, membrane.numel()
        of_summed = None if shortcut is None or of_summed is None else by_step(of_summed)
        of_spikes = None if of_spikes is None else by_step(of_spikes)
        of_after = None if of_after is None else of_after.contiguous()
        share = None if of_rate is None else of_rate / max(1, currents.numel())
        of_sums = torch.empty(currents.shape, device=currents.device)
        of_bias, of_gain = (tiles.by_channel(currents) for _ in range(2))
        of_before = torch.empty_like(membrane) if ctx.needs_input_grad[4] else None
        strides = [
            0 if tensor is None or len(tensor) == 1 else tensor.stride(0)
            for tensor in (currents, shortcut, of_spikes, of_summed)
        ]
        with torch.cuda.device_of(currents):
            norm_lif_backward[(tiles.parts,)](
                currents, shortcut, gain, offset, mean.float(), membrane, of_spikes, share,
                of_after, of_summed, of_sums, of_bias, of_gain, of_before, *strides, num,
                tiles.num_channels, tiles.parts_of_group, GRID_BITS=job.grid_bits,
                KIND=job.surrogate.number, SLOPE=job.surrogate.slope, enable_fp_fusion=False,
                **tiles.shape,
            )  # fmt: skip
        first, is_part = tiles.grouped(of_bias)
        sums, apart = first.sum(1), tiles.grouped(of_gain)[0].sum(1) * inverse
        num_sums = is_part.sum(1) * SQUARES * len(currents)
        slope = -gain * inverse * apart / num_sums
        shift = -gain * sums / num_sums - slope * mean
        of_currents = torch.empty_like(currents)
        with torch.cuda.device_of(currents):
            norm_backward[(tiles.parts,)](
                currents, of_sums, gain, slope.float(), shift.float(), of_currents,
                currents.stride(0), num, tiles.num_channels, tiles.parts_of_group, **tiles.shape,
            )  # fmt: skip
        of_affine = apart.sum(0).float(), sums.sum(0).float()
        return of_currents, *of_affine, _of_shortcut(shortcut, of_sums), of_before, None, None


def _of_shortcut(shortcut: Tensor | None, of_sums: Tensor) -> Tensor | None:
    """Its gradient, of that of what the neurons got."""
    if shortcut is None:
        return None
    return of_sums.sum(0, keepdim=True) if len(shortcut) < len(of_sums) else of_sums


def norm_lif_triton(
    currents: Tensor,
    affine: tuple[Tensor, Tensor],
    shortcut: Tensor | None,
    membrane: Tensor,
    job: FusedJob,
) -> FusedOutput:
    """Ghost norm in training, shortcut and neurons: as the norm and ``lif_triton``, but for
    rounding.

    currents: [T, B, 8, 8, C] of any floating type; affine: weight and bias of the norm [C];
    shortcut: float32[T or 1, B, 8, 8, C]; membrane: float32[B, 8, 8, C]. Spikes are numbers, of
    16 bits where autocast asks for bfloat16. Needs a CUDA device, or Triton's interpreter.
    """
    kind = torch.bfloat16 if asks_for_bf16(currents.device.type) else torch.float32
    summed, spikes, after, rate, mean, variance = _NormLif.apply(  # type: ignore[no-untyped-call]
        currents, *affine, shortcut, membrane, job, kind
    )
    return FusedOutput(summed, LifOutput(Spikes(spikes), after, rate), mean, variance)


def _statistics(currents: Tensor, tiles: Tiles) -> tuple[Tensor, Tensor]:
    """Mean and variance, float64[groups, C]: those of parts put together (Chan, Golub & LeVeque
    1979)."""
    means, squares = (tiles.by_channel(currents) for _ in range(2))
    with torch.cuda.device_of(currents):
        moments[(tiles.parts,)](
            currents, means, squares, currents.stride(0), tiles.num_channels, **tiles.shape
        )
    grouped, is_part = tiles.grouped(means)
    count, size = is_part.sum(1), SQUARES * len(currents)
    mean = grouped.sum(1) / count
    between = ((grouped - mean[:, None]).square() * is_part).sum(1) * size
    return mean, (tiles.grouped(squares)[0].sum(1) + between) / (count * size)
