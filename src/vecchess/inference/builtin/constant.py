"""A network that says the same of every position: for measuring all that is not the network."""

import numpy as np
from numpy.typing import NDArray

from vecchess.inference.requests import Requests
from vecchess.jit import kernel
from vecchess.snn.integer.integer_net import IntegerNet


class ConstantBackend:
    """Answers every position after one time step: uniform policy, equal win, draw and loss."""

    time_steps = 1
    policy_scale = 1.0
    value_scale = 1.0

    def __init__(self, num_slots: int) -> None:
        """S = ``num_slots``."""
        self.num_slots = num_slots
        self._admitted: NDArray[np.int32] = np.empty(0, np.int32)

    def admit(self, slots: NDArray[np.int32], requests: Requests, rows: NDArray[np.int32]) -> None:
        """Take the rows in: see ``Backend.admit``."""
        self._admitted = slots

    def advance(self) -> None:
        """One time step: see ``Backend.advance``."""

    def settled(self) -> NDArray[np.int32]:
        """Every slot that was admitted: see ``Backend.settled``."""
        slots, self._admitted = self._admitted, np.empty(0, np.int32)
        return slots

    def read(self, slots: NDArray[np.int32], requests: Requests, rows: NDArray[np.int32]) -> None:
        """Write zeros as answers: see ``Backend.read``."""
        _answer(rows, requests.num_legal, requests.policy, requests.wdl, requests.steps)

    def replace_network(self, net: IntegerNet) -> None:
        """There is no network to replace: always ``ValueError``."""
        raise ValueError("the constant backend has no network to replace")


@kernel
def _answer(rows, num_legal, policy, wdl, steps):  # type: ignore[no-untyped-def]
    for row in rows:
        for i in range(num_legal[row]):
            policy[row, i] = 0
        for i in range(3):
            wdl[row, i] = 0
        steps[row] = 1
