"""Sums of a folded layer on a GPU: products of bfloat16, added up in float32.

bfloat16 holds 8 bits of a number: weights int8 * 2^-k, spikes, activations of 7 bits and means
over a board fit, and the sums are the exact ones of float32 (decision 276). Gradients do not fit:
where autocast asks for bfloat16 they are rounded to it, else their products are of float32.
"""

from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from vecchess.snn.kernels.triton_support import LEAST_CAPABILITY
from vecchess.snn.modules.convolution import patches
from vecchess.snn.presets import ACTIVATION_LIMIT, WEIGHT_LIMIT
from vecchess.snn.topology import NUM_TAPS


def bf16_linear(
    inputs: Tensor, weight: Tensor, bias: Tensor | None, taps: int, rounds: bool
) -> Tensor:
    """``inputs`` [..., I] (taps 1) or boards [..., 8, 8, I] (taps 9) -> float32 [..., O].

    weight: [O, taps * I]; bias: float32[O]; inputs and weight are numbers that bfloat16 holds.
    rounds: gradients are products of bfloat16 too, of an upstream gradient rounded to it.
    """
    sums: Tensor = _Bf16Linear.apply(inputs, weight, taps, rounds)  # type: ignore[no-untyped-call]
    return sums if bias is None else sums + bias


class _Bf16Linear(Function):
    """Keeps inputs and weight in 16 bits; patches are made again for the weight's gradient."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, taps: int, rounds: bool) -> Tensor:
        inputs, weight = inputs.bfloat16(), weight.bfloat16()
        ctx.save_for_backward(inputs, weight)
        ctx.taps, ctx.kind = taps, torch.bfloat16 if rounds else torch.float32
        return products(_rows(inputs, taps), weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, None, None]:
        inputs, weight = (tensor.to(ctx.kind) for tensor in ctx.saved_tensors)
        upstream = gradients[0].to(ctx.kind)
        of_inputs = of_weight = None
        if ctx.needs_input_grad[0]:
            of_inputs = products(_rows(upstream, ctx.taps), _reversed(weight, ctx.taps))
        if ctx.needs_input_grad[1]:
            columns = _rows(inputs, ctx.taps).flatten(0, -2).t()
            of_weight = products(upstream.flatten(0, -2).t(), columns)
        return of_inputs, of_weight, None, None


def products(rows: Tensor, weight: Tensor) -> Tensor:
    """float32[..., O]: ``rows`` [..., K] times ``weight`` [O, K], both of one type.

    On the processor, for tests, products of bfloat16 are those of the same numbers in float32.
    """
    flat = rows.flatten(0, -2)
    if rows.dtype == torch.float32 or rows.device.type == "cpu":
        sums = torch.mm(flat.float(), weight.float().t())
    else:
        sums = torch.mm(flat, weight.t(), out_dtype=torch.float32)
    return sums.view(*rows.shape[:-1], len(weight))


@cache
def multiplies_exactly(device: torch.device) -> bool:
    """Whether ``device`` is a GPU with products of bfloat16 whose float32 sums are exact, as a
    trial tells."""
    if device.type != "cuda" or torch.version.hip:
        return False
    return torch.cuda.get_device_capability(device) >= LEAST_CAPABILITY and passes_trial(device)


@torch.no_grad()
def passes_trial(device: torch.device) -> bool:
    """Whether ``products`` of random activations and weights have the bits of float64's."""
    generator = torch.Generator().manual_seed(1)
    limits = (0, ACTIVATION_LIMIT + 1, (64, 1152)), (-WEIGHT_LIMIT, WEIGHT_LIMIT + 1, (128, 1152))
    rows, weight = (torch.randint(*limit, generator=generator).to(device) for limit in limits)
    found = products(rows.bfloat16(), weight.bfloat16())
    return torch.equal(found.double(), rows.double() @ weight.double().t())


def asks_for_bf16(device_type: str) -> bool:
    """Whether autocast for "cpu" or "cuda" is on and asks for bfloat16."""
    is_on = torch.is_autocast_enabled(device_type)
    return is_on and torch.get_autocast_dtype(device_type) is torch.bfloat16


def _rows(inputs: Tensor, taps: int) -> Tensor:
    return inputs if taps == 1 else patches(inputs)


def _reversed(weight: Tensor, taps: int) -> Tensor:
    """[I, taps * O] of ``weight`` [O, taps * I]: the layer from sums to inputs, whose taps point
    the other way."""
    assert taps in (1, NUM_TAPS)
    by_tap: Tensor = weight.unflatten(1, (taps, -1))
    return by_tap.flip(1).permute(2, 1, 0).flatten(1)
