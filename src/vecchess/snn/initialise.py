"""A new network, fitted layer by layer to real positions, in integers: same bits everywhere.

Weights are bell-shaped integers from a counter (Philox); each output channel is scaled so that its
current has a chosen spread on the calibration positions, its mean is taken out, and one common
bias a layer is found by bisection so that the neurons behind it fire at ``RATE``; clipped ReLUs are
left at the mean. What batch norm
does in training is thereby already in the weights (data-dependent initialisation, Kraehenbuehl et
al. 2016, with the spike rate added), and no layer starts dead or saturated.

Sums of integers are done as float32 matrix products, which are exact below 2^24 (float64 for
activations, whose sums are larger); apart from them there are only integers and single correctly
rounded float64 operations.

Decision 18.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.unpack_planes import unpack_planes
from vecchess.errors import ConfigError
from vecchess.shapes import NUM_ACTIONS
from vecchess.snn.integer.bounds import INT16_LIMIT, check_bounds
from vecchess.snn.integer.integer_net import IntegerNet, Layer
from vecchess.snn.modules.rate_coding import coded_input
from vecchess.snn.presets import (
    ACTIVATION_BITS,
    ACTIVATION_LIMIT,
    WEIGHT_LIMIT,
    NetConfig,
)
from vecchess.snn.topology import (
    MOVES,
    hidden_layers,
    input_bits,
    layer_shapes,
    reads_activations,
    stem_planes,
)

RATE = 0.10
"""Spikes per neuron and time step that a new layer is set to."""
LOGIT_SPREAD = 0.8
"""Standard deviation of a position's policy logits in a new network."""
VALUE_SPREAD = 0.3
"""Standard deviation of a win, draw or loss logit over positions."""
FITTED_POSITIONS = 16
"""Positions, at least, that the bisection looks at; the spread of a current is taken from all."""

Ints = NDArray[np.int64]
Spikes = NDArray[np.floating]
"""float32[T, B, 8, 8, C] of 0 and 1, or float64 of activations 0 to 127."""


def new_network(config: NetConfig, seed: int, calibration_planes: NDArray[np.uint64]) -> IntegerNet:
    """A fresh network of these sizes, the same on every machine for the same arguments.

    calibration_planes: uint64[B, P] of B real positions (64 or more make good statistics).
    Raises ``ConfigError`` for a wrong P, ``NetworkError`` if it cannot be exact.
    """
    if calibration_planes.ndim != 2 or len(calibration_planes) == 0 or not 0 <= seed < 2**64:
        raise ConfigError("a new network needs planes of some positions and a seed below 2^64")
    num_planes = calibration_planes.shape[1]
    if config.num_planes != num_planes:
        raise ConfigError(f"network has {config.num_planes} planes, positions have {num_planes}")
    fit = _Fit(config, seed, {})
    current = _fit_tower(fit, _coded(config, calibration_planes[:, : stem_planes(config)]))
    spikes = neuron_outputs(config, current, "heads")
    if config.kind == "plain":
        spikes = spikes.sum(axis=(2, 3), keepdims=True)
    gain = _fit_policy(fit, spikes)
    _fit_value(fit, spikes)
    if MOVES in layer_shapes(config):
        fit.layers[MOVES] = blank_moves(config)
    unit = 1.0 / (1 << config.grid_bits)
    layers = {name: fit.layers[name] for name in layer_shapes(config)}
    net = IntegerNet(config, layers, policy_scale=gain * unit, value_scale=unit)
    check_bounds(net).require_exact()
    return net


def blank_moves(config: NetConfig) -> Layer:
    """The layer of the inputs of moves, with weights of 0: they say nothing as yet."""
    weight = np.zeros(layer_shapes(config)[MOVES], np.int8)
    shift = np.full(1, config.weight_bits, np.uint8)
    return Layer(weight, shift, np.zeros(1, np.int32))


def _coded(config: NetConfig, planes: NDArray[np.uint64]) -> Spikes:
    """Input of the stem: float32[1, B, 8, 8, P], or [T, ...] where it changes with time."""
    steps = coded_input(config, planes).reshape(-1, *planes.shape)
    return np.stack([np.moveaxis(unpack_planes(step), 1, 3) for step in steps])


