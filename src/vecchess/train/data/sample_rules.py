"""What recorded games teach: their results, and values that count the men."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.rules import Termination
from vecchess.config import TrainConfig
from vecchess.store.records import VALUE_UNIT, GameRecords

PAWN_WORTH = 0.368208
"""A lead of n pawns scores 2 / (1 + exp(-PAWN_WORTH * n)) - 1, win less loss, as lichess fitted to
games (https://lichess.org/page/accuracy)."""


@dataclass(frozen=True)
class SampleRules:
    """What recorded games teach."""

    trace: float = 1.0
    """Lambda of the returns, see ``returns.py``."""
    capped_lead: int = 0
    """Pawns by which a side must be ahead where a game ended at its cap of plies, for the game to
    teach a win; 0: it teaches a draw."""
    material_share: float = 0.0
    """Share of ``worth_of_men`` in the values; the rest is what was recorded."""
    newest_only: bool = False
    """Learn what the last network of each game played, for on-policy objectives."""

    @classmethod
    def of(cls, config: TrainConfig) -> "SampleRules":
        """The rules of a training."""
        share = config.loss.material_share if config.is_on_policy else 0.0
        return cls(config.trace, config.loss.capped_lead, share, config.is_on_policy)

    def taught(
        self, records: GameRecords, leads: NDArray[np.int64], balances: NDArray[np.int16]
    ) -> GameRecords:
        """``records`` with the results and the values that they teach.

        ``leads``: int64[G], White's men in the last position less Black's, in pawns. ``balances``:
        int16[plies], the mover's men less the other side's before each ply.
        """
        records = replace(records, result=taught_results(records, leads, self.capped_lead))
        share = self.material_share
        if share == 0:
            return records
        values = [
            np.rint((1 - share) * recorded + share * VALUE_UNIT * worth).astype(np.uint16)
            for recorded, worth in zip(
                (records.win, records.draw), worth_of_men(balances), strict=True
            )
        ]
        return replace(records, win=values[0], draw=values[1])


PLAIN_RULES = SampleRules()
"""Games teach their results."""


def worth_of_men(balances: NDArray[np.int16]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shares of won and drawn games, float64[plies] each, for a lead of ``balances`` pawns: the
    side that is ahead wins or draws."""
    score = np.tanh(PAWN_WORTH / 2 * balances)
    return np.maximum(score, 0.0), 1.0 - np.abs(score)


def taught_results(
    records: GameRecords, leads: NDArray[np.int64], capped_lead: int
) -> NDArray[np.int8]:
    """int8[G]: the result that each game teaches, White's view.

    It is the game's, except at the cap of plies, where ``leads`` decide. See ``SampleRules``.
    """
    is_won = (np.abs(leads) >= capped_lead) & (capped_lead > 0)
    is_called = is_won & (records.termination == Termination.PLY_CAP)
    results: NDArray[np.int8] = np.where(is_called, np.sign(leads), records.result).astype(np.int8)
    return results
