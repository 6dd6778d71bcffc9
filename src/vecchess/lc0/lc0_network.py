"""lc0's residual networks in plain torch."""

from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from vecchess.lc0.lc0_moves import conv_places
from vecchess.lc0.weights_file import Affine, Lc0Weights
from vecchess.networks.step_function import exact_convolutions
from vecchess.shapes import NUM_OUTCOMES

Layer2 = tuple[Tensor, Tensor]
"""Weights and biases."""
IMPOSSIBLE = -1000.0
"""Logit of an outcome that never comes: a draw, for networks with one number as value."""


class Lc0Network:
    """Answers many positions at a time in float32, without gradients."""

    def __init__(self, weights: Lc0Weights, device: str = "cpu") -> None:
        """Compute ``weights`` on ``device``, "cpu" or "cuda:<n>"."""
        dense = partial(_dense, device)
        conv = partial(_convolution, device)
        self._device = device
        self._activate = functional.mish if weights.is_mish else functional.relu
        self._stem = conv(weights.stem, 3)
        self._blocks = [
            (conv(block.first, 3), conv(block.second, 3), [dense(layer) for layer in block.squeeze])
            for block in weights.blocks
        ]
        first, second = weights.policy
        self._places: Tensor | None = None
        if weights.has_conv_policy:
            self._places = torch.from_numpy(conv_places()).to(device)
            self._policy = conv(first, 3), conv(second, 3)
        else:
            self._policy = conv(first, 1), dense(second)
        value, hidden, outcome = weights.value
        self._value = conv(value, 1), dense(hidden), dense(outcome)

    @torch.inference_mode()
    def answers(self, planes: NDArray[np.float32]) -> tuple[NDArray[np.float32], ...]:
        """Logits of moves and outcomes: ``float32[B, 112, 64] -> float32[B, 1858], [B, 3]``.

        Outcomes are win, draw and loss of the side to move, moves in lc0's order (``lc0_moves``).
        """
        boards = torch.from_numpy(planes).view(len(planes), -1, 8, 8).to(self._device)
        with exact_convolutions(self._device):
            x = self._tower(boards.contiguous(memory_format=torch.channels_last))
            policy, outcomes = self._moves(x), self._outcomes(x)
        return policy.cpu().numpy(), outcomes.cpu().numpy()

    def _tower(self, x: Tensor) -> Tensor:
        activate = self._activate
        x = activate(functional.conv2d(x, *self._stem, padding=1))
        for first, second, squeeze in self._blocks:
            y = activate(functional.conv2d(x, *first, padding=1))
            y = functional.conv2d(y, *second, padding=1)
            if squeeze:
                inner = activate(functional.linear(y.mean((2, 3)), *squeeze[0]))
                gates, biases = functional.linear(inner, *squeeze[1])[..., None, None].chunk(
                    2, dim=1
                )
                y = torch.sigmoid(gates) * y + biases
            x = activate(x + y)
        return x

    def _moves(self, x: Tensor) -> Tensor:
        first, second = self._policy
        if self._places is None:
            return functional.linear(_flat(self._activate(functional.conv2d(x, *first))), *second)
        planes = functional.conv2d(
            self._activate(functional.conv2d(x, *first, padding=1)), *second, padding=1
        )
        return _flat(planes)[:, self._places]

    def _outcomes(self, x: Tensor) -> Tensor:
        value, hidden, outcome = self._value
        y = self._activate(functional.conv2d(x, *value))
        y = functional.linear(self._activate(functional.linear(_flat(y), *hidden)), *outcome)
        if y.shape[1] == NUM_OUTCOMES:
            return y
        # tanh(y) is the win's share less the loss's where their logits are y and -y
        return torch.cat([y, torch.full_like(y, IMPOSSIBLE), -y], dim=1)


def _flat(x: Tensor) -> Tensor:
    """``[B, C, 8, 8] -> [B, C * 64]``, channel by channel."""
    return x.contiguous(memory_format=torch.contiguous_format).flatten(1)


def _convolution(device: str, layer: Affine, size: int) -> Layer2:
    weights, biases = _dense(device, layer)
    shaped = weights.view(len(biases), -1, size, size)
    return shaped.contiguous(memory_format=torch.channels_last), biases


def _dense(device: str, layer: Affine) -> Layer2:
    weights, biases = (
        torch.from_numpy(array.astype(np.float32)).to(device)
        for array in (layer.weights, layer.biases)
    )
    return weights, biases
