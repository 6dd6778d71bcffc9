"""Networks that are built in: they answer at once, where everything but the network is measured."""

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards.bits import popcount
from vecchess.chess.planes import MATERIAL_WEIGHTS
from vecchess.inference.playable_net import PlayableNet
from vecchess.inference.requests import Requests
from vecchess.jit import kernel


class ConstantBackend:
    """Answers every position after one time step: uniform policy, equal win, draw and loss."""

    time_steps = 1
    policy_scale = 1.0
    value_scale = 1.0
    _weights: NDArray[np.int64] = np.empty(0, np.int64)

    def __init__(self, num_slots: int) -> None:
        """S = ``num_slots``."""
        self.num_slots = num_slots
        self._admitted = np.empty(0, np.int32)

    def admit(self, slots: NDArray[np.int32], requests: Requests, rows: NDArray[np.int32]) -> None:
        """Answer ``rows`` at once; their ``slots`` are settled."""
        self._admitted = slots
        self.answer(requests, rows)

    def answer(self, requests: Requests, rows: NDArray[np.int32]) -> None:
        """Write the answers of ``rows: int32[K]``."""
        _answer(rows, self._weights, *requests)

    def advance(self) -> None:
        """Do nothing: the answers are written at admission."""

    def settled(self) -> NDArray[np.int32]:
        """Every slot that was admitted: int32[K]."""
        slots, self._admitted = self._admitted, np.empty(0, np.int32)
        return slots

    def clear(self) -> None:
        """Forget what was admitted, see ``Backend.clear``."""
        self._admitted = np.empty(0, np.int32)

    def replace_network(self, net: PlayableNet) -> None:
        """Raise ``ValueError``: there is no network to replace."""
        raise ValueError("a network that is built in cannot be replaced")


class MaterialBackend(ConstantBackend):
    """Answers every position after one time step: uniform policy, outcome by the balance.

    The balance is the number of bits of each plane times the plane's weight, see
    ``chess/planes.py``. Accumulators are balance, 0, -balance for win, draw, loss. In pawns
    the expected score, win + draw / 2, is then

        balance    0      1      3      5      9     -9
        score     0.500  0.592  0.751  0.859  0.957  0.043
    """

    value_scale = 0.28
    _weights = np.trim_zeros(MATERIAL_WEIGHTS, "b").astype(np.int64)


@kernel
def _answer(rows, weights, planes, legal, num_legal, policy, wdl, steps):  # type: ignore[no-untyped-def]
    """Answer ``rows`` by ``weights: int64[P]`` or fewer."""
    for row in rows:
        for i in range(num_legal[row]):
            policy[row, i] = 0
        balance = np.int64(0)
        for plane in range(len(weights)):
            balance += weights[plane] * np.int64(popcount(planes[row, plane]))
        wdl[row, 0] = balance
        wdl[row, 1] = 0
        wdl[row, 2] = -balance
        steps[row] = 1
