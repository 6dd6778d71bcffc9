"""Positions with their best moves as EPD, the format of test suites.

    4k3/8/8/8/8/8/8/R3K3 w Q - bm O-O-O Ra8+; hmvc 3; c0 "905 90 5"; id "endings.17";

``bm`` are the best moves, of which any will do, ``am`` moves to avoid; one of the two has to be
there. ``id`` names the position; what stands before the last "." in it is its source, and results
are given by source too. ``c0`` is the mover's win, draw and loss in 1/1000, as UCI writes ``wdl``;
with anything else it is a remark. Other operations are passed over.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import chess
import numpy as np
from numpy.typing import NDArray

from vecchess.chess.fen import from_board, parse
from vecchess.chess.parse_epd import parse_epd
from vecchess.chess.position import Positions
from vecchess.errors import ConfigError
from vecchess.importers.text_lines import read_hashed_lines
from vecchess.safe_parse import clip_line, is_count

WDL = "win", "draw", "loss"
_NUMBER = re.compile(r"^\d+(\.+|$)")
"""The number before a move, "12." or "3...", perhaps as a word of its own."""


@dataclass(frozen=True)
class BestMoves:
    """N positions, each with a move to play.

    sha256: of their file. positions: uint64[N, 8]. moves: of each its best moves in UCI notation.
    values: float64[N] win - loss of the mover, -1 to 1, NaN where unknown. sources: of each, ""
    where it has none.
    """

    sha256: str
    positions: Positions
    moves: list[frozenset[str]]
    values: NDArray[np.float64]
    sources: list[str]
    left_out: int = 0
    """Lines of the file that could not be read."""

    def __len__(self) -> int:
        """N"""
        return len(self.moves)

    def first(self, num: int | None) -> "BestMoves":
        """The first ``num`` positions; None: all."""
        lists = self.positions[:num], self.moves[:num], self.values[:num], self.sources[:num]
        return BestMoves(self.sha256, *lists, self.left_out)


def read_best_moves(file: Path, skip_bad: bool = False) -> BestMoves:
    """The positions of an EPD file; empty lines and those that begin with "#" are passed over.

    A position without best moves, and without moves to avoid, is left out and counted. A line that
    cannot be read raises ConfigError with file and line, or is left out with ``skip_bad``.
    """
    rows, left_out = [], 0
    digest, lines = read_hashed_lines(file)
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            row = _read_line(line.strip())
        except (ConfigError, ValueError) as error:
            if not skip_bad:
                reason = f"{clip_line(error)}; --skip-bad leaves such lines out"
                raise ConfigError(f"{file}, line {number}: {reason}") from None
            row = None
        if row is None:
            left_out += 1
        else:
            rows.append(row)
    if not rows:
        raise ConfigError(f"{file} holds no positions with best moves")
    positions, moves, values, sources = zip(*rows, strict=True)
    lists = np.stack(positions), list(moves), np.array(values), list(sources)
    return BestMoves(digest, *lists, left_out)


def _read_line(line: str) -> tuple[NDArray[np.uint64], frozenset[str], float, str] | None:
    """A position, the moves that are right, its value and its source; None where no move is."""
    fen, operations = parse_epd(line)
    board = parse(fen)
    board.chess960 = board.has_chess960_castling_rights()
    position, legal = from_board(board), frozenset(map(board.uci, board.legal_moves))
    if not legal:
        raise ConfigError("it has no legal move")
    best, avoided = _moves(board, operations.get("bm", "")), frozenset[str]()
    with suppress(*[ConfigError] if best else []):  # then the moves to avoid are not needed
        avoided = _moves(board, operations.get("am", ""))
    if not best and not avoided:
        return None
    source = operations.get("id", "").rpartition(".")[0]
    return position, (best or legal) - avoided, _value(operations.get("c0", "")), source


def _moves(board: chess.Board, operands: str) -> frozenset[str]:
    """Moves in SAN or UCI, with or without numbers and signs; raises ConfigError."""
    found = set()
    for word in operands.replace(",", " ").split():
        plain = _NUMBER.sub("", word.rstrip("!?+#"))
        if not plain:
            continue
        for read in (board.parse_san, board.parse_uci):
            with suppress(ValueError):
                if move := read(plain):  # a null move is false
                    found.add(board.uci(move))
                    break
        else:
            raise ConfigError(f"{word} is no legal move")
    return frozenset(found)


def _value(remark: str) -> float:
    """Win - loss of three numbers; NaN for any other remark."""
    words = remark.split()
    if len(words) != len(WDL) or not all(map(is_count, words)):
        return np.nan
    win, draw, loss = map(int, words)
    total = win + draw + loss
    return (win - loss) / total if total else np.nan
