"""The fast backend without a GPU: integer kernels, the slots shared out among threads."""

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import ConfigError
from vecchess.inference.cpu.kernel_threads import KernelThreads
from vecchess.inference.cpu.kernels import Asked
from vecchess.inference.cpu.packed_network import new_state
from vecchess.inference.exit_rule import ExitRule
from vecchess.inference.requests import Requests
from vecchess.inference.slot_answers import Answers
from vecchess.snn.integer.integer_net import IntegerNet


class CpuBackend:
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
        if num_slots < 1 or threads < 1:
            raise ConfigError("a backend needs at least one slot and one thread")
        self._workforce = KernelThreads(net, threads, dense=dense)
        self.num_slots = num_slots
        self.time_steps = net.config.time_steps
        self.policy_scale = net.policy_scale
        self.value_scale = net.value_scale
        self._state = new_state(net.config, num_slots, self._workforce.sums)
        self._answers = Answers(num_slots, self.time_steps, rule)
        answers = self._answers
        self._asked = Asked(answers.legal, answers.num_legal, answers.policy, answers.wdl)

    @property
    def kernel_ns(self) -> int:
        """Time spent in compiled kernels so far."""
        return self._workforce.kernel_ns

    def admit(self, slots: NDArray[np.int32], requests: Requests, rows: NDArray[np.int32]) -> None:
        """See ``Backend.admit``."""
        self._answers.open(slots, requests, rows)
        self._state.planes[slots] = requests.planes[rows]

    def advance(self) -> None:
        """See ``Backend.advance``."""
        slots = self._answers.busy()
        times = self._answers.steps[slots]
        self._workforce.advance(slots, times, self._state, self._asked)
        self._answers.judge(slots)

    def settled(self) -> NDArray[np.int32]:
        """See ``Backend.settled``."""
        return self._answers.take_settled()

    def read(self, slots: NDArray[np.int32], requests: Requests, rows: NDArray[np.int32]) -> None:
        """See ``Backend.read``."""
        self._answers.write(slots, requests, rows)

    def replace_network(self, net: IntegerNet) -> None:
        """See ``Backend.replace_network``."""
        self._answers.require_free()
        self._workforce.replace_network(net)
        self.policy_scale = net.policy_scale
        self.value_scale = net.value_scale
