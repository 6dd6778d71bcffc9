"""A network as integers: what is stored, hashed, proved exact and deployed. numpy only.

Every layer maps integer inputs, units 2^-b, to currents on the grid of 2^-F (F = ``grid_bits``):

    current[o] = (sum over i of weight[o, i] * input[i]) << (F - shift[o]) >> b
               + (bias[o] << (F - weight_bits))

The shift to the right is arithmetic: it rounds down. Spikes and planes are 0 or 1 and b is 0.

    layer               inputs K                      outputs O
    stem                9 * planes (tap, plane)       C
    block<i>.first      9 * C   (tap, channel)        C
    block<i>.second     9 * C   (tap, channel)        C
    policy              C                             73 move planes
    value.squeeze       C                             value_channels
    value.outcome       64 * value_channels           3: win, draw, loss
                        (square, channel)
    moves               38                            1: is added to the policy of a move
                        (a one for each of the four   at every step, where the network reads
                        numbers, ``move_inputs``)     inputs of moves

The ReLU twin is the same with activations min(max(x, 0) >> (F - 6), 127) for spikes, b = 6; with a
graded readout so are policy and value.squeeze of a spiking network.
A plain network has conv<i> (9 * widths[i - 1] -> widths[i]) for blocks, and its heads, policy
(C -> 4672) and value.outcome (C -> 3), read the number of spikes on the board, b = 6: the mean.

A tap is (rank step + 1) * 3 + (file step + 1), each step -1, 0 or 1: where the input square lies
as seen from the output square. Squares off the board are silent.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.move_inputs import SIZES
from vecchess.errors import NetworkError
from vecchess.safe_parse import clip_line
from vecchess.shapes import NUM_OUTCOMES, NUM_SQUARES
from vecchess.snn.presets import NetConfig
from vecchess.snn.topology import MOVES

SCHEMA = 1
NEVER = 255
"""``min_steps`` of the rule by which no position leaves before T."""
NO_DRIFT_LIMIT = -1
MOST = 1 << 40
"""Beyond every accumulator; the products of ``inference.exit_rule`` stay below 2^63."""


@dataclass(frozen=True)
class ExitRule:
    """Thresholds in accumulator units (2^-F)."""

    min_steps: int = 2
    """Fewest time steps, 1 to 254; 255 means never before T."""
    policy_margin: int = 0
    """Margin of the best legal move over the second, per step; 0 asks for none."""
    best_move_unchanged: bool = True
    """The best legal move is that of the step before."""
    value_drift: int | None = None
    """Most that win, draw or loss per step may have moved in the last step; None asks nothing."""

    def __post_init__(self) -> None:
        if not 1 <= self.min_steps <= NEVER:
            raise NetworkError(f"exit rule: min_steps {self.min_steps} is not within 1..{NEVER}")
        if self.policy_margin < 0 or (self.value_drift is not None and self.value_drift < 0):
            raise NetworkError("exit rule: policy_margin and value_drift cannot be negative")

    @classmethod
    def never(cls) -> Self:
        """Every position takes all T steps."""
        return cls(min_steps=NEVER)

    @classmethod
    def from_metadata(cls, stored: dict[str, Any] | None) -> Self:
        """The rule stored with a network, the default one if None; ``NetworkError`` if unknown."""
        try:
            rule = cls() if stored is None else cls(**stored)
        except TypeError as error:
            raise NetworkError(f"exit rule not understood: {clip_line(stored)}") from error
        drift = 0 if rule.value_drift is None else rule.value_drift
        numbers = (rule.min_steps, rule.policy_margin, drift)
        are_numbers = all(type(number) is int and number <= MOST for number in numbers)
        if not are_numbers or type(rule.best_move_unchanged) is not bool:
            raise NetworkError(f"exit rule not understood: {clip_line(stored)}")
        return rule

    def to_metadata(self) -> dict[str, Any]:
        """What a network file stores."""
        return asdict(self)

    @property
    def first_exit(self) -> int:
        """The step before which no position leaves, but for those with one legal move."""
        compares = self.best_move_unchanged or self.value_drift is not None
        return max(self.min_steps, 2) if compares else self.min_steps

    def as_integers(self) -> NDArray[np.int64]:
        """int64[4] for the kernel: min_steps, policy_margin, best_move_unchanged, value_drift."""
        drift = NO_DRIFT_LIMIT if self.value_drift is None else self.value_drift
        unchanged = int(self.best_move_unchanged)
        return np.array([self.min_steps, self.policy_margin, unchanged, drift], np.int64)


@dataclass(frozen=True)
class Layer:
    """weight: int8[O, K], shift: uint8[O] (k of 2^-k), bias: int32[O] (units 2^-weight_bits)."""

    weight: NDArray[np.int8]
    shift: NDArray[np.uint8]
    bias: NDArray[np.int32]

    def floats(self, config: NetConfig) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Weight [O, K] and bias [O] as exact real numbers."""
        units = np.exp2(-self.shift.astype(np.float32))[:, None]
        weight: NDArray[np.float32] = np.multiply(self.weight, units, dtype=np.float32)
        return weight, self.bias.astype(np.float32) * np.float32(2.0**-config.weight_bits)

    def left_shift(self, config: NetConfig) -> NDArray[np.int32]:
        """int32[O]: what a sum in units of 2^-k is shifted by to be in units of 2^-F."""
        return (config.grid_bits - self.shift.astype(np.int32)).astype(np.int32)

    def grid_bias(self, config: NetConfig) -> NDArray[np.int64]:
        """int64[O]: the bias in units of 2^-F; int32 holds that of an exact network."""
        return self.bias.astype(np.int64) << (config.grid_bits - config.weight_bits)


