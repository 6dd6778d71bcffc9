"""The engine to compare with: batches of positions that take all T steps, without slots.

Decision 16.
"""

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import ConfigError
from vecchess.inference.cpu.backend import KernelThreads
from vecchess.inference.exit_rule import ExitRule
from vecchess.inference.requests import Requests
from vecchess.snn.integer.integer_net import IntegerNet


class LayerwiseCpu:
    """Answers positions in batches, all of them after T steps."""

    def __init__(self, net: IntegerNet, num_boards: int, threads: int = 1) -> None:
        """Batches of ``num_boards``; raises ``NetworkError`` and ``ConfigError``."""
        if num_boards < 1:
            raise ConfigError("an engine needs at least one board")
        self.num_boards = num_boards
        self._threads = KernelThreads(net, ExitRule.never(), threads)

    def answer(self, requests: Requests, rows: NDArray[np.int32]) -> None:
        """Write policy, wdl and steps of ``rows``, any number of them."""
        requests.policy[rows] = 0
        requests.wdl[rows] = 0
        requests.steps[rows] = 0
        for start in range(0, len(rows), self.num_boards):
            self._threads.answer(rows[start : start + self.num_boards], requests)
