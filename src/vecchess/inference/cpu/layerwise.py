"""The engine to compare with: every position takes all T steps, a layer does them all at once.

What is gained: membranes never leave the cache, and the weights of a layer are used T times as
often. What is lost: nobody can leave early.
"""

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import ConfigError
from vecchess.inference.cpu.kernel_threads import KernelThreads
from vecchess.inference.cpu.kernels import Asked
from vecchess.inference.cpu.packed_network import group_size, new_state
from vecchess.inference.requests import Requests
from vecchess.shapes import MAX_MOVES, NUM_OUTCOMES
from vecchess.snn.integer.integer_net import IntegerNet


class LayerwiseCpu:
    """Answers positions in batches, layer by layer, all steps of a layer fused."""

    def __init__(self, net: IntegerNet, num_boards: int, threads: int = 1) -> None:
        """Batches of up to ``num_boards``; raises ``NetworkError`` and ``ConfigError``."""
        if num_boards < 1 or threads < 1:
            raise ConfigError("an engine needs at least one board and one thread")
        self.num_boards = num_boards
        self.time_steps = net.config.time_steps
        boards = max(1, group_size(net.config) // self.time_steps)
        self._workforce = KernelThreads(net, threads, boards * self.time_steps)
        self._state = new_state(net.config, num_boards, self._workforce.sums, keep_layers=False)
        self._asked = Asked(
            legal=np.zeros((num_boards, MAX_MOVES), np.uint16),
            num_legal=np.zeros(num_boards, np.uint8),
            policy=np.zeros((num_boards, MAX_MOVES), np.int32),
            wdl=np.zeros((num_boards, NUM_OUTCOMES), np.int32),
        )
        boards_of_members = np.repeat(np.arange(num_boards), self.time_steps)
        self._members = boards_of_members.astype(np.int32)
        self._times = np.tile(np.arange(self.time_steps, dtype=np.uint8), num_boards)

    def answer(self, requests: Requests, rows: NDArray[np.int32]) -> None:
        """Write policy, wdl and steps of ``rows``, any number of them."""
        for start in range(0, len(rows), self.num_boards):
            self._answer(requests, rows[start : start + self.num_boards])

    def _answer(self, requests: Requests, rows: NDArray[np.int32]) -> None:
        count, asked = len(rows), self._asked
        self._state.planes[:count] = requests.planes[rows]
        asked.legal[:count] = requests.legal[rows]
        asked.num_legal[:count] = requests.num_legal[rows]
        asked.policy[:count] = 0
        asked.wdl[:count] = 0
        members = count * self.time_steps
        self._workforce.advance(self._members[:members], self._times[:members], self._state, asked)
        requests.policy[rows] = asked.policy[:count]
        requests.wdl[rows] = asked.wdl[:count]
        requests.steps[rows] = self.time_steps
