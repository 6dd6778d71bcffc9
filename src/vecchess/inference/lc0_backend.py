"""A backend that answers with a network of lc0, for players and searches.

A question is the last eight positions as they are (``chess.planes.POSITION_INPUTS``): lc0's planes
are made here.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vecchess.chess.action import actions_to_moves
from vecchess.chess.planes import POSITION_INPUTS
from vecchess.errors import device_work
from vecchess.inference.float_backend import FloatBackend
from vecchess.inference.host_backend import require_questions
from vecchess.inference.requests import Requests
from vecchess.lc0.lc0_moves import move_indices
from vecchess.lc0.lc0_network import Lc0Network
from vecchess.lc0.lc0_planes import NUM_POSITIONS, input_planes
from vecchess.lc0.weights_file import Lc0Weights
from vecchess.shapes import POSITION_WORDS

CPU_CHUNK, GPU_CHUNK = 8, 256
"""Positions computed at a time. 8 take 1.25 times as long each as 128 do, one alone 3.5 times."""


class Lc0Backend(FloatBackend):
    """``Backend`` with a network of lc0."""

    @device_work("loading a network of lc0")
    def __init__(
        self, weights: Lc0Weights, num_slots: int, device: str = "cpu", threads: int = 1
    ) -> None:
        """``threads``: of the processor; on a GPU there is one."""
        is_cpu = device == "cpu"
        pool = ThreadPoolExecutor(threads if is_cpu else 1, "lc0", torch.set_num_threads, (1,))
        name = f"lc0's network {weights.sha256[:16]}"
        super().__init__(name, num_slots, CPU_CHUNK if is_cpu else GPU_CHUNK, pool)
        self._network, self._input_format = Lc0Network(weights, device), weights.input_format

    def answer(self, requests: Requests, rows: NDArray[np.int32]) -> None:
        """Write the answers of ``rows: int32[K]``; raises ValueError for questions of planes,
        NetworkError for NaN."""
        require_questions(requests, rows, POSITION_INPUTS)
        super().answer(requests, rows)

    def _logits(self, planes: NDArray[np.uint64]) -> tuple[NDArray[Any], NDArray[Any]]:
        boards = planes.reshape(-1, NUM_POSITIONS, POSITION_WORDS)
        policy, outcomes = self._network.answers(input_planes(boards, self._input_format))
        return policy, outcomes

    def _places(self, planes: NDArray[np.uint64], actions: NDArray[np.uint16]) -> NDArray[Any]:
        return move_indices()[actions_to_moves(planes[:, :POSITION_WORDS], actions)]
