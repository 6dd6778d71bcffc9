"""Backends that give a worker's parent something to notice: slow compiling, hunger for memory."""

import time
from typing import Any

import numpy as np

from vecchess.inference.builtin import ConstantBackend
from vecchess.jit import compiling


class SlowToCompile(ConstantBackend):
    """Compiles for ``seconds`` when the first answer is wanted, as a new kind of network does."""

    seconds = 0.0

    def advance(self) -> None:
        """The work of the network."""
        with compiling():
            time.sleep(self.seconds)
        self.seconds = 0.0
        super().advance()


def slow(net: Any, slots: int, rule: Any, device: str, threads: int, seconds: str) -> SlowToCompile:
    """A factory of backends."""
    backend = SlowToCompile(slots)
    backend.seconds = float(seconds)
    return backend


def hungry(
    net: Any, slots: int, rule: Any, device: str, threads: int, mb_a_slot: str
) -> ConstantBackend:
    """A factory of backends that take so much memory for each slot."""
    backend: Any = ConstantBackend(slots)
    backend.memory = np.ones(slots * int(mb_a_slot) << 17)
    return backend  # type: ignore[no-any-return]
