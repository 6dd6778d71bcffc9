"""3x3 convolutions over boards [..., 8, 8, I], three ways, with the weights [O, 9 * I] of a layer.

``gathered``: one matrix product over patches. Exact for weights, spikes and activations on their
grids, in any order of summation, on every device.
``convolve``: torch's convolution. On the processor that is oneDNN's direct algorithm, which sums
products as they are and so is exact too (tested); a GPU's may be Winograd's, which is not.
``convolve_planes``: the same for few inputs of 0 and 1 on the processor, with a weight gradient
that reads the ones only. For packed spikes there is ``sparse_convolution``.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional

from vecchess.snn.kernels.parallel_for import parallel_for
from vecchess.snn.kernels.sparse_sums import (
    GRADIENT_WIDTH,
    TOGETHER,
    add_weight_gradients,
    pack_boards,
)
from vecchess.snn.kernels.winograd import GAP, KERNEL, PLACES, TILES, convolve_boards
from vecchess.snn.presets import LANES
from vecchess.snn.topology import NUM_TAPS

PART = 128
"""Boards whose weight gradients are summed first: fixed, so that the number of threads does not
change the order of summation."""


def patches(boards: Tensor) -> Tensor:
    """[..., 8, 8, I] -> [..., 8, 8, 9 * I], tap by tap, squares off the board silent."""
    padded = functional.pad(boards, (0, 0, 1, 1, 1, 1))
    taps = [padded[..., r : r + 8, f : f + 8, :] for r in range(3) for f in range(3)]
    return torch.cat(taps, dim=-1)


def gathered(boards: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """[..., 8, 8, I] -> [..., 8, 8, O] by a matrix product."""
    return functional.linear(patches(boards), weight, bias)


def convolve(boards: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """[..., 8, 8, I] -> [..., 8, 8, O] by torch's convolution; channels stay last in memory."""
    flat = boards.reshape(-1, 8, 8, boards.shape[-1]).permute(0, 3, 1, 2)
    kernel = weight.unflatten(1, (3, 3, -1)).permute(0, 3, 1, 2)
    kernel = kernel.contiguous(memory_format=torch.channels_last)
    sums = functional.conv2d(flat, kernel, bias, padding=1)
    return sums.permute(0, 2, 3, 1).reshape(*boards.shape[:-1], len(weight))


