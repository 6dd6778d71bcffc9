"""The fast backend without a GPU: integer kernels, the boards divided among threads (decision 9).

All occupied slots are answered by one call: a board stays in the second-level cache for all of its
time steps (decision 246).
"""

import numpy as np
from numpy.typing import NDArray

from vecchess.inference.cpu.kernel_threads import KernelThreads
from vecchess.inference.exit_rule import ExitRule
from vecchess.inference.host_backend import HostBackend
from vecchess.inference.playable_net import PlayableNet
from vecchess.inference.requests import Requests
from vecchess.snn.integer.integer_net import IntegerNet


class CpuBackend(HostBackend):
    """``Backend`` on ``threads`` cores. Refuses a network that is not proved exact.

    The mover threads run on the same cores: a call occupies ``threads`` cores for milliseconds, a
    mover one for microseconds, and the parts are small enough to make up for it.
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
        self._threads = KernelThreads(net, rule, threads, dense)

    @property
    def kernel_ns(self) -> int:
        """Time spent in compiled kernels so far."""
        return self._threads.kernel_ns

    def _take_steps(
        self, slots: NDArray[np.int32], rows: NDArray[np.int32], requests: Requests
    ) -> NDArray[np.int32]:
        """All steps; see ``HostBackend``."""
        self._threads.answer(rows, requests)
        return slots

    def _load(self, net: PlayableNet) -> None:
        assert isinstance(net, IntegerNet)
        self._threads.replace_network(net)
