"""A network that counts: for searching where thinking costs next to nothing.

It prefers no move, and judges a position by its balance, the bits of each plane times the plane's
weight. Which planes are worth what is for others to say (``chess/material.py``).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards.bits import popcount
from vecchess.inference.builtin.constant import ConstantBackend
from vecchess.inference.requests import Requests
from vecchess.jit import inline, kernel
from vecchess.snn.integer.integer_net import IntegerNet


class MaterialBackend(ConstantBackend):
    """Answers every position after one time step: uniform policy, outcome by the balance.

    Accumulators are balance, 0, -balance for win, draw, loss. In pawns the expected score,
    win + draw / 2, is then

        balance    0      1      3      5      9     -9
        score     0.500  0.592  0.751  0.859  0.957  0.043
    """

    value_scale = 0.28

    def __init__(self, num_slots: int, weights: NDArray[np.int32]) -> None:
        """S = ``num_slots``; weights: int32[P], what a bit of a plane is worth to the mover."""
        super().__init__(num_slots)
        self._weights = np.trim_zeros(weights, "b").astype(np.int64)

    def read(self, slots: NDArray[np.int32], requests: Requests, rows: NDArray[np.int32]) -> None:
        """Count the planes of ``rows``: see ``Backend.read``."""
        _answer(
            rows,
            requests.planes,
            self._weights,
            requests.num_legal,
            requests.policy,
            requests.wdl,
            requests.steps,
        )

    def replace_network(self, net: IntegerNet) -> None:
        """There is no network to replace: always ``ValueError``."""
        raise ValueError("the material backend has no network to replace")


@inline
def _balance(planes: Any, row: Any, weights: Any) -> Any:
    balance = np.int64(0)
    for plane in range(len(weights)):
        balance += weights[plane] * np.int64(popcount(planes[row, plane]))
    return balance


@kernel
def _answer(rows, planes, weights, num_legal, policy, wdl, steps):  # type: ignore[no-untyped-def]
    for row in rows:
        for i in range(num_legal[row]):
            policy[row, i] = 0
        balance = _balance(planes, row, weights)
        wdl[row, 0] = balance
        wdl[row, 1] = 0
        wdl[row, 2] = -balance
        steps[row] = 1
