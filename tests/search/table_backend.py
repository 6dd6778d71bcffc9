"""An evaluator for tests of the search: a fixed table of answers, and a backend that reads it.

An answer depends on the planes and the legal actions alone. Policies range from flat to a few
nats, values from lost to won; one position in four has answers on a coarse grid, so that equal
priors and equal values occur.
"""

import numpy as np
from numpy.typing import NDArray

from vecchess.inference.builtin import ConstantBackend
from vecchess.inference.requests import Requests

POLICY_SCALE = 2.0**-10
VALUE_SCALE = 2.0**-11
_U = np.uint64


def answer(
    planes: NDArray[np.uint64], legal: NDArray[np.uint16]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]:
    """Answers of B questions: ``uint64[B, P], uint16[B, L] -> int32[B, L], int32[B, 3], uint8[B]``.

    Accumulators of the legal actions and of win, draw, loss, and time steps 1 to 4. At step 1 the
    policy logits of one position spread over 0 to 8 nats, those of the value likewise.
    """
    places = np.arange(1, planes.shape[1] + 1, dtype=_U)
    mixed = _mix(np.bitwise_xor.reduce(_mix(planes ^ places * _U(0x9E3779B97F4A7C15)), axis=1))
    steps = 1 + (mixed >> _U(62))
    spread = mixed >> _U(57) & _U(31)
    grid = np.where(mixed >> _U(55) & _U(3) == 0, _U(1023), _U(0))
    columns = (mixed[:, None], (spread * steps)[:, None], grid[:, None])
    outcomes = np.array([[5000, 5001, 5002]], dtype=_U)
    return _accumulators(legal, *columns), _accumulators(outcomes, *columns), steps.astype(np.uint8)


def _accumulators(
    items: NDArray[np.unsignedinteger], mixed: NDArray[_U], size: NDArray[_U], grid: NDArray[_U]
) -> NDArray[np.int32]:
    word = _mix(mixed ^ items.astype(_U) * _U(0xD6E8FEB86659FD93)) >> _U(52)
    return ((word & ~grid) * size // _U(16)).astype(np.int32)


def _mix(word: NDArray[_U]) -> NDArray[_U]:
    """The finaliser of splitmix64."""
    word = (word ^ word >> _U(30)) * _U(0xBF58476D1CE4E5B9)
    word = (word ^ word >> _U(27)) * _U(0x94D049BB133111EB)
    return word ^ word >> _U(31)


class TableBackend(ConstantBackend):
    """Answers from the table after one call of ``advance``, for any number of steps."""

    time_steps = 4
    policy_scale = POLICY_SCALE
    value_scale = VALUE_SCALE

    def answer(self, requests: Requests, rows: NDArray[np.int32]) -> None:
        """Look the rows up. Beyond the legal moves the policy is rubbish."""
        policy, wdl, steps = answer(requests.planes[rows], requests.legal[rows])
        requests.policy[rows], requests.wdl[rows], requests.steps[rows] = policy, wdl, steps
