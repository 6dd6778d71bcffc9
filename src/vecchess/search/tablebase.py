"""Syzygy tablebases through python-chess: exact outcomes of positions with few men."""

import os
from contextlib import suppress
from pathlib import Path

import chess
import chess.syzygy
import numpy as np
from numpy.typing import NDArray

from vecchess.chess.fen import to_board
from vecchess.chess.position import Positions
from vecchess.errors import ConfigError
from vecchess.runtime.reporting import ReportLine
from vecchess.safe_parse import clip_line
from vecchess.search.kernels.evaluate_leaf import UNKNOWN_OUTCOME

_WON = 2
"""Won within the fifty-move rule; 1 is a win that the rule makes a draw."""


_MAGIC = b"\x71\xe8\x23\x5d"
_BLOCK, _REST = 64, 16
"""A table's file has whole blocks of 64 bytes and a checksum of 16."""


def folders_of(syzygy: Path) -> list[Path]:
    """The folders that a setting names, with the system's separator of paths between them, as other
    engines take them."""
    return [syzygy] if syzygy.is_dir() else [Path(part) for part in str(syzygy).split(os.pathsep)]


class Tablebase:
    """The Syzygy files of some folders. Used by one thread at a time."""

    def __init__(self, syzygy: Path, report_damage: ReportLine | None = None) -> None:
        """Open the folders (``folders_of``); raises ConfigError for one without tables.

        A table that cannot be read, now or later, is reported and left out; without
        ``report_damage`` it raises ConfigError, because games would depend on when that happened.
        """
        self._tables = chess.syzygy.Tablebase()
        self._report_damage = report_damage
        for folder in folders_of(syzygy):
            if not folder.is_dir():
                raise ConfigError(f"syzygy: there is no folder {folder}")
            if not self._tables.add_directory(str(folder), load_dtz=False):
                raise ConfigError(f"syzygy: there are no tables (*.rtbw) in {folder}")
        for table in set(self._tables.wdl.values()):
            if fault := _fault_of(Path(table.path)):
                self._leave_out(table, fault)
        self.most_men = max((len(name) - 1 for name in self._tables.wdl), default=0)

    def outcomes(self, positions: Positions) -> NDArray[np.int64]:
        """Outcomes for the movers of positions, ``uint64[B, 8]``: 1 won, 0 drawn, -1 lost.

        int64[B]; ``UNKNOWN_OUTCOME`` where there is no table. Wins that the fifty-move rule makes
        draws are draws. The positions have no castling rights and a halfmove clock of 0.
        """
        return np.array([self._outcome(to_board(row)) for row in positions], np.int64)

    def _outcome(self, board: chess.Board) -> int:
        while True:
            try:
                wdl = self._tables.get_wdl(board)
            except Exception as error:  # what python-chess raises for damaged bytes is anything
                if not self._tables.lru:
                    raise
                self._leave_out(self._tables.lru[0], f"{type(error).__name__}: {error}")
                continue
            if wdl is None:
                return UNKNOWN_OUTCOME
            return (wdl >= _WON) - (wdl <= -_WON)

    def _leave_out(self, table: chess.syzygy.Table, fault: str) -> None:
        """Go on without ``table``, which is the one read last, or none was read yet."""
        for key in (table.key, table.mirrored_key):
            self._tables.wdl.pop(key, None)
        with suppress(ValueError):
            self._tables.lru.remove(table)
        line = f"syzygy: {table.path} cannot be read ({clip_line(fault)}): copy it again"
        if self._report_damage is None:
            raise ConfigError(line)
        self._report_damage(f"{line}; it is left out")


def _fault_of(file: Path) -> str:
    """What is wrong with the size or the first bytes of a table, or ""."""
    try:
        with file.open("rb") as opened:
            if opened.read(len(_MAGIC)) != _MAGIC:
                return "it is no Syzygy table"
        is_whole = file.stat().st_size % _BLOCK == _REST
    except OSError as error:
        return str(error.strerror)
    return "" if is_whole else "it is cut off"
