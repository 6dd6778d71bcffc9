"""What recorded games teach: results, values that count material, and returns, TD(lambda) for two
players.

Win, draw and loss of a position are a vector in the mover's view. The next position is the other
side's, so its vector enters with win and loss exchanged, written ' here:

    R[t] = (1 - trace) * V'[t + 1] + trace * R'[t + 1]         R[last] = the game's result

V is the recorded value and the discount is 1. Games without evaluations (PGN files) have no V, nor
have random opening plies: R[t] = R'[t + 1]. A ply without an evaluation after one that has it is a
random move. What follows it says nothing of the moves before, so that the return ends there at the
last value, R[t] = V[t] (decision 221): a game that has labels at every second or third ply teaches
these alone, whatever ``trace`` is. The return ends too at the last ply of a game that goes on in
the next generation: that ply teaches nothing, and the others are bootstrapped with its value. With
v = win - loss, R.v - V.v is the generalised advantage estimate of Schulman et al. 2016,
eq. 16, for gamma = 1 and rewards that change sign every ply: ``trace`` is its lambda.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.position import COLOUR_SHIFT, COUNTERS
from vecchess.chess.rules import Termination
from vecchess.config import TrainConfig
from vecchess.jit import inline, kernel
from vecchess.shapes import NUM_OUTCOMES
from vecchess.store.records import VALUE_UNIT, GameRecords

PAWN_WORTH = 0.368208
"""A lead of n pawns scores 2 / (1 + exp(-PAWN_WORTH * n)) - 1, win less loss, as lichess fitted to
games (https://lichess.org/page/accuracy)."""


@dataclass(frozen=True)
class SampleRules:
    """What recorded games teach."""

    trace: float = 1.0
    """Lambda of the returns, see above."""
    capped_lead: int = 0
    """Pawns by which a side must be ahead where a game ended at its cap of plies, for the game to
    teach a win; 0: it teaches a draw."""
    material_share: float = 0.0
    """Share of ``worth_of_material`` in the values; the rest is what was recorded."""
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

        ``leads``: int64[G], White's material in the last position less Black's, in pawns.
        ``balances``: int16[plies], the mover's less the other side's before each ply.
        """
        records = replace(records, result=taught_results(records, leads, self.capped_lead))
        share = self.material_share
        if share == 0:
            return records
        values = [
            np.rint((1 - share) * recorded + share * VALUE_UNIT * worth).astype(np.uint16)
            for recorded, worth in zip(
                (records.win, records.draw), worth_of_material(balances), strict=True
            )
        ]
        return replace(records, win=values[0], draw=values[1])


PLAIN_RULES = SampleRules()
"""Games teach their results."""


def worth_of_material(
    balances: NDArray[np.int16],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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


@inline
def wdl_value(win: Any, draw: Any) -> Any:
    """Recorded ``win`` and ``draw`` (integers) as (win, draw, loss), float64, with sum 1."""
    loss = max(VALUE_UNIT - win - draw, 0)
    total = np.float64(win + draw + loss)
    return win / total, draw / total, loss / total


def lambda_returns(records: GameRecords, trace: float) -> NDArray[np.float32]:
    """float32[plies, 3]: the return of every ply as win, draw, loss, mover's view.

    ``trace``: 0 takes the value one evaluated ply ahead, 1 the game's result.
    """
    returned = np.zeros((len(records.action), NUM_OUTCOMES), np.float32)
    _compute_returns(
        records.offsets,
        outcomes(records),
        records.termination == Termination.ONGOING,
        np.ascontiguousarray(records.win),
        np.ascontiguousarray(records.draw),
        records.evaluated(),
        trace,
        returned,
    )
    return returned


def outcomes(records: GameRecords) -> NDArray[np.int8]:
    """int8[plies]: the game's result for the mover of each ply: 1 won, 0 drawn, -1 lost."""
    began_black = (records.start[:, COUNTERS] >> np.uint64(COLOUR_SHIFT)).astype(np.int64)
    game = np.repeat(np.arange(records.num_games), records.lengths)
    ply = np.arange(len(records.action)) - records.offsets[game]
    sign = np.where((ply + began_black[game]) % 2 == 0, 1, -1).astype(np.int8)
    result: NDArray[np.int8] = records.result[game] * sign
    return result


@inline
def _one_hot(outcome: Any) -> Any:
    """An outcome, 1, 0 or -1, as (win, draw, loss), float64."""
    return np.float64(outcome == 1), np.float64(outcome == 0), np.float64(outcome == -1)


@kernel
def _compute_returns(offsets, outcome, goes_on, win, draw, evaluated, trace, returned):  # type: ignore[no-untyped-def]
    for game in range(len(offsets) - 1):
        end = offsets[game + 1]
        for ply in range(end - 1, offsets[game] - 1, -1):
            weight, value = 0.0, (0.0, 0.0, 0.0)
            if ply + 1 == end and not goes_on[game]:
                value = _one_hot(outcome[ply])
            elif ply + 1 == end:
                value = wdl_value(np.int64(win[ply]), np.int64(draw[ply]))
            elif evaluated[ply + 1]:
                weight = trace
                loss, drawn, won = wdl_value(np.int64(win[ply + 1]), np.int64(draw[ply + 1]))
                value = won, drawn, loss
            elif evaluated[ply]:
                value = wdl_value(np.int64(win[ply]), np.int64(draw[ply]))
            else:
                weight = 1.0
            for index in range(3):
                later = returned[ply + 1, 2 - index] if weight > 0.0 else np.float32(0.0)
                returned[ply, index] = (1.0 - weight) * value[index] + weight * later
