"""What a device must be able to do for the engine. A backend knows slots, not chess."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vecchess.inference.requests import Requests
from vecchess.snn.integer.integer_net import IntegerNet


class Backend(Protocol):
    """S slots, each empty or holding one position at its own time step.

    What a slot answers depends on its position alone: not on the other slots, the order of
    admission or the time step any other slot is at. Accumulators are integers in units of 2^-F;
    logit after t steps = accumulator / t * scale.
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
        """Seat ``rows: int32[K]`` in the free ``slots: int32[K]``, at step 0.

        Raises ``ValueError`` for a slot that is not free and a row without legal moves.
        """
        ...

    def advance(self) -> None:
        """One time step for every occupied slot; the settled ones are occupied no longer."""
        ...

    def settled(self) -> NDArray[np.int32]:
        """int32[K]: the slots that settled since the last call, ascending; they are free now.

        A device that works while the host does something else may report a slot one call late;
        the slot has taken no further step meanwhile.
        """
        ...

    def read(self, slots: NDArray[np.int32], requests: Requests, rows: NDArray[np.int32]) -> None:
        """Write policy, wdl and steps of ``slots`` into ``rows``. Valid until the next admission
        to the slot."""
        ...

    def replace_network(self, net: IntegerNet) -> None:
        """Answer with ``net`` from now on, by the same exit rule.

        Raises ``ValueError`` unless all slots are free and its sizes are the same, and
        ``NetworkError`` for a network that is not exact; the old one then stays.
        """
        ...
