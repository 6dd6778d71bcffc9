"""The neuron of ``modules/neuron.py`` over all time steps, on an NVIDIA GPU: Triton kernels.

A torch operator reads and writes every neuron; a step of a leaky neuron takes about ten of them,
and their gradients again as many. Here a neuron is read once a step and its membrane stays in a
register. The backward stores only the inputs of the forward: it charges the neuron again, holds
the T excesses in registers, and goes back through them.

Same operations in the same order as ``fire``, none of them contracted to a fused multiply-add:
the same bits, but for the last place of ``sigmoid``'s exponential, and a floor to which subnormal
numbers are 0. Triton is imported here, and this file only where there is a GPU or its interpreter.

Decisions 94 and 278.
"""

# mypy: disable-error-code="no-untyped-def,misc"

import math
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd import Function
from triton.language.extra import libdevice

from vecchess.snn.kernels import surrogate as known
from vecchess.snn.kernels.surrogate import Surrogate
from vecchess.snn.modules.bf16_products import asks_for_bf16
from vecchess.snn.modules.neuron import LifOutput, Spikes, share_of

ATAN = tl.constexpr(known.ATAN)
FAST_SIGMOID = tl.constexpr(known.FAST_SIGMOID)
SIGMOID = tl.constexpr(known.SIGMOID)
TRIANGLE = tl.constexpr(known.TRIANGLE)
HALF_PI = tl.constexpr(math.pi / 2)
INTERPRETED = tl.constexpr(triton.knobs.runtime.interpret)
THREADS = 128
"""Threads of a program: four warps."""
MOST_KEPT = 64
"""Excesses that a thread of the backward holds in registers, of the 255 it may have."""


@triton.jit
def charge(membrane, current, GRID_BITS: tl.constexpr):
    """One step: the charged membrane, and what of it is above the threshold."""
    scale: tl.constexpr = 2.0 ** (GRID_BITS - 1)
    unit: tl.constexpr = 2.0**-GRID_BITS
    limit = tl.where(membrane > 1.0, 2.0, 1.0)
    charged = tl.floor(membrane * scale) * unit + current
    return charged, charged - limit


@triton.jit
def discharge(charged, excess):
    """The membrane after its reset, if there was a spike."""
    return tl.where(excess > 0.0, charged - 1.0, charged)


@triton.jit
def exponential(x):
    """exp with the bits of torch on this device; Triton's own is an approximation."""
    return tl.exp(x) if INTERPRETED else libdevice.exp(x)


@triton.jit
def derivative(excess, KIND: tl.constexpr, SLOPE: tl.constexpr):
    """``Surrogate.derivative``; a number over a tensor is, in torch, the reciprocal times it."""
    half: tl.constexpr = SLOPE / 2
    if KIND == ATAN:
        steep: tl.constexpr = HALF_PI * SLOPE
        x = excess * steep
        slope = tl.div_rn(1.0, x * x + 1.0) * half
    elif KIND == FAST_SIGMOID:
        x = tl.abs(excess) * SLOPE + 1.0
        slope = tl.div_rn(1.0, x * x)
    elif KIND == SIGMOID:
        falling = exponential(tl.abs(excess) * -SLOPE)
        x = falling + 1.0
        slope = tl.div_rn(falling * SLOPE, x * x)
    elif KIND == TRIANGLE:
        height = 1.0 - tl.abs(excess) * SLOPE
        slope = tl.where(height < 0.0, 0.0, height) * SLOPE
    else:
        reach: tl.constexpr = 0.5 / SLOPE
        slope = tl.where(tl.abs(excess) < reach, SLOPE, 0.0)
    return slope