@dataclass(frozen=True)
class IntegerNet:
    """Layers by name, in forward order, and what turns accumulators into logits.

    logit after t steps = accumulator / t * scale; scales are float64 and include 2^-F.
    ``exit_rule`` holds the fields of an ``ExitRule``, None those of the default one;
    ``calibration`` (how the rule was found, and what it costs) is for people.
    """

    config: NetConfig
    layers: dict[str, Layer]
    policy_scale: float
    value_scale: float
    exit_rule: dict[str, Any] | None = field(default=None)
    calibration: dict[str, Any] | None = field(default=None, compare=False)

    @cached_property
    def sha256(self) -> str:
        """Hash of description and tensors: networks with the same hash give the same answers."""
        text = json.dumps(describe(self), sort_keys=True, separators=(",", ":"))
        digest = hashlib.sha256(text.encode())
        for name, tensor in tensors_of(self).items():
            digest.update(f"{name}:{tensor.dtype.str}:{tensor.shape}".encode())
            digest.update(np.ascontiguousarray(tensor).tobytes())
        return digest.hexdigest()

    @property
    def num_weights(self) -> int:
        """Synapses and biases together."""
        return sum(layer.weight.size + layer.bias.size for layer in self.layers.values())


def with_value_channels(squeeze: Layer, outcome: Layer, values: int) -> tuple[Layer, Layer]:
    """The layers before and behind the value's neurons, with silent ones added: ``values`` in all.

    squeeze: weight [V, C]; outcome: weight [3, 64 * V].
    """
    missing = values - len(squeeze.weight)
    by_square = outcome.weight.reshape(NUM_OUTCOMES, NUM_SQUARES, -1)
    filled = np.pad(by_square, ((0, 0), (0, 0), (0, missing))).reshape(NUM_OUTCOMES, -1)
    return (
        Layer(
            np.pad(squeeze.weight, ((0, missing), (0, 0))),
            np.pad(squeeze.shift, (0, missing)),
            np.pad(squeeze.bias, (0, missing)),
        ),
        Layer(filled, outcome.shift, outcome.bias),
    )


def move_currents(net: IntegerNet) -> NDArray[np.int64]:
    """int64[codes]: what a move of each code adds to its policy in a step, units 2^-F; empty where
    the network does not read inputs of moves. int32 holds those of an exact network."""
    if MOVES not in net.layers:
        return np.empty(0, np.int64)
    layer, config = net.layers[MOVES], net.config
    weights = layer.weight[0].astype(np.int64) << layer.left_shift(config)[0]
    return np.asarray(picked_sums(weights) + layer.grid_bias(config)[0])


def picked_sums(weights: NDArray[Any]) -> NDArray[Any]:
    """int[38] -> int[codes]: the sum of the weights that the four numbers of each code pick."""
    total = np.zeros(1, weights.dtype)
    for values in np.split(weights, np.cumsum(SIZES)[:-1]):  # the first number changes fastest
        total = np.add.outer(values, total).ravel()
    return total


def describe(net: IntegerNet) -> dict[str, Any]:
    """The description that, with the tensors, determines all answers, for JSON."""
    return {
        "schema": SCHEMA,
        "config": net.config.facts(),
        "policy_scale": net.policy_scale,
        "value_scale": net.value_scale,
        "exit_rule": net.exit_rule,
    }


def tensors_of(net: IntegerNet) -> dict[str, NDArray[Any]]:
    """``<layer>.weight|shift|bias`` -> array, in forward order."""
    return {
        f"{name}.{part}": getattr(layer, part)
        for name, layer in net.layers.items()
        for part in ("weight", "shift", "bias")
    }
