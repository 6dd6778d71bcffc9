"""Chooses the kernel of each layer: events while few neurons spike, dense products when many do.

Both are timed when a network is opened, some milliseconds for each size of layer: events at two
densities, with a straight line through them; dense once. The choice is made again as spikes are
counted. Both kernels give the same bits, so only speed depends on it.

Decision 8.
"""

from functools import cache
from time import perf_counter_ns
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vecchess.inference.cpu.events import WORD, mask_words
from vecchess.inference.cpu.kernels import Sums, sum_layer
from vecchess.inference.cpu.neurons import PADDED_FILES
from vecchess.shapes import NUM_SQUARES
from vecchess.snn.presets import NetConfig
from vecchess.snn.topology import hidden_layers, neuron_layers

MEMBERS_TO_LEARN = 4096
"""Boards that take a step before the choice is made again."""
MARGIN = 0.95
"""A layer changes its kernel where the other is expected to take less than this share."""
SPARSE, FULL = 0.05, 0.40
"""Densities at which events are timed."""
BOARDS = 8
ROUNDS = 5


class KernelCosts(NamedTuple):
    """Nanoseconds a board: dense, and events at density d = ``silent + per_density * d``."""

    dense: float
    silent: float
    per_density: float

    def prefers_dense(self, density: float, is_dense: bool) -> bool:
        """The better kernel at ``density``, where the layer now takes dense or not."""
        events = self.silent + self.per_density * density
        return self.dense * MARGIN < events if is_dense else self.dense < events * MARGIN


class KernelChoice:
    """``is_dense: bool[N]`` for the convolutions of a network, the stem (always events) first."""

    def __init__(self, config: NetConfig, sums: Sums, dense: bool | None = None) -> None:
        """Events everywhere until spikes have been counted; ``dense`` fixes the choice."""
        self._sizes = neuron_layers(config)
        hidden = hidden_layers(config)
        self.is_dense = np.zeros(len(hidden) + 1, np.bool_)
        self._spikes = np.zeros(len(self._sizes), np.int64)
        self._members = self._members_then = 0
        self.costs: list[KernelCosts] = []
        if config.neuron == "relu":
            dense = True  # an activation is no event
        if dense is not None:
            self.is_dense[1:] = dense
        else:
            self.costs = [measure(layer.inputs, layer.outputs, sums) for layer in hidden]

    def learn(self, members: int, spikes_seen: list[NDArray[np.int64]]) -> None:
        """``members`` boards took a step; ``spikes_seen``: sums by neuron layer since the start."""
        self._members += members
        if self._members - self._members_then >= MEMBERS_TO_LEARN:
            self._choose(np.sum(spikes_seen, axis=0))

    def _choose(self, spikes: NDArray[np.int64]) -> None:
        sizes = np.array(list(self._sizes.values()))
        lately = (spikes - self._spikes) / (sizes * (self._members - self._members_then))
        self._spikes, self._members_then = spikes, self._members
        for layer, costs in enumerate(self.costs, start=1):
            is_dense = bool(self.is_dense[layer])
            self.is_dense[layer] = costs.prefers_dense(float(lately[layer - 1]), is_dense)


@cache
def measure(num_inputs: int, num_outputs: int, sums: Sums) -> KernelCosts:
    """Time both kernels on a layer of this size, on this machine, now."""
    rng = np.random.default_rng(0)
    size = 9 * num_inputs * num_outputs
    weight = rng.integers(-127, 128, size).astype(np.int8)
    spikes = np.ones((BOARDS, 8 * PADDED_FILES * num_inputs), np.uint8)
    totals = np.zeros((BOARDS, NUM_SQUARES * num_outputs), sums)

    def nanoseconds(is_dense: bool, density: float) -> float:
        bits = rng.random((BOARDS, NUM_SQUARES, mask_words(num_inputs) * WORD)) < density
        bits[:, :, num_inputs:] = False
        masks = np.packbits(bits.reshape(BOARDS, -1), axis=1, bitorder="little").view(np.uint64)
        sizes = (0, num_inputs, num_outputs)
        spent = []
        for _ in range(1 + ROUNDS):  # the first compiles
            start = perf_counter_ns()
            sum_layer(0, BOARDS, is_dense, spikes, masks, weight, weight, *sizes, totals)
            spent.append(perf_counter_ns() - start)
        return min(spent) / BOARDS

    sparse, full = (nanoseconds(False, density) for density in (SPARSE, FULL))
    slope = max((full - sparse) / (FULL - SPARSE), 0.0)
    return KernelCosts(nanoseconds(True, 0.0), sparse - slope * SPARSE, slope)
