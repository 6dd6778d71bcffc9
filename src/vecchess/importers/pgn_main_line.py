"""One game of a PGN file after the other: its main line, or what is wrong with it."""

from dataclasses import dataclass, field
from typing import TextIO

import chess
import chess.pgn

from vecchess.chess.fen import from_board, parse
from vecchess.chess.rules import Termination
from vecchess.errors import ConfigError, DataError
from vecchess.importers.imported_game import ImportedGame, action_of, termination_of
from vecchess.safe_parse import clip_line
from vecchess.store.records import MAX_PLIES

RESULTS = {"1-0": 1, "0-1": -1, "1/2-1/2": 0}


def read_main_line(handle: TextIO) -> "ParsedGame | None":
    """The next game of an open file; None where there is none."""
    try:
        return chess.pgn.read_game(handle, Visitor=_Reader)
    except ValueError as error:  # a glyph ("$1") of thousands of digits
        while handle.readline().strip():
            pass  # the rest of this game
        return ParsedGame(fault=clip_line(error))


@dataclass
class ParsedGame:
    """The main line of one game, and what is wrong with it."""

    board: chess.Board = field(default_factory=chess.Board)
    start: chess.Board = field(default_factory=chess.Board)
    actions: list[int] = field(default_factory=list)
    result: str = "*"
    fault: str = ""

    def contradiction(self) -> str:
        """What is wrong with the result, or ""."""
        claimed = RESULTS.get(self.result)
        if claimed is None or (not self.board.is_checkmate() and not self.board.is_stalemate()):
            return ""
        real = 0 if not self.board.is_check() else -1 if self.board.turn else 1
        return "" if claimed == real else f"the result {self.result} contradicts the last position"

    def game(self, number: int) -> ImportedGame:
        """The finished game as number ``number``."""
        result, over = RESULTS[self.result], termination_of(self.board)
        is_draw = over not in (Termination.ONGOING, Termination.CHECKMATE)
        if over == Termination.ONGOING or (is_draw and result != 0):
            over = Termination.RESIGNATION if result else Termination.ADJUDICATION
        return ImportedGame(number, from_board(self.start), result, over, self.actions)


class _Reader(chess.pgn.BaseVisitor[ParsedGame]):
    """Collects the main line while python-chess reads; the first fault ends it."""

    def __init__(self) -> None:
        self._read = ParsedGame()
        self._has_board = False
        self._where = ""

    def visit_header(self, tagname: str, tagvalue: str) -> None:
        if tagname == "Result":
            self._read.result = tagvalue.strip()

    def begin_variation(self) -> chess.pgn.SkipType:
        return chess.pgn.SKIP

    def visit_result(self, result: str) -> None:
        if self._read.result not in RESULTS:
            self._read.result = result

    def begin_parse_san(self, board: chess.Board, san: str) -> chess.pgn.SkipType | None:
        dots = "." if board.turn else "..."
        self._where = f"move {board.fullmove_number}{dots} {san}"
        if len(self._read.actions) >= MAX_PLIES:
            self._fail(f"it has more than {MAX_PLIES} plies")
        return chess.pgn.SKIP if self._read.fault else None

    def visit_move(self, board: chess.Board, move: chess.Move) -> None:
        if not move:
            self._fail(f"{self._where} is no move")
        else:
            self._read.actions.append(action_of(board, move))

    def visit_board(self, board: chess.Board) -> None:
        if self._has_board:
            return
        self._has_board = True
        self._read.board, self._read.start = board, board.copy()
        try:
            if type(board) is not chess.Board:
                raise ConfigError(f"{type(board).__name__} is not chess")
            parse(board.fen())
        except (ConfigError, DataError) as error:
            self._fail(str(error))

    def handle_error(self, error: Exception) -> None:
        self._fail(f"{self._where} is illegal" if self._where else str(error))

    def _fail(self, fault: str) -> None:
        self._read.fault = self._read.fault or clip_line(fault)

    def result(self) -> ParsedGame:
        return self._read
