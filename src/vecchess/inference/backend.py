"""The protocol that a device implements for the engine. A backend handles slots, not chess."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vecchess.inference.playable_net import PlayableNet
from vecchess.inference.requests import Requests


class Backend(Protocol):
    """S slots, each empty or holding one position at its own time step.

    The answer of a slot depends on its position alone: not on the other slots, the order of
    admission or the time step any other slot is at. Accumulators are integers in units of 2^-F;
    logit after t steps = accumulator / t * scale.

    A backend may have these besides, for meters and tuning:
        steps_at_once     most time steps of a slot in one call of ``advance``; 1 without it
        kernel_ns         time in ns that the network was computed, by the device's own clock
        late_steps        steps that slots were occupied after they had settled, summed over slots,
                          where they are reported late
        is_asynchronous   True where the device computes while the host does something else
        nbytes            bytes of slots and weights
    """

    @property
    def num_slots(self) -> int:
        """S."""
        ...

    @property
    def time_steps(self) -> int:
        """T, the most steps a slot takes."""
        ...

    @property
    def policy_scale(self) -> float:
        """Logit per accumulator unit and step, policy."""
        ...

    @property
    def value_scale(self) -> float:
        """Logit per accumulator unit and step, win/draw/loss."""
        ...

    def admit(self, slots: NDArray[np.int32], requests: Requests, rows: NDArray[np.int32]) -> None:
        """Put the questions of ``rows: int32[K]`` into the free ``slots: int32[K]``, at step 0.

        The answer goes into the same row: the backend may write policy, wdl and steps of a row
        from now on until its slot is settled, and the question does not change meanwhile. All
        occupied slots belong to the same ``requests``. Raises ``ValueError`` for a slot that is
        not free, a row without legal moves, and other planes than the network's.
        """
        ...

    def advance(self) -> None:
        """Take a time step, or a few at once, in every occupied slot; a settled one takes none."""
        ...

    def settled(self) -> NDArray[np.int32]:
        """int32[K]: the slots that settled since the last call, ascending, each slot once.

        Their rows hold the whole answer, and they are free from now on. A device that works while
        the host does something else may report a slot one call late.
        """
        ...

    def clear(self) -> None:
        """Free all slots; the questions in them stay unanswered."""
        ...

    def replace_network(self, net: PlayableNet) -> None:
        """Answer with ``net`` from now on, by the same exit rule.

        Raises ``ValueError`` unless all slots are free and its sizes are the same, and
        ``NetworkError`` for a network that is not exact; the old one then stays.
        """
        ...
