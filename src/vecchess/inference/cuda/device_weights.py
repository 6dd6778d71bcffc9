"""The network as the kernels read it. Shapes depend on the sizes only, so weights swap in place."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vecchess.shapes import NUM_OUTCOMES, NUM_SQUARES
from vecchess.snn.integer.integer_net import IntegerNet, Layer, move_currents, with_value_channels
from vecchess.snn.presets import NetConfig
from vecchess.snn.topology import NUM_TAPS, hidden_layers, stem_planes

PLANES_MULTIPLE = 32
"""Input planes are padded to a multiple of this, see ``heads.PLANES_AT_ONCE``."""
LEAST_VALUES = 16
"""Fewest columns of the value layer: matrix units take no fewer."""

Arrays = dict[str, NDArray[np.generic]]


class DeviceWeights:
    """``<part>_weight`` int8, ``<part>_shift`` and ``<part>_bias`` int32 tensors on one device.

    part      weight                               shift (F - k) and bias (units 2^-F)
    stem      [9, C, P padded]                     [C]
    tower     [2 * blocks, 9, C, C]                [2 * blocks, C]
    policy    [73, C]                              [73]
    squeeze   [V padded, C]                        [V padded]
    outcome   [3, 64, V padded]                    [3]

    Output-major: the inputs of one output neuron lie side by side. Padding is zero: silent.
    """

    def __init__(self, net: IntegerNet, device: torch.device) -> None:
        """Copy ``net`` to ``device``."""
        self._tensors = {
            name: torch.from_numpy(array).to(device) for name, array in pack(net).items()
        }

    def load(self, net: IntegerNet) -> None:
        """Take the weights of another network of the same sizes into the same memory."""
        for name, array in pack(net).items():
            self._tensors[name].copy_(torch.from_numpy(array))

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return sum(tensor.nbytes for tensor in self._tensors.values())

    @property
    def of_moves(self) -> Tensor:
        """int32[codes]: what a move adds to its policy by its inputs; empty where none are read."""
        return self._tensors["of_moves"]

    def of(self, part: str) -> tuple[Tensor, Tensor, Tensor]:
        """Weight, shift and bias of ``part``."""
        tensors = self._tensors
        return tensors[f"{part}_weight"], tensors[f"{part}_shift"], tensors[f"{part}_bias"]


def padded_values(config: NetConfig) -> int:
    """V rounded up to the power of two that kernels use."""
    return max(LEAST_VALUES, 1 << (config.value_channels - 1).bit_length())


def pack(net: IntegerNet) -> Arrays:
    """All arrays of ``DeviceWeights``, by name."""
    config, layers = net.config, net.layers
    tower = [layers[hidden.name] for hidden in hidden_layers(config)]
    values = padded_values(config)
    squeeze, outcome = with_value_channels(layers["value.squeeze"], layers["value.outcome"], values)
    missing = -stem_planes(config) % PLANES_MULTIPLE
    arrays: dict[str, tuple[NDArray[np.generic], list[Layer]]] = {
        "stem": (np.pad(_by_tap(layers["stem"]), ((0, 0), (0, 0), (0, missing))), [layers["stem"]]),
        "tower": (np.stack([_by_tap(layer) for layer in tower]), tower),
        "policy": (layers["policy"].weight, [layers["policy"]]),
        "squeeze": (squeeze.weight, [squeeze]),
        "outcome": (outcome.weight.reshape(NUM_OUTCOMES, NUM_SQUARES, values), [outcome]),
    }
    packed: Arrays = {}
    for part, (weight, sources) in arrays.items():
        packed[f"{part}_weight"] = np.array(weight, np.int8, order="C")
        for name, of_layer in (("shift", Layer.left_shift), ("bias", Layer.grid_bias)):
            rows = np.stack([of_layer(layer, config) for layer in sources], dtype=np.int32)
            packed[f"{part}_{name}"] = rows if part == "tower" else rows[0]
    packed["of_moves"] = move_currents(net).astype(np.int32)
    return packed


def _by_tap(layer: Layer) -> NDArray[np.int8]:
    """int8[9, O, I] from int8[O, (tap, I)]."""
    taps = layer.weight.reshape(len(layer.weight), NUM_TAPS, -1)
    return np.ascontiguousarray(taps.transpose(1, 0, 2))