@triton.jit
def lif_forward(
    currents, before, spikes, after, counts, step, num,
    STEPS: tl.constexpr, GRID_BITS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """LIF over T steps of N neurons; grid: N / BLOCK.

    currents: float32[T, N], ``step`` numbers apart (0: the same at every step); before, after:
    float32[N] membranes; spikes: float32 or bfloat16 [T, N], 0 or 1; counts: int32[programs],
    their number.
    """
    neurons = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = neurons < num
    source, target = currents + neurons, spikes + neurons
    membrane = tl.load(before + neurons, mask=mask, other=0.0)
    count = tl.zeros((BLOCK,), tl.int32)
    for _ in tl.static_range(STEPS):
        charged, excess = charge(membrane, tl.load(source, mask=mask, other=0.0), GRID_BITS)
        fired = excess > 0.0
        tl.store(target, fired.to(tl.float32).to(spikes.dtype.element_ty), mask=mask)
        count += fired.to(tl.int32)
        membrane = discharge(charged, excess)
        source += step
        target += num
    tl.store(after + neurons, membrane, mask=mask)
    tl.store(counts + tl.program_id(0), tl.sum(count, axis=0))


@triton.jit
def lif_backward(
    currents, before, of_spikes, share, of_after, of_currents, of_before,
    step, step_of_spikes, num,
    STEPS: tl.constexpr, GRID_BITS: tl.constexpr, KIND: tl.constexpr, SLOPE: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Gradients back through time; the reset is detached, the floor passes them on.

    In: of_spikes [T, N] of the spikes' type, ``step_of_spikes`` numbers apart; share: float32[1],
    what every spike gets besides; of_after: float32[N]. Out: of_currents float32[T, N]; of_before
    float32[N]. A pointer may be None.
    """
    neurons = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = neurons < num
    membrane = tl.load(before + neurons, mask=mask, other=0.0)
    source = currents + neurons
    kept = ()
    for _ in tl.static_range(STEPS):
        charged, excess = charge(membrane, tl.load(source, mask=mask, other=0.0), GRID_BITS)
        kept = kept + (excess,)  # type: ignore[assignment]  # noqa: RUF005
        membrane = discharge(charged, excess)
        source += step
    carried = tl.zeros((BLOCK,), tl.float32)
    if of_after is not None:
        carried += tl.load(of_after + neurons, mask=mask, other=0.0)
    last = tl.full((), STEPS - 1, tl.int64)
    written = of_currents + neurons + last * num
    if of_spikes is not None:
        of_spikes += neurons + last * step_of_spikes
    for back in tl.static_range(STEPS):
        gradient = tl.zeros((BLOCK,), tl.float32)
        if of_spikes is not None:
            gradient += tl.load(of_spikes, mask=mask, other=0.0).to(tl.float32)
            of_spikes -= step_of_spikes
        if share is not None:
            gradient += tl.load(share)
        gradient = gradient * derivative(kept[STEPS - 1 - back], KIND, SLOPE) + carried
        tl.store(written, gradient, mask=mask)
        written -= num
        carried = gradient * 0.5
    if of_before is not None:
        tl.store(of_before + neurons, carried, mask=mask)


class _LifTriton(Function):
    """Currents [T, ...] and membrane [...] -> spikes, membrane and rate."""

    @staticmethod
    def forward(
        ctx: Any,
        currents: Tensor,
        membrane: Tensor,
        grid_bits: int,
        surrogate: Surrogate,
        kind: torch.dtype,
    ) -> tuple[Tensor, Tensor, Tensor]:
        currents, membrane = by_step(currents), membrane.contiguous()
        num_steps, num = len(currents), membrane.numel()
        block = block_of(num_steps)
        spikes = torch.empty(currents.shape, dtype=kind, device=currents.device)
        after = torch.empty_like(membrane)
        counts = torch.empty(triton.cdiv(num, block), dtype=torch.int32, device=currents.device)
        with torch.cuda.device_of(currents):
            lif_forward[(len(counts),)](
                currents, membrane, spikes, after, counts, currents.stride(0), num,
                STEPS=num_steps, GRID_BITS=grid_bits, BLOCK=block, enable_fp_fusion=False,
            )  # fmt: skip
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(currents, membrane)
        ctx.grid_bits, ctx.surrogate = grid_bits, surrogate
        rate = share_of(counts.sum(), spikes.numel())
        return spikes, after, rate

    @staticmethod
    def backward(
        ctx: Any, *gradients: Tensor | None
    ) -> tuple[Tensor | None, Tensor | None, None, None, None]:
        of_spikes, of_after, of_rate = gradients
        if of_spikes is None and of_after is None and of_rate is None:
            return None, None, None, None, None
        currents, membrane = ctx.saved_tensors
        num_steps, num = len(currents), membrane.numel()
        of_currents = torch.empty(currents.shape, device=currents.device)
        of_before = torch.empty_like(membrane) if ctx.needs_input_grad[1] else None
        share = None if of_rate is None else share_of(of_rate, currents.numel())
        of_spikes = None if of_spikes is None else by_step(of_spikes)
        of_after = None if of_after is None else of_after.contiguous()
        strides = currents.stride(0), 0 if of_spikes is None else of_spikes.stride(0)
        block = block_of(num_steps)
        with torch.cuda.device_of(currents):
            lif_backward[(triton.cdiv(num, block),)](
                currents, membrane, of_spikes, share, of_after, of_currents, of_before,
                *strides, num,
                STEPS=num_steps, GRID_BITS=ctx.grid_bits, KIND=ctx.surrogate.number,
                SLOPE=ctx.surrogate.slope, BLOCK=block, enable_fp_fusion=False,
            )  # fmt: skip
        return of_currents, of_before, None, None, None


def lif_triton(
    currents: Tensor, membrane: Tensor, grid_bits: int, surrogate: Surrogate
) -> LifOutput:
    """``lif`` on a GPU by kernels of ours: the same bits.

    currents: [T, ...] of any floating type and layout, first axis broadcast or not; membrane:
    float32[...]. Where autocast asks for bfloat16 the next layer would round spikes, and their
    gradient, to it: they are of that type here. Needs a CUDA device, or Triton's interpreter.
    """
    kind = torch.bfloat16 if asks_for_bf16(currents.device.type) else torch.float32
    fired = _LifTriton.apply(  # type: ignore[no-untyped-call]
        currents.float(), membrane, grid_bits, surrogate, kind
    )
    return LifOutput(Spikes(fired[0]), *fired[1:])


def by_step(currents: Tensor) -> Tensor:
    """[T, ...] with the numbers of each step contiguous; steps may share their memory."""
    return currents if currents[0].is_contiguous() else currents.contiguous()


def block_of(num_steps: int) -> int:
    """Neurons of a program: as many a thread as its registers hold, at most four."""
    padded: int = triton.next_power_of_2(num_steps)
    return THREADS * max(1, min(4, MOST_KEPT // padded))
