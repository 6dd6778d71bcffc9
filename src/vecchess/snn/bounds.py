"""The proof that a network is exact: an interval for every value it can ever produce.

Inputs and spikes are 0 or 1, so a sum lies between the sum of the negative and the sum of the
positive weights of its row, whatever subset is on and in whatever order it is added. From there
currents, the residual stream, membranes over T steps and accumulators follow by interval
arithmetic. float32 holds every integer below 2^24 (IEEE 754, 24 bits of significand), so when all
bounds stay below it, float32 and int32 give the same bits in any order of summation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import NetworkError
from vecchess.snn.presets import NetConfig

EXACT_LIMIT = 1 << 24
"""In units of 2^-F: the first magnitude that float32 may round."""
INT16_LIMIT = 1 << 15

Interval = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Lowest and highest value per channel, units 2^-F."""


class Weights(Protocol):
    """What a layer has; see ``integer_net.Layer``."""

    @property
    def weight(self) -> NDArray[np.int8]: ...
    @property
    def shift(self) -> NDArray[np.uint8]: ...
    @property
    def bias(self) -> NDArray[np.int32]: ...


@dataclass(frozen=True)
class Bound:
    """The worst channel of one layer: |value| <= ``bound`` must be below ``limit`` (units 2^-F)."""

    layer: str
    quantity: str
    channel: int
    bound: int
    limit: int = EXACT_LIMIT

    @property
    def exact(self) -> bool:
        """True when no input whatsoever can take the value out of range."""
        return self.bound < self.limit


@dataclass(frozen=True)
class Report:
    """All bounds of a network, in forward order."""

    bounds: tuple[Bound, ...]
    leak_exact: bool
    int16_sums: bool
    """True when int16 holds the weighted sums (before the shift) of every 3x3 convolution."""

    @property
    def exact(self) -> bool:
        """True when the network gives the same bits on any device, in any order."""
        return all(bound.exact for bound in self.bounds)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        rows = [vars(bound) | {"exact": bound.exact} for bound in self.bounds]
        return {
            "schema": 1,
            "exact": self.exact,
            "leak_exact": self.leak_exact,
            "int16_sums": self.int16_sums,
            "bounds": rows,
        }

    def require_exact(self) -> None:
        """Raise ``NetworkError`` naming the worst layer and channel unless ``exact``."""
        worst = max(self.bounds, key=lambda bound: bound.bound / bound.limit)
        if not worst.exact:
            raise NetworkError(
                f"not exact: {worst.quantity} of layer {worst.layer}, channel {worst.channel}, "
                f"can reach {worst.bound}, {worst.bound / worst.limit:.2f} times the "
                f"limit {worst.limit}; lower its weights or grid_bits"
            )


def check_bounds(config: NetConfig, layers: Mapping[str, Weights]) -> Report:
    """Walk the network as the forward does, with intervals in place of values."""
    bounds: list[Bound] = []
    stream = _current(config, layers, "stem", bounds)
    for block in range(config.blocks):
        first, second = f"block{block}.first", f"block{block}.second"
        _membrane(config, f"{first} (input)", stream, bounds)
        _membrane(config, second, _current(config, layers, first, bounds), bounds)
        added = _current(config, layers, second, bounds)
        stream = stream[0] + added[0], stream[1] + added[1]
        bounds.append(_worst(second, "residual stream", stream))
    _membrane(config, "heads", stream, bounds)
    squeezed = _current(config, layers, "value.squeeze", bounds)
    _membrane(config, "value.outcome", squeezed, bounds)
    for head in ("policy", "value.outcome"):
        low, high = _current(config, layers, head, bounds)
        total = config.time_steps * low, config.time_steps * high
        bounds.append(_worst(head, "accumulator over T steps", total))
    return Report(tuple(bounds), config.leak_exact, fits_int16(layers))


def fits_int16(layers: Mapping[str, Weights]) -> bool:
    """Whether every partial sum of every 3x3 convolution fits int16."""
    convolutions = (layer for name, layer in layers.items() if name.startswith(("stem", "block")))
    return all(max(-low.min(), high.max()) < INT16_LIMIT for low, high in map(_sums, convolutions))


def _sums(layer: Weights) -> Interval:
    """Interval of the weighted sum in the row's own units, 2^-shift."""
    weight = layer.weight.astype(np.int64)
    return np.minimum(weight, 0).sum(axis=1), np.maximum(weight, 0).sum(axis=1)


def _current(
    config: NetConfig, layers: Mapping[str, Weights], name: str, bounds: list[Bound]
) -> Interval:
    """Interval of the current; the bias may be added first, last or not at all (partial sums)."""
    layer = layers[name]
    scale = np.int64(1) << (config.grid_bits - layer.shift.astype(np.int64))
    bias = layer.bias.astype(np.int64) << (config.grid_bits - config.weight_bits)
    low, high = _sums(layer)
    interval = low * scale + np.minimum(bias, 0), high * scale + np.maximum(bias, 0)
    bounds.append(_worst(name, "current", interval))
    return interval


def _membrane(config: NetConfig, name: str, current: Interval, bounds: list[Bound]) -> None:
    """Bound u over T steps of u = floor(v / 2) + x; v <- u - s; see ``neuron``."""
    threshold = np.int64(1) << config.grid_bits
    low = high = np.zeros_like(current[0])
    reached = low, high
    for _ in range(config.time_steps):
        low, high = (low >> 1) + current[0], (high >> 1) + current[1]
        # the comparison subtracts 1 or 2 from u
        reached = np.minimum(reached[0], low - 2 * threshold), np.maximum(reached[1], high)
        # a spike leaves v in (0, high - 1]; without one v = u, at most 2
        low = np.minimum(low, 0)
        high = np.maximum(np.minimum(high, 2 * threshold), high - threshold)
    bounds.append(_worst(name, "membrane", reached))


def _worst(layer: str, quantity: str, interval: Interval) -> Bound:
    magnitude = np.maximum(-interval[0], interval[1])
    channel = int(magnitude.argmax())
    return Bound(layer, quantity, channel, int(magnitude[channel]))
