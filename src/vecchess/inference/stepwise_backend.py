"""The part that backends of one time step a turn have in common: steps and the exit rule."""

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from vecchess.inference.exit_rule import NO_BEST, ExitRule, judge
from vecchess.inference.host_backend import HostBackend
from vecchess.inference.playable_net import PlayableNet
from vecchess.inference.requests import Requests
from vecchess.shapes import NUM_OUTCOMES


class StepwiseBackend(HostBackend):
    """``HostBackend`` whose subclass adds up one time step of given slots."""

    def __init__(self, net: PlayableNet, num_slots: int, rule: ExitRule) -> None:
        """As ``HostBackend``."""
        super().__init__(net, num_slots)
        self._rule = rule.as_integers()
        self._best = np.full(num_slots, NO_BEST, np.int32)
        self._previous_wdl = np.zeros((num_slots, NUM_OUTCOMES), np.int32)

    def admit(self, slots: NDArray[np.int32], requests: Requests, rows: NDArray[np.int32]) -> None:
        """See ``Backend.admit``."""
        super().admit(slots, requests, rows)
        self._best[slots] = NO_BEST
        self._previous_wdl[slots] = 0

    def _take_steps(
        self, slots: NDArray[np.int32], rows: NDArray[np.int32], requests: Requests
    ) -> NDArray[np.int32]:
        """One step; see ``HostBackend``."""
        self._add_step(slots, rows, requests)
        requests.steps[rows] += 1
        settles = np.zeros(len(slots), np.bool_)
        judge(
            slots,
            rows,
            self._rule,
            self.time_steps,
            requests.policy,
            requests.num_legal,
            requests.wdl,
            requests.steps,
            self._best,
            self._previous_wdl,
            settles,
        )
        return slots[settles]

    @abstractmethod
    def _add_step(
        self, slots: NDArray[np.int32], rows: NDArray[np.int32], requests: Requests
    ) -> None:
        """Add one time step's currents of ``slots: int32[K]`` to policy and wdl of ``rows``.

        ``requests.steps[rows]`` are the steps taken before.
        """
