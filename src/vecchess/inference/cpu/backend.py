"""The fast backend without a GPU: integer kernels, the slots divided among threads (decision 9)."""

import numpy as np
from numpy.typing import NDArray

from vecchess.inference.cpu.kernel_threads import KernelThreads
from vecchess.inference.cpu.packed_network import new_state
from vecchess.inference.exit_rule import ExitRule
from vecchess.inference.host_backend import HostBackend
from vecchess.inference.requests import Requests
from vecchess.snn.integer.integer_net import IntegerNet


class CpuBackend(HostBackend):
    """``Backend`` on ``threads`` cores. Refuses a network that is not proved exact.

    The mover threads run on the same cores: a time step occupies ``threads`` cores for
    milliseconds, a mover one for microseconds, and the parts are small enough to make up for it.
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
        super().__init__(net, num_slots, rule)
        self._threads = KernelThreads(net, threads, dense=dense)
        self._neurons = new_state(net.config, num_slots, self._threads.sums)

    @property
    def kernel_ns(self) -> int:
        """Time spent in compiled kernels so far."""
        return self._threads.kernel_ns

    def _add_step(
        self, slots: NDArray[np.int32], rows: NDArray[np.int32], requests: Requests
    ) -> None:
        self._threads.advance(slots, rows, requests.steps[rows], self._neurons, requests)

    def _load(self, net: IntegerNet) -> None:
        self._threads.replace_network(net)
