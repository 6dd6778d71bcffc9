"""What was thought of a position, as a PGN comment that others read.

    [%eval 0.31] [%wdl 412 253 335] [%visits 800] [%steps 2461]

A comment speaks of the position that the move before it led to, as lichess has it: what was thought
of the start stands before the first move, what made the mover choose a move stands before it.

    eval     pawns, White's view (database.lichess.org). Our values are expected scores; this is the
             number of pawns that lichess takes for the same score, from
             Win% = 50 + 50 * (2 / (1 + exp(-0.00368208 * centipawns)) - 1)
             (lichess.org/page/accuracy), at most 20.70: a score half of the smallest step stored
    wdl      win, draw and loss of the side to move in thousandths, as UCI engines tell them; the
             value is stored in 1/511, so it can be had back from these
    visits   simulations of the search, or nodes of an engine; left out where nothing was searched
    steps    time steps of the network for all answers that the move needed; left out where no
             network was asked
"""

import math

import numpy as np

from vecchess.export.export_game import RecordedGame
from vecchess.store.records import VALUE_UNIT

LICHESS_SLOPE = 0.00368208
"""Of the logistic curve from centipawns to expected score."""
MOST_BALANCE = 1 - 0.5 / VALUE_UNIT
"""A certain win has no number of pawns: it is taken for half a unit less than certain."""
PER_MILLE = 1000


def comment(game: RecordedGame, ply: int, is_white: bool) -> str:
    """Of the position before ``ply``, where White moves if ``is_white``; "" if nobody judged it."""
    if not game.judged[ply]:
        return ""
    place = game.plies.start + ply
    records = game.records
    cp = centipawns(float(game.balance[ply]))
    win, draw = (per_mille(int(column[place])) for column in (records.win, records.draw))
    parts = [
        f"[%eval {(cp if is_white else -cp) / 100:.2f}]",
        f"[%wdl {win} {draw} {PER_MILLE - win - draw}]",
    ]
    if visits := int(records.visits[place]):
        parts.append(f"[%visits {visits}]")
    if steps := int(records.thought[place] if visits else records.steps[place]):
        parts.append(f"[%steps {steps}]")
    return " ".join(parts)


def centipawns(balance: float) -> int:
    """What lichess' curve takes for ``balance``, P(win) - P(loss) from -1 to 1."""
    held = float(np.clip(balance, -MOST_BALANCE, MOST_BALANCE))
    return round(2 * math.atanh(held) / LICHESS_SLOPE)


def per_mille(probability: int) -> int:
    """Thousandths of a ``probability`` in 1/511."""
    return round(probability * PER_MILLE / VALUE_UNIT)
