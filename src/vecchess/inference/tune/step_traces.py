"""Records the answers of a network after every time step, not only after the last."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vecchess.inference.backend import Backend
from vecchess.inference.engine import answer_all
from vecchess.inference.requests import Requests
from vecchess.snn.integer.integer_net import ExitRule


@dataclass(frozen=True)
class StepTraces:
    """Accumulators of B positions after t = 1 .. T time steps, units 2^-F, mover's view.

    policy: int32[T, B, L]   legal moves in the order of the question; L is the most there are
    wdl: int32[T, B, 3]      win, draw, loss
    num_legal: uint8[B]      entries of ``policy`` that count
    """

    policy: NDArray[np.int32]
    wdl: NDArray[np.int32]
    num_legal: NDArray[np.uint8]

    @property
    def time_steps(self) -> int:
        """T."""
        return len(self.wdl)

    @property
    def num_positions(self) -> int:
        """B."""
        return len(self.num_legal)

    def take(self, rows: NDArray[np.int64]) -> "StepTraces":
        """The positions ``rows``: int64[K]."""
        return StepTraces(self.policy[:, rows], self.wdl[:, rows], self.num_legal[rows])


def record_steps(
    open_with: Callable[[ExitRule], Backend], requests: Requests, time_steps: int
) -> StepTraces:
    """Answer all rows T = ``time_steps`` times, with all positions leaving after 1, 2, .. T steps.

    An answer is whole only when its position leaves, so this takes (T + 1) / 2 times the work of
    one pass, and needs nothing beyond the protocol. ``open_with(rule)`` opens the network with an
    exit rule.
    """
    most = int(requests.num_legal.max())
    policy = np.zeros((time_steps, requests.num_rows, most), np.int32)
    wdl = np.zeros((time_steps, *requests.wdl.shape), np.int32)
    for t in range(1, time_steps + 1):
        rule = ExitRule(min_steps=t, policy_margin=0, best_move_unchanged=False)
        answer_all(open_with(rule), requests)
        assert (requests.steps == t).all()
        policy[t - 1] = requests.policy[:, :most]
        wdl[t - 1] = requests.wdl
    return StepTraces(policy, wdl, requests.num_legal.copy())
