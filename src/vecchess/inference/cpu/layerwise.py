"""The engine to compare with: every position takes all T steps, a layer does them all at once.

The membranes never leave the cache, and the weights of a layer are used T times as often; but no
position can leave early.

Decision 16.
"""

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import ConfigError
from vecchess.inference.cpu.kernel_threads import KernelThreads
from vecchess.inference.cpu.packed_network import group_size, new_state
from vecchess.inference.requests import Requests
from vecchess.snn.integer.integer_net import IntegerNet


class LayerwiseCpu:
    """Answers positions in batches, layer by layer, all steps of a layer fused."""

    def __init__(self, net: IntegerNet, num_boards: int, threads: int = 1) -> None:
        """Batches of up to ``num_boards``; raises ``NetworkError`` and ``ConfigError``."""
        if num_boards < 1:
            raise ConfigError("an engine needs at least one board")
        self.num_boards = num_boards
        self.time_steps = net.config.time_steps
        boards = max(1, group_size(net.config) // self.time_steps)
        self._threads = KernelThreads(net, threads, boards * self.time_steps)
        self._state = new_state(net.config, num_boards, self._threads.sums, keep_layers=False)

    def answer(self, requests: Requests, rows: NDArray[np.int32]) -> None:
        """Write policy, wdl and steps of ``rows``, any number of them."""
        requests.policy[rows] = 0
        requests.wdl[rows] = 0
        requests.steps[rows] = self.time_steps
        for start in range(0, len(rows), self.num_boards):
            batch = rows[start : start + self.num_boards]
            boards = np.repeat(np.arange(len(batch), dtype=np.int32), self.time_steps)
            times = np.tile(np.arange(self.time_steps, dtype=np.uint8), len(batch))
            members = boards, batch[boards], times
            self._threads.advance(*members, self._state, requests)
