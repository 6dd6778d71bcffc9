"""The backend of networks that answer in floats, in one step: chunks, legal moves, integers.

Sums of floats depend on how many positions are computed at a time. So positions are computed in
chunks of one size, filled up with rows of zeros, each chunk by one thread: an answer depends
neither on the other questions nor on the number of threads.
"""

from abc import abstractmethod
from concurrent.futures import Executor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import NetworkError, device_work
from vecchess.inference.builtin import ConstantBackend
from vecchess.inference.requests import Requests
from vecchess.shapes import MAX_MOVES

UNITS = 1 << 16
"""Accumulator units of a logit."""
MOST_LOGIT = 8192.0
"""Logits beyond are cut: differences of accumulators are below 2**31."""


def accumulators(
    logits: NDArray[Any], name: str, units: float = UNITS, most: float = MOST_LOGIT
) -> NDArray[np.int32]:
    """Logits in units of ``1 / units``, of the same shape, cut beyond ``most``.

    Raises NetworkError for one that is no number, of the network called ``name``.
    """
    if np.isnan(logits).any():
        raise NetworkError(f"{name} answers with NaN, which is not a number")
    found: NDArray[np.int32] = np.rint(np.clip(logits, -most, most) * units).astype(np.int32)
    return found


class FloatBackend(ConstantBackend):
    """``Backend`` with S slots: all that are admitted together are computed together."""

    policy_scale = value_scale = 1 / UNITS

    def __init__(
        self, name: str, num_slots: int, chunk: int | None = None, pool: Executor | None = None
    ) -> None:
        """``name``: the network's, for messages. chunk: positions computed at a time; None: all at
        once. pool: threads that compute chunks; None: the caller's."""
        super().__init__(num_slots)
        self._name, self._chunk = name, chunk
        self._map = map if pool is None else pool.map

    def answer(self, requests: Requests, rows: NDArray[np.int32]) -> None:
        """Write the answers of ``rows: int32[K]``; raises NetworkError for NaN."""
        size = self._chunk or max(len(rows), 1)
        parts = [rows[first : first + size] for first in range(0, len(rows), size)]
        list(self._map(lambda part: self._answer_chunk(requests, part, size), parts))

    @device_work("computing the network")
    def _answer_chunk(self, requests: Requests, rows: NDArray[np.int32], size: int) -> None:
        """Write the answers of ``rows: int32[K]``, computed with ``size - K`` rows of zeros."""
        planes = np.zeros((size, requests.planes.shape[1]), np.uint64)
        planes[: len(rows)] = requests.planes[rows]
        policy, outcomes = self._logits(planes)
        legal = np.arange(MAX_MOVES) < requests.num_legal[rows, None]
        row, _ = np.nonzero(legal)
        places = self._places(planes[row], requests.legal[rows][legal])
        found = np.zeros(legal.shape, np.int32)
        found[legal] = accumulators(policy[row, places], self._name)
        requests.policy[rows] = found
        requests.wdl[rows] = accumulators(outcomes[: len(rows)], self._name)
        requests.steps[rows] = 1

    @abstractmethod
    def _logits(self, planes: NDArray[np.uint64]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Logits of moves and outcomes of a chunk: ``uint64[C, P] -> float[C, M], float[C, 3]``."""
        ...

    def _places(self, planes: NDArray[np.uint64], actions: NDArray[np.uint16]) -> NDArray[Any]:
        """``uint64[N, P], uint16[N] -> int[N]``: where the actions stand among the M moves."""
        return actions
