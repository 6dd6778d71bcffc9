"""A backend whose answers come from a function of the user, for searches."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vecchess.chess.history import REPEATED_SHIFT
from vecchess.chess.position import COUNTERS
from vecchess.chess.unpack_planes import unpack_planes
from vecchess.inference.float_backend import FloatBackend
from vecchess.shapes import NUM_ACTIONS, NUM_OUTCOMES, POSITION_WORDS

Inputs = Literal["planes", "bitboards", "positions"]
"""What an evaluator is given: float32[K, P, 8, 8], uint64[K, P] or uint64[K, 8]."""
Evaluator = Callable[[NDArray[Any]], tuple[Any, Any]]
"""``inputs -> logits, values``, numpy or torch: float[K, 4672] of all actions, and float[K] the
expected result from -1 to 1, or float[K, 3] logits of win, draw and loss; the mover's view."""
_LEAST = 1e-6
"""Probability of a result that a value of 1 or -1 rules out."""


class EvaluatorBackend(FloatBackend):
    """``Backend`` with S slots: all that are admitted together are evaluated in one call.

    Logits are rounded to 2**-16. With ``batch_size`` the evaluator always gets so many rows, filled
    up with rows of zeros: then an answer of floats does not depend on how many others there are,
    and a compiled network sees one shape.
    """

    def __init__(
        self, evaluator: Evaluator, num_slots: int, inputs: Inputs, batch_size: int | None = None
    ) -> None:
        """``inputs``: see ``Inputs``; positions need rows of ``POSITION_INPUTS``."""
        super().__init__("the evaluator", num_slots, batch_size)
        self._evaluator, self._inputs = evaluator, inputs

    def _logits(self, planes: NDArray[np.uint64]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Logits of packed planes, uint64[K, P]; raises ValueError for those of wrong shapes."""
        logits, values = (_array(part) for part in self._evaluator(self._given(planes)))
        size = len(planes)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if logits.shape != (size, NUM_ACTIONS) or values.shape not in ((size,), (size, 3)):
            shapes = f"{list(logits.shape)} and {list(values.shape)}"
            wants = f"[{size}, {NUM_ACTIONS}] and [{size}] or [{size}, 3]"
            raise ValueError(f"the evaluator must give logits and values {wants}, not {shapes}")
        return logits, _outcome_logits(values)

    def _given(self, planes: NDArray[np.uint64]) -> NDArray[Any]:
        if self._inputs == "planes":
            unpacked: NDArray[Any] = unpack_planes(planes)
            return unpacked
        if self._inputs == "bitboards":
            return planes
        positions = planes[:, :POSITION_WORDS].copy()
        positions[:, COUNTERS] &= ~np.uint64(1 << REPEATED_SHIFT)
        return positions


def _array(answer: ArrayLike) -> NDArray[Any]:
    """An answer of numpy, or a tensor of torch on any device, as an array."""
    tensor: Any = answer
    if hasattr(tensor, "detach"):
        tensor = tensor.detach().float().cpu().numpy()
    return np.asarray(tensor)


def _outcome_logits(values: NDArray[Any]) -> NDArray[np.float32]:
    """float32[K, 3] of win, draw, loss; a single value is a result without draws."""
    if values.ndim == 2:
        return values.astype(np.float32)
    logits = np.empty((len(values), NUM_OUTCOMES), np.float32)
    win = np.clip((1 + values.astype(np.float64)) / 2, _LEAST, 1 - _LEAST)
    logits[:, 0], logits[:, 1], logits[:, 2] = np.log(win), 2 * np.log(_LEAST), np.log1p(-win)
    return logits