def convolve_planes(boards: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """[..., 8, 8, I] of 0 and 1 -> [..., 8, 8, O], on the processor, float32."""
    return _ConvolvePlanes.apply(  # type: ignore[no-untyped-call, no-any-return]
        boards, weight, bias
    )


class _ConvolvePlanes(Function):
    """``convolve`` of float32 spikes; keeps a bit of each for the backward."""

    @staticmethod
    def forward(ctx: Any, boards: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(_packed(boards), weight)
        return convolve(boards, weight, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor, Tensor | None]:
        bits, weight = ctx.saved_tensors
        upstream = gradients[0].contiguous()
        of_boards = convolve_back(upstream, weight) if ctx.needs_input_grad[0] else None
        of_bias = upstream.flatten(0, -2).sum(0) if ctx.needs_input_grad[2] else None
        return of_boards, weight_gradient(bits, upstream, reach=1), of_bias


def convolve_back(upstream: Tensor, weight: Tensor, in_pairs: bool = False) -> Tensor:
    """The gradient [..., 8, 8, I] of the inputs of ``convolve``, given that of its sums: float32 on
    the processor, contiguous; O is a multiple of 32. in_pairs: by products of bfloat16."""
    boards, kernel = upstream.detach().view(-1, 64 * len(weight)), transformed(weight, in_pairs)
    gradient = torch.empty(*upstream.shape[:-1], kernel.shape[2])
    read, out = (boards.numpy(), kernel), gradient.view(len(boards), -1).numpy()

    def work(begin: int, end: int) -> None:
        convolve_boards(*read, begin, end, *winograd_blocks(kernel), out)

    parallel_for(work, len(boards))
    return gradient[..., : weight.shape[1] // NUM_TAPS]


def transformed(weight: Tensor, in_pairs: bool = False) -> Any:
    """word[36, O, I] of ``weight: [O, 9 * I]``, as ``convolve_boards`` reads it for the gradient of
    the inputs; I filled up to a multiple of 32. in_pairs: of bfloat16, else float32."""
    taps = weight.detach().unflatten(1, (NUM_TAPS, -1)).transpose(0, 1)
    taps = functional.pad(taps, (0, -taps.shape[2] % LANES))
    kernel = torch.from_numpy(KERNEL[:, ::-1].astype("f4")) @ taps.flatten(1)
    kernel = kernel.view(PLACES, *taps.shape[1:])
    if not in_pairs:
        return kernel.numpy()
    pairs = kernel.bfloat16().unflatten(1, (-1, 2)).transpose(2, 3).contiguous()
    return pairs.view(torch.int16).numpy().view("u2").reshape(kernel.shape)


def winograd_blocks(kernel: Any) -> list[Any]:
    """Two arrays for ``convolve_boards`` to work in."""
    tiles, sums = (torch.zeros(PLACES, TILES * size + GAP) for size in kernel.shape[1:])
    words = tiles if kernel.dtype == np.float32 else tiles.short()
    return [words.numpy().view(kernel.dtype), sums.numpy()]


def by_tap(weight: Tensor, bias: Tensor | None, taps: int) -> tuple[Any, Any]:
    """float32[taps * I * O] in the order tap, input, output of ``weight: [O, taps * I]``, and
    float32[O], as ``sum_boards`` reads them."""
    ordered = weight.detach().unflatten(1, (taps, -1)).permute(1, 2, 0).contiguous()
    start = torch.zeros(len(weight)) if bias is None else bias.detach().contiguous()
    return ordered.view(-1).numpy(), start.numpy()


def by_input(sums: Tensor) -> Tensor:
    """[O, taps * I] of sums of ``add_weight_gradients``, [O / GRADIENT_WIDTH, I, taps,
    GRADIENT_WIDTH], taps from the last to the first."""
    return sums.flip(2).permute(0, 3, 2, 1).reshape(sums.shape[0] * sums.shape[3], -1)


def _packed(boards: Tensor) -> Tensor:
    """[..., 8, 8, I] -> int64[n, I]: a bitboard per board and channel."""
    values = boards.detach().contiguous().view(-1, 64, boards.shape[-1])
    bits = torch.empty(len(values), boards.shape[-1], dtype=torch.int64)
    arrays = values.numpy(), bits.numpy().view("u8")
    parallel_for(lambda begin, end: pack_boards(arrays[0], begin, end, arrays[1]), len(values))
    return bits


def weight_gradient(bits: Tensor, upstream: Tensor, reach: int) -> Tensor:
    """float32[O, taps * I] of a layer whose inputs are spikes.

    bits: int64[n, I], bitboards; upstream: float32[..., 8, 8, O] of n boards, contiguous, the
    gradient of the sums; reach: 1 for 3x3 taps, 0 for one; O is a multiple of 32.
    """
    num_inputs, num_outputs = bits.shape[1], upstream.shape[-1]
    num_parts, taps = -(-len(bits) // PART), (2 * reach + 1) ** 2
    padded = torch.zeros(num_parts, TOGETHER, (8 + 2 * reach) ** 2 * GRADIENT_WIDTH)
    words = np.empty((num_parts, TOGETHER), np.uint64)
    blocks = num_outputs // GRADIENT_WIDTH
    sums = torch.zeros(num_parts, blocks, num_inputs, taps, GRADIENT_WIDTH)
    read = bits.numpy().view("u8"), upstream.view(len(bits), -1).numpy(), reach, PART
    written = padded.numpy(), words, sums.numpy()
    parallel_for(lambda begin, end: add_weight_gradients(*read, begin, end, *written), num_parts)
    return by_input(sums.sum(0))
