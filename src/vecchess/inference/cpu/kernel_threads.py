"""The kernels of a network and the threads that run them."""

from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from time import perf_counter_ns

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import ConfigError, NetworkError
from vecchess.inference.cpu.density import KernelChoice
from vecchess.inference.cpu.kernels import Network, Scratch, Sums, answer
from vecchess.inference.cpu.packed_network import cpu_network, group_size, new_scratch
from vecchess.inference.exit_rule import ExitRule
from vecchess.inference.requests import Requests
from vecchess.snn.integer.bounds import check_bounds
from vecchess.snn.integer.integer_net import IntegerNet

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


class KernelThreads:
    """Answers rows on ``threads`` threads, each with memory of its own for a group of boards."""

    def __init__(
        self, net: IntegerNet, rule: ExitRule, threads: int, dense: bool | None = None
    ) -> None:
        """``dense`` as of ``KernelChoice``.

        Raises ``ConfigError`` for no threads, ``NetworkError`` for a network not proved exact.
        """
        if threads < 1:
            raise ConfigError("a backend needs at least one thread")
        report = check_bounds(net)
        report.require_exact()
        self._sums: Sums = np.int16 if report.int16_sums else np.int32
        self._group = group_size(net.config)
        self._rule, self._earliest = rule.as_integers(), rule.first_exit
        self._network: Network = cpu_network(net, self._sums)
        self.choice = KernelChoice(net.config, self._sums, dense)
        self.kernel_ns = 0
        self._scratches = [new_scratch(net.config, self._group, self._sums) for _ in range(threads)]
        self._idle: SimpleQueue[Scratch] = SimpleQueue()
        for scratch in self._scratches:
            self._idle.put(scratch)
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def answer(self, rows: NDArray[np.int32], requests: Requests) -> None:
        """Write the answers of ``rows: int32[K]``, whose policy, wdl and steps are 0."""

        def work(part: slice) -> int:
            scratch, is_dense = self._idle.get(), self.choice.is_dense
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
        self.choice.learn(steps, [scratch.fired for scratch in self._scratches])

    def replace_network(self, net: IntegerNet) -> None:
        """Take another exact network of the same sizes; ``NetworkError`` where it needs int32."""
        if self._sums == np.int16 and not check_bounds(net).int16_sums:
            raise NetworkError("the new network's sums may leave int16, which this one's fit")
        self._network = cpu_network(net, self._sums)
