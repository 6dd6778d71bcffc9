"""Syzygy tablebases through python-chess: exact outcomes of positions with few men."""

from pathlib import Path

import chess
import chess.syzygy
import numpy as np
from numpy.typing import NDArray

from vecchess.chess.fen import to_board
from vecchess.chess.position import Positions
from vecchess.errors import ConfigError
from vecchess.search.kernels.evaluate_leaf import UNKNOWN_OUTCOME

_WON = 2
"""Won within the fifty-move rule; 1 is a win that the rule makes a draw."""


class Tablebase:
    """The Syzygy files of a folder. Used by one thread at a time."""

    def __init__(self, folder: Path) -> None:
        """Open the folder; raises ConfigError where it has no tables."""
        if not folder.is_dir():
            raise ConfigError(f"syzygy: there is no folder {folder}")
        self._tables = chess.syzygy.Tablebase()
        if not self._tables.add_directory(str(folder), load_dtz=False):
            raise ConfigError(f"syzygy: there are no tables (*.rtbw) in {folder}")
        self.most_men = max(len(name) - 1 for name in self._tables.wdl)

    def outcomes(self, positions: Positions) -> NDArray[np.int64]:
        """For the mover of each position, ``uint64[B, 8]``: 1 won, 0 drawn, -1 lost.

        int64[B]; ``UNKNOWN_OUTCOME`` where there is no table. Wins that the fifty-move rule makes
        draws are draws. The positions have no castling rights and a halfmove clock of 0.
        """
        return np.array([self._outcome(to_board(row)) for row in positions], np.int64)

    def _outcome(self, board: chess.Board) -> int:
        wdl = self._tables.get_wdl(board)
        if wdl is None:
            return UNKNOWN_OUTCOME
        return (wdl >= _WON) - (wdl <= -_WON)
