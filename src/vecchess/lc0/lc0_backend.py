"""A backend that answers with a network of lc0, for players and searches.

A question is the last eight positions as they are (``chess.planes.POSITION_INPUTS``): lc0's planes
are made here. An answer takes one step; its logits are rounded to 2**-16.

Sums of floats depend on how many positions are computed at a time. So positions are always computed
in chunks of one size, filled up with empty ones, each on one thread: an answer depends neither on
the other questions nor on the number of threads.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from numpy.typing import NDArray

from vecchess.chess.action import actions_to_moves
from vecchess.chess.planes import POSITION_INPUTS
from vecchess.inference.builtin import ConstantBackend
from vecchess.inference.device_errors import device_work
from vecchess.inference.float_answers import UNITS, accumulators
from vecchess.inference.host_backend import require_questions
from vecchess.inference.requests import Requests
from vecchess.lc0.lc0_moves import move_indices
from vecchess.lc0.lc0_network import Lc0Network
from vecchess.lc0.lc0_planes import NUM_INPUTS, NUM_POSITIONS, input_planes
from vecchess.lc0.weights_file import Lc0Weights
from vecchess.shapes import MAX_MOVES, NUM_SQUARES, POSITION_WORDS

CPU_CHUNK, GPU_CHUNK = 8, 256
"""Positions computed at a time. 8 take 1.25 times as long each as 128 do, one alone 3.5 times."""


class Lc0Backend(ConstantBackend):
    """``Backend`` with S slots: all that are admitted together are computed together."""

    policy_scale = value_scale = 1 / UNITS

    @device_work("loading a network of lc0")
    def __init__(
        self, weights: Lc0Weights, num_slots: int, device: str = "cpu", threads: int = 1
    ) -> None:
        """``threads``: of the processor; on a GPU there is one."""
        super().__init__(num_slots)
        self._network = Lc0Network(weights, device)
        self._input_format = weights.input_format
        self._chunk = CPU_CHUNK if device == "cpu" else GPU_CHUNK
        threads = threads if device == "cpu" else 1
        self._pool = ThreadPoolExecutor(threads, "lc0", torch.set_num_threads, (1,))

    def answer(self, requests: Requests, rows: NDArray[np.int32]) -> None:
        """Write the answers of ``rows: int32[K]``. Raises ValueError for questions of planes."""
        require_questions(requests, rows, POSITION_INPUTS)
        boards = requests.planes[rows].reshape(-1, NUM_POSITIONS, POSITION_WORDS)
        parts = range(0, len(rows), self._chunk)
        answers = self._pool.map(lambda at: self._compute(boards[at : at + self._chunk]), parts)
        policy, outcomes = (np.concatenate(part) for part in zip(*answers, strict=True))
        legal = np.arange(MAX_MOVES) < requests.num_legal[rows, None]
        row, _ = np.nonzero(legal)
        moves = actions_to_moves(boards[row, 0], requests.legal[rows][legal])
        found = np.zeros(legal.shape, np.int32)
        found[legal] = accumulators(policy[row, move_indices()[moves]])
        requests.policy[rows] = found
        requests.wdl[rows] = accumulators(outcomes)
        requests.steps[rows] = 1

    @device_work("computing a network of lc0")
    def _compute(self, boards: NDArray[np.uint64]) -> tuple[NDArray[np.float32], ...]:
        """Logits of a chunk or less, ``uint64[K, 8, 8] -> float32[K, 1858], float32[K, 3]``."""
        planes = np.zeros((self._chunk, NUM_INPUTS, NUM_SQUARES), np.float32)
        planes[: len(boards)] = input_planes(boards, self._input_format)
        policy, outcomes = self._network.answers(planes)
        return policy[: len(boards)], outcomes[: len(boards)]
