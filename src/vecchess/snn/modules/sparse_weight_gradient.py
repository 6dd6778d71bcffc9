"""The gradient of weights that spikes pass through, on the processor: a sum over spikes only."""

import torch
from torch import Tensor

from vecchess.snn.kernels.parallel_for import parallel_for
from vecchess.snn.kernels.sparse_sums import add_weight_gradients

PART = 128
"""Boards whose weight gradients are summed up first: fixed, so that the number of threads does not
change the order of summation."""


def weight_gradient(bits: Tensor, upstream: Tensor, reach: int) -> Tensor:
    """float32[O, taps * I] of a layer that hears spikes.

    bits: int64[n, I], bitboards; upstream: float32[..., 8, 8, O] of n boards, contiguous, the
    gradient of the sums; reach: 1 for 3x3 taps, 0 for one; (2 * reach + 1) * O is a multiple of 96.
    """
    num_inputs, num_outputs = bits.shape[1], upstream.shape[-1]
    num_parts, taps = -(-len(bits) // PART), (2 * reach + 1) ** 2
    padded = torch.zeros(num_parts, (8 + 2 * reach) ** 2 * num_outputs)
    sums = torch.zeros(num_parts, num_inputs * taps * num_outputs)
    read = bits.numpy().view("u8"), upstream.view(len(bits), -1).numpy(), reach, PART
    written = padded.numpy(), sums.numpy()
    parallel_for(lambda begin, end: add_weight_gradients(*read, begin, end, *written), num_parts)
    by_channel = sums.sum(0).view(num_inputs, taps, num_outputs).flip(1)
    return by_channel.permute(2, 1, 0).flatten(1)