def neuron_outputs(config: NetConfig, current: Ints, reader: str) -> Spikes:
    """The neurons in front of layer ``reader`` (or of "heads"), in integers, over the first axis of
    ``current: int64[T, ...]`` (units 2^-F)."""
    if reads_activations(config, reader):
        positive = np.maximum(current, 0) >> (config.grid_bits - ACTIVATION_BITS)
        activations: Spikes = np.minimum(positive, ACTIVATION_LIMIT).astype(np.float64)
        return activations
    return _leaky(config, current)


def _leaky(config: NetConfig, current: Ints) -> Spikes:
    """LIF from rest."""
    threshold = 1 << config.grid_bits
    membrane = np.zeros_like(current[0])
    spikes = np.empty(current.shape, np.float32)
    for t in range(len(current)):
        limit = threshold << (membrane > threshold)
        membrane = (membrane >> 1) + current[t]
        spikes[t] = membrane > limit
        membrane -= (membrane > limit) * threshold
    return spikes


@dataclass
class _Fit:
    """The network so far."""

    config: NetConfig
    seed: int
    layers: dict[str, Layer]

    def centred(self, name: str, inputs: Spikes, spread: float) -> Ints:
        """Add layer ``name`` with zero-mean currents of the given spread; its currents (2^-F)."""
        names = list(layer_shapes(self.config))
        shape = layer_shapes(self.config)[name]
        bell = bell_weights(self.seed, names.index(name), shape)
        bits = input_bits(self.config, name)
        factor = (spread * (1 << bits)) / _spread(_sums(inputs[-1:], bell))
        weight, shift = _scaled(bell, factor, self.config)
        current = _sums(inputs, weight) << (self.config.grid_bits - shift.astype(np.int64)) >> bits
        bias = -(_mean(current) >> (self.config.grid_bits - self.config.weight_bits))
        self.layers[name] = Layer(weight, shift, bias.astype(np.int32))
        return current + self._on_grid(bias)

    def firing(self, name: str, current: Ints, reader: str, stream: Ints | None = None) -> Ints:
        """Shift layer ``name`` until LIF(current + stream) fires at ``RATE``; the new sum.

        reader: the layer that reads the neurons. Clipped ReLUs are left at their zero mean.
        """
        total = current if stream is None else current + stream
        total = np.broadcast_to(total, (self.config.time_steps, *total.shape[1:]))
        if reads_activations(self.config, reader):
            return total
        sample = total[:, :: max(1, total.shape[1] // FITTED_POSITIONS)]

        def rate(shift: int) -> float:
            spikes = _leaky(self.config, sample + self._on_grid(np.int64(shift)))
            return int(np.count_nonzero(spikes)) / spikes.size

        one = 1 << self.config.weight_bits
        shift = _bisect(rate, -8 * one, 8 * one)
        layer = self.layers[name]
        bias = (layer.bias + shift).astype(np.int32)
        self.layers[name] = Layer(layer.weight, layer.shift, bias)
        return total + self._on_grid(np.int64(shift))

    def _on_grid(self, bias: Ints | np.int64) -> Ints | np.int64:
        return bias << (self.config.grid_bits - self.config.weight_bits)


def _fit_tower(fit: _Fit, planes: Spikes) -> Ints:
    """Stem and hidden layers; returns the currents int64[T, B, 8, 8, C] before the heads.

    A block adds 1 / blocks of the variance of x0, so the depth doubles it, no more.
    """
    hidden = hidden_layers(fit.config)
    readers = [*(layer.name for layer in hidden), "heads"]
    before = current = fit.firing("stem", fit.centred("stem", planes, 1.0), readers[0])
    for layer, reader in zip(hidden, readers[1:], strict=True):
        spread = 1.0 / np.sqrt(fit.config.blocks) if layer.adds else 1.0
        spikes = neuron_outputs(fit.config, current, layer.name)
        new = fit.centred(layer.name, spikes, spread)
        stream = before if layer.adds else None
        before, current = current, fit.firing(layer.name, new, reader, stream)
    return current


def _fit_policy(fit: _Fit, spikes: Spikes) -> float:
    """The policy head; returns the gain that gives logits of ``LOGIT_SPREAD``."""
    current = fit.centred("policy", spikes, 1.0)
    moves = current.sum(axis=0).reshape(-1, NUM_ACTIONS).T
    unit = fit.config.time_steps << fit.config.grid_bits
    variances = np.square(_spread(moves) / unit)
    gain = LOGIT_SPREAD / np.sqrt(np.sort(variances)[len(variances) // 2])
    return float(np.float32(gain))


def _fit_value(fit: _Fit, spikes: Spikes) -> None:
    if fit.config.kind == "residual":
        current, reader = fit.centred("value.squeeze", spikes, 1.0), "value.outcome"
        fired = neuron_outputs(fit.config, fit.firing("value.squeeze", current, reader), reader)
        spikes = fired.reshape(*fired.shape[:2], 1, 1, -1)
    fit.centred("value.outcome", spikes, VALUE_SPREAD)


def bell_weights(seed: int, stream: int, shape: tuple[int, int]) -> NDArray[np.int16]:
    """int16[O, K]: sums of four uniform bytes, centred (standard deviation 147.8)."""
    size = shape[0] * shape[1]
    generator = np.random.Philox(key=np.array([seed, stream], np.uint64))
    words = generator.random_raw(-(-size // 2)).astype("<u8")
    quarters = words.view(np.uint8).reshape(-1, 4)[:size]
    bell: NDArray[np.int16] = quarters.sum(axis=1, dtype=np.int16) - np.int16(510)
    return bell.reshape(shape)


def _sums(inputs: Spikes, weight: NDArray[np.integer]) -> Ints:
    """Weighted sums int64[T, B, H, W, O]; K of the weight tells 3x3 taps from plain channels."""
    wide = weight.T.astype(inputs.dtype)
    taps = weight.shape[1] // inputs.shape[-1]
    sums = np.empty((*inputs.shape[:-1], weight.shape[0]), np.int64)
    for step, into in zip(inputs, sums, strict=True):
        read = _patches(step) if taps == 9 else step
        # One product of matrices: a stack of products, a rank of a board each, takes twice as long.
        into[...] = (read.reshape(-1, len(wide)) @ wide).reshape(into.shape)
    return sums


def _patches(step: NDArray[np.floating]) -> NDArray[np.floating]:
    """[B, 8, 8, I] -> [B, 8, 8, 9 * I], tap by tap; 0 beyond the edge of the board."""
    padded = np.pad(step, ((0, 0), (1, 1), (1, 1), (0, 0)))
    return np.concatenate(
        [padded[:, r : r + 8, f : f + 8] for r in range(3) for f in range(3)], axis=-1
    )


def _mean(values: Ints) -> Ints:
    """Mean per channel, rounded down."""
    flat = values.reshape(-1, values.shape[-1])
    mean: Ints = flat.sum(axis=0) // len(flat)
    return mean


def _spread(values: Ints) -> NDArray[np.float64]:
    """Standard deviation per channel, at least 1 unit; sums in integers, so free of order."""
    flat = values.reshape(-1, values.shape[-1])
    squares = np.square(flat - _mean(values)).sum(axis=0)
    spread: NDArray[np.float64] = np.sqrt(np.maximum(squares / len(flat), 1.0))
    return spread


def _scaled(
    bell: NDArray[np.int16], factor: NDArray[np.float64], config: NetConfig
) -> tuple[NDArray[np.int8], NDArray[np.uint8]]:
    """Weights bell * factor[O] as int8[O, K] * 2^-shift[O], on the finest grid on which a weight
    fits int8 and, whatever spikes, the sum of a row int16 (rounding may add half a unit each)."""
    real = bell * factor[:, None]
    largest = np.abs(bell).max(axis=1) * factor
    sides = np.maximum(bell.clip(min=0).sum(axis=1), -bell.clip(max=0).sum(axis=1)) * factor
    powers = 2.0 ** np.arange(1, config.weight_bits + 1)
    fits = (largest[:, None] * powers <= WEIGHT_LIMIT) & (
        sides[:, None] * powers < INT16_LIMIT - bell.shape[1] / 2
    )
    shift = fits.sum(axis=1)
    weight = np.clip(np.rint(real * (2.0**shift)[:, None]), -WEIGHT_LIMIT, WEIGHT_LIMIT)
    return weight.astype(np.int8), shift.astype(np.uint8)


def _bisect(rate: Callable[[int], float], low: int, high: int) -> int:
    """The largest shift in [low, high) whose rate does not exceed ``RATE``."""
    while high - low > 1:
        middle = (low + high) // 2
        if rate(middle) > RATE:
            high = middle
        else:
            low = middle
    return low
