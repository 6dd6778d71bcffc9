"""Records hold actions: here they are played again, and positions and moves come back."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.action import actions_to_moves
from vecchess.chess.make import make
from vecchess.chess.position import Positions
from vecchess.shapes import POSITION_WORDS
from vecchess.store.records import GameRecords
from vecchess.store.replay_positions import replay_positions


@dataclass(frozen=True)
class Walk:
    """All games of some records ply by ply, in the order of their ply columns, mover's view.

    positions: uint64[plies, 8]   before each ply
    moves: uint16[plies]          played there
    """

    positions: Positions
    moves: NDArray[np.uint16]


def walk(records: GameRecords) -> Walk:
    """Play all games again. Raises DataError where a recorded move is not legal."""
    num_plies = len(records.action)
    _require_legal(records)
    walked = Walk(np.zeros((num_plies, POSITION_WORDS), np.uint64), np.zeros(num_plies, np.uint16))
    here, first = records.start.copy(), records.offsets[:-1]
    for ply in range(int(records.lengths.max(initial=0))):
        going = np.flatnonzero(records.lengths > ply)
        places = first[going] + ply
        moves = actions_to_moves(here[going], records.action[places])
        walked.positions[places], walked.moves[places] = here[going], moves
        here[going] = make(here[going], moves)
    return walked


def _require_legal(records: GameRecords) -> None:
    """Whoever asks for the last position of every game has all moves before it looked at."""
    replay_positions(records, records.offsets[1:][records.lengths > 0] - 1)
