"""Ghost norm, shortcut and LIF neurons of a layer on an NVIDIA GPU, in one pass.

Behind a convolution every neuron and step would be read and written by the statistics, the norm,
the sum with the shortcut and the neuron, one after the other. Here statistics read the currents
once; then a current is read, normalised, added to its shortcut and fired without leaving registers.
Currents may be bfloat16, as autocast makes them; all sums are float32. The backward makes the
currents anew, and gradients of the norm's statistics are one more product and sum.

A program takes SQUARES squares of a board, ROWS at a time, and LANES channels, a power of two. Its
sums, one for each channel, belong to one group; they are added up in float64, in one order.

Decision 280.
"""

# mypy: disable-error-code="no-untyped-def,misc"

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional

from vecchess.shapes import NUM_SQUARES
from vecchess.snn.modules.bf16_products import asks_for_bf16
from vecchess.snn.modules.fused_layer import EPSILON, FusedJob, FusedOutput
from vecchess.snn.modules.lif_triton import block_of, by_step, charge, derivative, discharge
from vecchess.snn.modules.neuron import LifOutput, Spikes, share_of


@triton.jit
def moments(
    currents, means, squares, step, num_channels,
    STEPS: tl.constexpr, SQUARES: tl.constexpr, ROWS: tl.constexpr, LANES: tl.constexpr,
):  # fmt: skip
    """Mean of each channel over a part, and squared distances from it; grid: parts.

    currents: [T, parts * SQUARES, C], ``step`` numbers apart; means, squares: float32[parts, C].
    """
    part = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, LANES)
    is_channel = lanes < num_channels
    begin = currents + part * SQUARES * num_channels + lanes[None, :]
    begin += tl.arange(0, ROWS)[:, None] * num_channels
    mask = is_channel[None, :] & (tl.arange(0, ROWS)[:, None] >= 0)
    total = tl.zeros((ROWS, LANES), tl.float32)
    for tile in range(SQUARES // ROWS):
        source = begin + tile * ROWS * num_channels
        for _ in tl.static_range(STEPS):
            total += tl.load(source, mask=mask, other=0.0).to(tl.float32)
            source += step
    mean = tl.sum(total, axis=0) / (STEPS * SQUARES)
    total = tl.zeros((ROWS, LANES), tl.float32)
    for tile in range(SQUARES // ROWS):
        source = begin + tile * ROWS * num_channels
        for _ in tl.static_range(STEPS):
            apart = tl.load(source, mask=mask, other=0.0).to(tl.float32) - mean[None, :]
            total += apart * apart
            source += step
    tl.store(means + part * num_channels + lanes, mean, mask=is_channel)
    tl.store(squares + part * num_channels + lanes, tl.sum(total, axis=0), mask=is_channel)


@triton.jit
def norm_lif_forward(
    currents, shortcut, gain, bias, before, summed, spikes, after, counts,
    step, step_of_shortcut, num, num_channels, parts_of_group,
    STEPS: tl.constexpr, GRID_BITS: tl.constexpr, SQUARES: tl.constexpr, ROWS: tl.constexpr,
    LANES: tl.constexpr,
):  # fmt: skip
    """Normed currents, with a shortcut, through LIF neurons over T steps; grid: parts.

    In: currents [T, num], ``step`` numbers apart; shortcut float32[T, num] or None; gain, bias:
    float32[groups, C]; before: float32[num]. Out: summed float32[T, num], what the neurons got,
    where there is a shortcut; spikes [T, num]; after float32[num]; counts int32[parts].
    """
    part = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, LANES)
    of_channel = part // parts_of_group * num_channels + lanes
    gains = tl.load(gain + of_channel, mask=lanes < num_channels, other=0.0)[None, :]
    biases = tl.load(bias + of_channel, mask=lanes < num_channels, other=0.0)[None, :]
    mask = (lanes < num_channels)[None, :] & (tl.arange(0, ROWS)[:, None] >= 0)
    count = tl.zeros((ROWS, LANES), tl.int32)
    for tile in range(SQUARES // ROWS):
        rows = part * SQUARES + tile * ROWS + tl.arange(0, ROWS)
        at = rows[:, None] * num_channels + lanes[None, :]
        source, target, added, written = currents + at, spikes + at, shortcut, summed
        if shortcut is not None:
            added += at
            written += at
        membrane = tl.load(before + at, mask=mask, other=0.0)
        for _ in tl.static_range(STEPS):
            current = tl.load(source, mask=mask, other=0.0).to(tl.float32) * gains + biases
            if shortcut is not None:
                current = tl.load(added, mask=mask, other=0.0) + current
                tl.store(written, current, mask=mask)
                added += step_of_shortcut
                written += num
            charged, excess = charge(membrane, current, GRID_BITS)
            fired = (excess > 0.0) & mask
            tl.store(target, fired.to(tl.float32).to(spikes.dtype.element_ty), mask=mask)
            count += fired.to(tl.int32)
            membrane = discharge(charged, excess)
            source += step
            target += num
        tl.store(after + at, membrane, mask=mask)
    tl.store(counts + part, tl.sum(tl.sum(count, axis=0), axis=0))


@triton.jit
def charged_anew(
    currents, shortcut, before, at, mask, gains, biases, step, step_of_shortcut,
    STEPS: tl.constexpr, GRID_BITS: tl.constexpr,
):  # fmt: skip
    """What of T steps' membranes was above the threshold, of the neurons ``at``."""
    membrane = tl.load(before + at, mask=mask, other=0.0)
    excesses = ()
    for _ in tl.static_range(STEPS):
        current = tl.load(currents + at, mask=mask, other=0.0).to(tl.float32) * gains + biases
        currents += step
        if shortcut is not None:
            current = tl.load(shortcut + at, mask=mask, other=0.0) + current
            shortcut += step_of_shortcut
        charged, excess = charge(membrane, current, GRID_BITS)
        excesses = excesses + (excess,)  # type: ignore[assignment]  # noqa: RUF005
        membrane = discharge(charged, excess)
    return excesses


@triton.jit
def gone_back(
    excesses, carried, currents, middle, of_spikes, share, of_summed, of_sums, at, mask,
    step, step_of_spikes, step_of_summed, num,
    STEPS: tl.constexpr, KIND: tl.constexpr, SLOPE: tl.constexpr,
):  # fmt: skip
    """Gradients of T steps into of_sums; returns, of the neurons ``at``, their sum over the steps,
    that of them times the currents' distance from the mean, and what membranes before get."""
    total, product = tl.zeros_like(carried), tl.zeros_like(carried)
    last = tl.full((), STEPS - 1, tl.int64)
    for back in tl.static_range(STEPS):
        now = last - back
        gradient = tl.zeros_like(carried)
        if of_spikes is not None:
            upstream = of_spikes + now * step_of_spikes + at
            gradient += tl.load(upstream, mask=mask, other=0.0).to(tl.float32)
        if share is not None:
            gradient += tl.load(share)
        gradient = gradient * derivative(excesses[STEPS - 1 - back], KIND, SLOPE) + carried
        carried = gradient * 0.5
        if of_summed is not None:
            gradient += tl.load(of_summed + now * step_of_summed + at, mask=mask, other=0.0)
        gradient = tl.where(mask, gradient, 0.0)
        tl.store(of_sums + now * num + at, gradient, mask=mask)
        current = tl.load(currents + now * step + at, mask=mask, other=0.0).to(tl.float32)
        total += gradient
        product += gradient * (current - middle)
    return total, product, carried


@triton.jit
def norm_lif_backward(
    currents, shortcut, gain, bias, mean, before, of_spikes, share, of_after, of_summed,
    of_sums, of_bias, of_gain, of_before,
    step, step_of_shortcut, step_of_spikes, step_of_summed, num, num_channels, parts_of_group,
    STEPS: tl.constexpr, GRID_BITS: tl.constexpr, KIND: tl.constexpr, SLOPE: tl.constexpr,
    SQUARES: tl.constexpr, ROWS: tl.constexpr, LANES: tl.constexpr,
):  # fmt: skip
    """Gradients of what the neurons got, back through time, and their sums; grid: parts.

    In: as the forward, mean float32[groups, C], and as ``lif_backward``; of_summed [T, num], of the
    result. Out: of_sums float32[T, num]; for each part and channel of_bias, the sum of these, and
    of_gain, that of them times the currents' distance from the mean; of_before float32[num].
    Pointers of what is not there are None.
    """
    part = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, LANES)
    is_channel = lanes < num_channels
    of_channel = part // parts_of_group * num_channels + lanes
    gains = tl.load(gain + of_channel, mask=is_channel, other=0.0)[None, :]
    biases = tl.load(bias + of_channel, mask=is_channel, other=0.0)[None, :]
    middle = tl.load(mean + of_channel, mask=is_channel, other=0.0)[None, :]
    mask = is_channel[None, :] & (tl.arange(0, ROWS)[:, None] >= 0)
    total = tl.zeros((ROWS, LANES), tl.float32)
    product = tl.zeros((ROWS, LANES), tl.float32)
    for tile in range(SQUARES // ROWS):
        rows = part * SQUARES + tile * ROWS + tl.arange(0, ROWS)
        at = rows[:, None] * num_channels + lanes[None, :]
        excesses = charged_anew(
            currents, shortcut, before, at, mask, gains, biases, step, step_of_shortcut,
            STEPS, GRID_BITS,
        )  # fmt: skip
        carried = tl.zeros((ROWS, LANES), tl.float32)
        if of_after is not None:
            carried += tl.load(of_after + at, mask=mask, other=0.0)
        added, multiplied, carried = gone_back(
            excesses, carried, currents, middle, of_spikes, share, of_summed, of_sums, at, mask,
            step, step_of_spikes, step_of_summed, num, STEPS, KIND, SLOPE,
        )  # fmt: skip
        total, product = total + added, product + multiplied
        if of_before is not None:
            tl.store(of_before + at, carried, mask=mask)
    at = part * num_channels + lanes
    tl.store(of_bias + at, tl.sum(total, axis=0), mask=is_channel)
    tl.store(of_gain + at, tl.sum(product, axis=0), mask=is_channel)


@triton.jit
def norm_backward(
    currents, of_sums, gain, slope, offset, of_currents, step, num, num_channels, parts_of_group,
    STEPS: tl.constexpr, SQUARES: tl.constexpr, ROWS: tl.constexpr, LANES: tl.constexpr,
):  # fmt: skip
    """of_currents [T, num] = of_sums * gain + currents * slope + offset; grid: parts.

    gain, slope, offset: float32[groups, C]; of_currents is of the currents' type.
    """
    part = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, LANES)
    of_channel = part // parts_of_group * num_channels + lanes
    gains = tl.load(gain + of_channel, mask=lanes < num_channels, other=0.0)[None, :]
    slopes = tl.load(slope + of_channel, mask=lanes < num_channels, other=0.0)[None, :]
    offsets = tl.load(offset + of_channel, mask=lanes < num_channels, other=0.0)[None, :]
    mask = (lanes < num_channels)[None, :] & (tl.arange(0, ROWS)[:, None] >= 0)
    for tile in range(SQUARES // ROWS):
        rows = part * SQUARES + tile * ROWS + tl.arange(0, ROWS)
        at = rows[:, None] * num_channels + lanes[None, :]
        source, upstream, target = currents + at, of_sums + at, of_currents + at
        for _ in tl.static_range(STEPS):
            current = tl.load(source, mask=mask, other=0.0).to(tl.float32)
            gradient = tl.load(upstream, mask=mask, other=0.0)
            found = gradient * gains + current * slopes + offsets
            tl.store(target, found.to(of_currents.dtype.element_ty), mask=mask)
            source += step
            upstream += num
            target += num


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
        """Tiles for groups of ``group`` boards."""
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
        rate = share_of(counts.sum(), spikes.numel())
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
        share = None if of_rate is None else share_of(of_rate, currents.numel())
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
