"""The part that backends on the host have in common: rows and slots, and steps one by one."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import ConfigError, device_work
from vecchess.inference.exit_rule import NO_BEST, judge
from vecchess.inference.playable_net import BuiltInNet, Lc0Net, PlayableNet
from vecchess.inference.requests import Requests
from vecchess.shapes import MAX_MOVES, NUM_OUTCOMES
from vecchess.snn.integer.bounds import check_bounds
from vecchess.snn.integer.integer_net import ExitRule, IntegerNet

FREE, BUSY, SETTLED = 0, 1, 2
"""A slot is BUSY from admission until its exit rule fires or T is reached, then SETTLED until
``settled`` reports it."""


class HostBackend(ABC):
    """``Backend`` whose subclass takes time steps of given slots, straight into their rows."""

    def __init__(self, net: PlayableNet, num_slots: int) -> None:
        """S = ``num_slots``; raises ``ConfigError``, or ``NetworkError`` for an inexact network."""
        if num_slots < 1:
            raise ConfigError("a backend needs at least one slot")
        self._require_exact(net)
        self.num_slots = num_slots
        self.time_steps = net.config.time_steps
        self._rows = np.zeros(num_slots, np.int32)
        self._state = np.full(num_slots, FREE, np.uint8)
        self._use(net)

    def _require_exact(self, net: PlayableNet) -> None:
        """Raise ``NetworkError`` for a network whose answers may depend on the other slots."""
        assert isinstance(net, IntegerNet)
        check_bounds(net).require_exact()

    def _use(self, net: PlayableNet) -> None:
        assert not isinstance(net, Lc0Net | BuiltInNet)
        self._config = net.config
        self.policy_scale, self.value_scale = net.policy_scale, net.value_scale

    def admit(self, slots: NDArray[np.int32], requests: Requests, rows: NDArray[np.int32]) -> None:
        """Put the questions of ``rows`` into the free ``slots``, at step 0."""
        require_free(self._state[slots] != FREE, slots)
        require_questions(requests, rows, self._config.num_planes)
        self._requests = requests
        requests.policy[rows] = 0
        requests.wdl[rows] = 0
        requests.steps[rows] = 0
        self._rows[slots] = rows
        self._state[slots] = BUSY

    def advance(self) -> None:
        """Take a time step or more with all positions that have not settled."""
        slots = np.flatnonzero(self._state == BUSY).astype(np.int32)
        if len(slots) == 0:
            return
        settled = self._take_steps(slots, self._rows[slots], self._requests)
        self._state[settled] = SETTLED

    @abstractmethod
    def _take_steps(
        self, slots: NDArray[np.int32], rows: NDArray[np.int32], requests: Requests
    ) -> NDArray[np.int32]:
        """Take a time step or more with ``slots: int32[K]``, whose questions are in ``rows``.

        Adds the currents to policy and wdl of the rows, counts ``requests.steps``, and returns the
        slots that leave, by the exit rule or at T: int32[n].
        """
        ...

    def settled(self) -> NDArray[np.int32]:
        """The slots that have settled since the last call, which are free now: int32[n]."""
        slots = np.flatnonzero(self._state == SETTLED).astype(np.int32)
        self._state[slots] = FREE
        return slots

    def clear(self) -> None:
        """Free all slots, see ``Backend.clear``."""
        self._state[:] = FREE

    @device_work("replacing the network")
    def replace_network(self, net: PlayableNet) -> None:
        """Compute with ``net`` from now on; raises ValueError and NetworkError, as ``Backend``."""
        require_same_sizes(self._config == net.config, bool((self._state != FREE).any()))
        self._require_exact(net)
        self._load(net)
        self._use(net)

    @abstractmethod
    def _load(self, net: PlayableNet) -> None:
        """Compute with ``net``, which is exact and has the sizes of the first network."""


class StepwiseBackend(HostBackend):
    """``HostBackend`` whose subclass adds up one time step of given slots."""

    def __init__(self, net: PlayableNet, num_slots: int, rule: ExitRule) -> None:
        """S = ``num_slots``, whose positions leave by ``rule``; raises as ``HostBackend``."""
        super().__init__(net, num_slots)
        self._rule = rule.as_integers()
        self._best = np.full(num_slots, NO_BEST, np.int32)
        self._previous_wdl = np.zeros((num_slots, NUM_OUTCOMES), np.int32)

    def admit(self, slots: NDArray[np.int32], requests: Requests, rows: NDArray[np.int32]) -> None:
        """Put the questions of ``rows`` into the free ``slots``, at step 0."""
        super().admit(slots, requests, rows)
        self._best[slots] = NO_BEST
        self._previous_wdl[slots] = 0

    def _take_steps(
        self, slots: NDArray[np.int32], rows: NDArray[np.int32], requests: Requests
    ) -> NDArray[np.int32]:
        """Take one step with each of ``slots``."""
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


def require_free(occupied: NDArray[np.bool_], slots: NDArray[np.int32]) -> None:
    """Raise ``ValueError`` unless all of ``slots: int32[K]`` are free, and each is given once."""
    if occupied.any() or np.bincount(slots, minlength=1).max() > 1:
        raise ValueError("admitted to a slot that is not free")


def require_questions(requests: Requests, rows: NDArray[np.int32], num_planes: int) -> None:
    """Raise ``ValueError`` for a question without legal moves, or with too many, or with other
    planes than the network sees."""
    if (found := requests.planes.shape[1]) != num_planes:
        raise ValueError(f"the questions have {found} planes, the network sees {num_planes}")
    num_legal = requests.num_legal[rows]
    if (num_legal - np.uint8(1) >= MAX_MOVES).any():  # 0 - 1 is 255
        raise ValueError(f"a question needs 1 to {MAX_MOVES} legal moves")


def require_same_sizes(are_same: bool, is_occupied: bool) -> None:
    """Raise ``ValueError`` where a network cannot take the place of another one now."""
    if not are_same:
        raise ValueError("the new network has other sizes; open a backend for it")
    if is_occupied:
        raise ValueError("the network can be replaced only while no slot is occupied")
