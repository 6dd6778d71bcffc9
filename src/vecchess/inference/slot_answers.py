"""What every backend keeps per slot besides membranes: the question's moves and the answer so far.

A slot is FREE, then BUSY from admission until its exit rule fires or T is reached, then SETTLED
until ``take_settled`` reports it.
"""

import numpy as np
from numpy.typing import NDArray

from vecchess.inference.exit_rule import NO_BEST, ExitRule, judge
from vecchess.inference.requests import Requests
from vecchess.shapes import MAX_MOVES, NUM_OUTCOMES

FREE, BUSY, SETTLED = 0, 1, 2


class Answers:
    """Struct of arrays over S slots; accumulators in units of 2^-F, mover's view.

    legal: uint16[S, L]    num_legal: uint8[S]    policy: int32[S, L]    wdl: int32[S, 3]
    steps: uint8[S]        state: uint8[S]
    """

    def __init__(self, num_slots: int, time_steps: int, rule: ExitRule) -> None:
        self.time_steps = time_steps
        self.legal = np.zeros((num_slots, MAX_MOVES), np.uint16)
        self.num_legal = np.zeros(num_slots, np.uint8)
        self.policy = np.zeros((num_slots, MAX_MOVES), np.int32)
        self.wdl = np.zeros((num_slots, NUM_OUTCOMES), np.int32)
        self.steps = np.zeros(num_slots, np.uint8)
        self.state = np.full(num_slots, FREE, np.uint8)
        self._rule = rule.as_integers()
        self._best = np.full(num_slots, NO_BEST, np.int32)
        self._previous_wdl = np.zeros((num_slots, NUM_OUTCOMES), np.int32)
        self._settles = np.zeros(num_slots, np.bool_)

    def open(self, slots: NDArray[np.int32], requests: Requests, rows: NDArray[np.int32]) -> None:
        """Start empty answers for ``rows`` in ``slots``; ``ValueError`` as ``Backend.admit``."""
        if (self.state[slots] != FREE).any() or len(np.unique(slots)) != len(slots):
            raise ValueError("admitted to a slot that is not free")
        num_legal = requests.num_legal[rows]
        if (num_legal == 0).any() or (num_legal > MAX_MOVES).any():
            raise ValueError(f"a question needs 1 to {MAX_MOVES} legal moves")
        self.legal[slots] = requests.legal[rows]
        self.num_legal[slots] = num_legal
        self.policy[slots] = 0
        self.wdl[slots] = 0
        self.steps[slots] = 0
        self._best[slots] = NO_BEST
        self._previous_wdl[slots] = 0
        self.state[slots] = BUSY

    def require_free(self) -> None:
        """Raise ``ValueError`` unless every slot is free."""
        if (self.state != FREE).any():
            raise ValueError("the network can be replaced only while no slot is occupied")

    def busy(self) -> NDArray[np.int32]:
        """int32[K]: the occupied slots, ascending."""
        return np.flatnonzero(self.state == BUSY).astype(np.int32)

    def judge(self, slots: NDArray[np.int32]) -> None:
        """Count the step that ``slots`` have just taken and settle those that may leave."""
        self.steps[slots] += 1
        settles = self._settles[: len(slots)]
        judge(
            slots,
            self._rule,
            self.time_steps,
            self.policy,
            self.num_legal,
            self.wdl,
            self.steps,
            self._best,
            self._previous_wdl,
            settles,
        )
        self.state[slots[settles]] = SETTLED

    def take_settled(self) -> NDArray[np.int32]:
        """int32[K]: slots settled since the last call, ascending; they are free from now on."""
        slots = np.flatnonzero(self.state == SETTLED).astype(np.int32)
        self.state[slots] = FREE
        return slots

    def write(self, slots: NDArray[np.int32], requests: Requests, rows: NDArray[np.int32]) -> None:
        """Copy the answers of ``slots`` to ``rows``."""
        requests.policy[rows] = self.policy[slots]
        requests.wdl[rows] = self.wdl[slots]
        requests.steps[rows] = self.steps[slots]
