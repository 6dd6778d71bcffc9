"""How far the answers of a peer agree with ours."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.bench.inference import BITS
from vecchess.inference.requests import Requests
from vecchess.shapes import MAX_MOVES

STATISTICS = "statistics"


@dataclass(frozen=True)
class Agreement:
    """How far two sets of answers agree."""

    agrees: str
    """"bits": every accumulator the same; "statistics": see the other fields."""
    best_move: float
    """Share of positions with the same best legal move."""
    accumulators: float
    """Share of legal policy accumulators that are equal."""
    deviation: float
    """Mean distance of policy accumulators in units of their spread."""
    note: str = ""
    """Why they differ, where that is known."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON; of equals there is no more to tell."""
        values = asdict(self)
        return {"agrees": BITS} if self.agrees == BITS else values


def compare(
    policy: NDArray[np.float32], wdl: NDArray[np.float32], unit: float, expected: Requests
) -> Agreement:
    """A peer's accumulators float32[B, 4672] and float32[B, 3] beside ours.

    unit: ours are integers in units of ``unit``, 2^-F.
    """
    counts = np.arange(MAX_MOVES) < expected.num_legal[:, None]
    actions = np.where(counts, expected.legal, 0).astype(np.int64)
    theirs = np.take_along_axis(policy.astype(np.float64), actions, axis=1)
    ours = expected.policy * np.float64(unit)
    equal = (theirs == ours)[counts]
    outcomes_equal = np.array_equal(wdl.astype(np.float64), expected.wdl * np.float64(unit))
    best = [np.where(counts, values, -np.inf).argmax(axis=1) for values in (theirs, ours)]
    return Agreement(
        agrees=BITS if equal.all() and outcomes_equal else STATISTICS,
        best_move=float((best[0] == best[1]).mean()),
        accumulators=float(equal.mean()),
        deviation=float(np.abs(theirs - ours)[counts].mean() / ours[counts].std()),
    )
