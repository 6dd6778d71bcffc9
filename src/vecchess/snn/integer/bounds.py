"""The proof that a network is exact: an interval for every value it can ever produce.

Inputs lie between 0 and a limit (1 for planes and spikes), so a sum lies between the limit times
the negative and the limit times the positive weights of its row, whatever is on and in whatever
order it is added. From there currents, the residual stream, membranes over T steps and accumulators
follow by interval arithmetic. float32 holds every integer below 2^24 (IEEE 754, 24 bits of
significand), so when all bounds stay below it, float32 and int32 give the same bits in any order.

Decisions 10 and 17.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.planes import board_planes, reads_moves
from vecchess.errors import NetworkError
from vecchess.snn.integer.integer_net import IntegerNet, Layer, describe, move_currents
from vecchess.snn.presets import NetConfig
from vecchess.snn.topology import (
    MOVES,
    hidden_layers,
    input_bits,
    input_limit,
    reads_activations,
)

EXACT_LIMIT = 1 << 24
"""The first magnitude that float32 may round, in units of 2^-F."""
INT16_LIMIT = 1 << 15

Interval = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Lowest and highest value per channel, units 2^-F."""


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
        """True when no input can take the value out of range."""
        return self.bound < self.limit


@dataclass(frozen=True)
class BoundsReport:
    """All bounds of a network, in forward order."""

    bounds: tuple[Bound, ...]
    leak_exact: bool
    int16_sums: bool
    """True when int16 holds the weighted sums (before the shift) of stem and hidden layers."""

    @property
    def exact(self) -> bool:
        """True when the network gives the same bits on any device, in any order."""
        return all(bound.exact for bound in self.bounds)

    def largest(self, quantity: str, of: Callable[[str], bool] = lambda layer: True) -> int:
        """The largest magnitude ``quantity`` can reach in any layer for which ``of`` holds."""
        found = (b.bound for b in self.bounds if b.quantity == quantity and of(b.layer))
        return max(found, default=0)

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


def check_bounds(net: IntegerNet) -> BoundsReport:
    """Walk the network as the forward does, with intervals in place of values."""
    config, layers = net.config, net.layers
    bounds: list[Bound] = []
    walk = _Walk(config, layers, bounds)
    before = current = walk.current("stem")
    for layer in hidden_layers(config):
        walk.neurons(layer.name, current)
        new = walk.current(layer.name)
        if layer.adds:
            new = before[0] + new[0], before[1] + new[1]
            bounds.append(_worst(layer.name, "residual stream", new))
        before, current = current, new
    walk.neurons("heads", current)
    if "value.squeeze" in layers:
        walk.neurons("value.outcome", walk.current("value.squeeze"))
    for head in ("policy", "value.outcome"):
        low, high = walk.current(head)
        if head == "policy" and MOVES in layers:
            of_moves = np.append(move_currents(net), [layers[MOVES].grid_bias(config)[0], 0])
            bounds.append(_worst(MOVES, "current", (of_moves, of_moves)))
            low, high = low + of_moves.min(), high + of_moves.max()
        total = config.time_steps * low, config.time_steps * high
        bounds.append(_worst(head, "accumulator over T steps", total))
    return BoundsReport(tuple(bounds), config.leak_exact, _fits_int16(config, layers))


def net_facts(net: IntegerNet) -> dict[str, Any]:
    """Facts about ``net`` that need no forward, ready for JSON."""
    facts = describe(net)
    facts |= {"sha256": net.sha256, "weights": net.num_weights}
    num_planes = net.config.num_planes
    facts |= {"board_planes": board_planes(num_planes), "move_inputs": reads_moves(num_planes)}
    return facts | {"leak_exact": net.config.leak_exact, "exact": check_bounds(net).exact}


def _fits_int16(config: NetConfig, layers: dict[str, Layer]) -> bool:
    """True when every partial sum of every layer of the tower fits int16."""
    names = ["stem", *(layer.name for layer in hidden_layers(config))]
    sums = (_sums(layers[name], input_limit(config, name)) for name in names)
    return all(max(-low.min(), high.max()) < INT16_LIMIT for low, high in sums)


def _sums(layer: Layer, input_limit: int) -> Interval:
    """Interval of the weighted sum in the row's own units, 2^-(shift + input_bits)."""
    weight = layer.weight.astype(np.int64) * input_limit
    return np.minimum(weight, 0).sum(axis=1), np.maximum(weight, 0).sum(axis=1)


@dataclass(frozen=True)
class _Walk:
    """Intervals layer by layer; every bound met on the way is noted."""

    config: NetConfig
    layers: dict[str, Layer]
    bounds: list[Bound]

    def current(self, name: str) -> Interval:
        """Interval of the current and of partial sums, where the bias comes first, last or not."""
        config, layer = self.config, self.layers[name]
        bits = input_bits(config, name)
        scale = np.int64(1) << (config.grid_bits - layer.shift.astype(np.int64))
        bias = layer.grid_bias(config)
        low, high = _sums(layer, input_limit(config, name))
        if bits:  # the sum before it is rounded down to the grid
            self.bounds.append(_worst(name, "sum", (low, high)))
        low, high = low * scale >> bits, high * scale >> bits
        interval = low + np.minimum(bias, 0), high + np.maximum(bias, 0)
        self.bounds.append(_worst(name, "current", interval))
        return interval

    def neurons(self, name: str, current: Interval) -> None:
        """Bound the neurons in front of layer ``name``; clipped ReLUs have no membrane."""
        if not reads_activations(self.config, name):
            _membrane(self.config, name, current, self.bounds)


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
