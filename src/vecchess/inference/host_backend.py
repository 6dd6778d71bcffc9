"""The part of a backend that computing on the host has in common: rows and slots."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import ConfigError
from vecchess.inference.playable_net import BuiltInNet, Lc0Net, PlayableNet
from vecchess.inference.requests import Requests
from vecchess.shapes import MAX_MOVES
from vecchess.snn.integer.bounds import check_bounds
from vecchess.snn.integer.integer_net import IntegerNet

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
        """See ``Backend.admit``."""
        require_free(self._state[slots] != FREE, slots)
        require_questions(requests, rows, self._config.num_planes)
        self._requests = requests
        requests.policy[rows] = 0
        requests.wdl[rows] = 0
        requests.steps[rows] = 0
        self._rows[slots] = rows
        self._state[slots] = BUSY

    def advance(self) -> None:
        """See ``Backend.advance``."""
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
        """See ``Backend.settled``."""
        slots = np.flatnonzero(self._state == SETTLED).astype(np.int32)
        self._state[slots] = FREE
        return slots

    def replace_network(self, net: PlayableNet) -> None:
        """See ``Backend.replace_network``."""
        require_same_sizes(self._config == net.config, bool((self._state != FREE).any()))
        self._require_exact(net)
        self._load(net)
        self._use(net)

    @abstractmethod
    def _load(self, net: PlayableNet) -> None:
        """Compute with ``net``, which is exact and has the sizes of the first network."""


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
