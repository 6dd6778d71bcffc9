"""The fast backend without a GPU: integer kernels, the boards divided among threads (decision 9).

All occupied slots are answered by one call: a board stays in the second-level cache for all of its
time steps (decision 246).

A layer is computed by events while few neurons spike, by dense products when many do. Both kernels
are timed when a network is opened, some milliseconds for each size of layer: events at two
densities, with a straight line through them; dense once. The choice is made again as spikes are
counted. Both give the same bits, so only speed depends on it (decision 8).
"""

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from queue import SimpleQueue
from time import perf_counter_ns
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import ConfigError, NetworkError
from vecchess.inference.cpu.events import WORD, mask_words
from vecchess.inference.cpu.kernels import Network, Scratch, Sums, answer, sum_layer
from vecchess.inference.cpu.neurons import PADDED_FILES
from vecchess.inference.cpu.packed_network import cpu_network, group_size, new_scratch
from vecchess.inference.host_backend import HostBackend
from vecchess.inference.playable_net import PlayableNet
from vecchess.inference.requests import Requests
from vecchess.shapes import NUM_SQUARES
from vecchess.snn.integer.bounds import check_bounds
from vecchess.snn.integer.integer_net import ExitRule, IntegerNet
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


PARTS_PER_THREAD = 4
"""Parts that many members are divided into, per thread: a delayed thread delays others little."""
LEAST_PART = 4
"""Fewer members are not worth a thread of their own."""


def equal_parts(count: int, threads: int, group: int, least: int) -> list[slice]:
    """``count`` members in equal parts, as many for each thread.

    A part has about ``group`` members, more where that makes over PARTS_PER_THREAD for a thread,
    and a multiple of ``least``, but for the last.
    """
    rounds = min(max(1, -(-count // (group * threads))), PARTS_PER_THREAD)
    size = least * max(1, -(-count // (least * rounds * threads)))
    return [slice(at, min(at + size, count)) for at in range(0, count, size)]


class CpuBackend(HostBackend):
    """``Backend`` on ``threads`` cores. Refuses a network that is not proved exact.

    Each thread has memory of its own for a group of boards. The mover threads run on the same
    cores: a call occupies ``threads`` cores for milliseconds, a mover one for microseconds, and the
    parts are small enough to make up for it.
    """

    def __init__(
        self,
        net: IntegerNet,
        num_slots: int,
        rule: ExitRule,
        threads: int = 1,
        dense: bool | None = None,
    ) -> None:
        """S = ``num_slots``; raises ``NetworkError`` and ``ConfigError``.

        dense: the kernel of all hidden layers; None chooses by the density of spikes. The ReLU
        twin's layers are always dense.
        """
        super().__init__(net, num_slots)
        if threads < 1:
            raise ConfigError("a backend needs at least one thread")
        self._sums: Sums = np.int16 if self._fits_int16 else np.int32
        self._group = group_size(net.config)
        self._rule, self._earliest = rule.as_integers(), rule.first_exit
        self._network: Network = cpu_network(net, self._sums)
        self._choice = KernelChoice(net.config, self._sums, dense)
        self.kernel_ns = 0
        """Time spent in compiled kernels so far."""
        self._scratches = [new_scratch(net.config, self._group, self._sums) for _ in range(threads)]
        self._idle: SimpleQueue[Scratch] = SimpleQueue()
        for scratch in self._scratches:
            self._idle.put(scratch)
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    @property
    def steps_at_once(self) -> int:
        """All time steps: a call answers every slot."""
        return self.time_steps

    def answer(self, requests: Requests, rows: NDArray[np.int32]) -> None:
        """Write the answers of ``rows: int32[K]``, whose policy, wdl and steps are 0."""

        def work(part: slice) -> int:
            scratch, is_dense = self._idle.get(), self._choice.is_dense
            try:
                given = self._network, requests, scratch
                return int(answer(rows[part], self._rule, self._earliest, is_dense, *given))
            finally:
                self._idle.put(scratch)

        start = perf_counter_ns()
        if self._pool is None:
            steps = work(slice(0, len(rows)))
        else:
            parts = equal_parts(len(rows), len(self._scratches), self._group, LEAST_PART)
            steps = sum(self._pool.map(work, parts))
        self.kernel_ns += perf_counter_ns() - start
        self._choice.learn(steps, [scratch.fired for scratch in self._scratches])

    def _take_steps(
        self, slots: NDArray[np.int32], rows: NDArray[np.int32], requests: Requests
    ) -> NDArray[np.int32]:
        """All steps; see ``HostBackend``."""
        self.answer(requests, rows)
        return slots

    def _require_exact(self, net: PlayableNet) -> None:
        assert isinstance(net, IntegerNet)
        report = check_bounds(net)
        report.require_exact()
        self._fits_int16 = report.int16_sums

    def _load(self, net: PlayableNet) -> None:
        """Raises ``NetworkError`` where ``net`` needs int32, and the first network did not."""
        assert isinstance(net, IntegerNet)
        if self._sums == np.int16 and not self._fits_int16:
            raise NetworkError("the new network's sums may leave int16, which this one's fit")
        self._network = cpu_network(net, self._sums)
