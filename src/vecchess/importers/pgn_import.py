"""PGN files as shards: the main lines of finished games, read one at a time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import chess
import chess.pgn

from vecchess.chess.fen import from_board, parse
from vecchess.chess.rules import Termination
from vecchess.errors import ConfigError, DataError
from vecchess.importers.import_folder import ImportFolder, open_import_folder
from vecchess.importers.imported_game import ImportedGame, action_of, termination_of, to_records
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


SCHEMA = 1
SOURCE = "pgn"
"""Stands in the records for a network."""
SHARD_GAMES = 1000
OnPgnProgress = Callable[["ImportCounts"], object]


@dataclass
class ImportCounts:
    """Counts of one import."""

    games: int = 0
    plies: int = 0
    empty: int = 0
    """Left out: headers without moves."""
    unfinished: int = 0
    """Left out: no result."""
    bad: int = 0
    """Left out: an illegal move, a bad position, a contradiction, another game than chess."""
    first_bad: str = ""
    """What was wrong with the first of those."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"schema": SCHEMA, **vars(self)}


def import_pgn(
    files: Sequence[Path],
    out: Path,
    skip_bad: bool = False,
    shard_games: int = SHARD_GAMES,
    on_progress: OnPgnProgress = lambda _: None,
) -> ImportCounts:
    """Record the games of ``files`` in the new folder ``out``, in their order.

    A bad game is an error, or left out and counted with ``skip_bad``; after an error nothing is
    left in ``out``. ``on_progress`` is called after each game. Raises ConfigError with file, game
    and move.
    """
    for file in files:
        if not file.exists() or file.is_dir():
            raise ConfigError(f"there is no file {file}")
    counts = ImportCounts()
    with open_import_folder(out, {"schema": SCHEMA, "source": SOURCE}) as folder:
        if folder.manifest.entries:
            raise ConfigError(f"{out} holds imported games already: choose another --out")
        try:
            _import(files, folder, skip_bad, shard_games, counts, on_progress)
        except BaseException:
            folder.remove()
            raise
    return counts


def finished_games(file: Path, skip_bad: bool, counts: ImportCounts) -> Iterator[ImportedGame]:
    """The finished games of a file, numbered on from ``counts``, which counts the others too.

    A bad game raises ConfigError, or is left out with ``skip_bad``.
    """
    index = 0
    try:
        with file.open(encoding="utf-8-sig", errors="replace") as handle:
            while (read := read_main_line(handle)) is not None:
                index += 1
                if fault := read.fault or read.contradiction():
                    line = f"{file}, game {index}: {fault}"
                    if not skip_bad:
                        raise ConfigError(f"{line}; --skip-bad leaves such games out")
                    counts.bad += 1
                    counts.first_bad = counts.first_bad or line
                elif not read.actions:
                    counts.empty += 1
                elif read.result not in RESULTS:
                    counts.unfinished += 1
                else:
                    yield read.game(counts.games)
                    counts.games += 1
                    counts.plies += len(read.actions)
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}") from None


def _import(
    files: Sequence[Path], folder: ImportFolder, skip_bad: bool, shard_games: int,
    counts: ImportCounts, on_progress: OnPgnProgress,
) -> None:  # fmt: skip
    waiting: list[ImportedGame] = []
    for file in files:
        before = counts.games
        for game in finished_games(file, skip_bad, counts):
            waiting.append(game)
            if len(waiting) == shard_games:
                folder.write(to_records(waiting, SOURCE))
                waiting = []
            on_progress(counts)
        if counts.games == before:
            raise ConfigError(f"{file} holds no finished games with moves in PGN")
    if waiting:
        folder.write(to_records(waiting, SOURCE))
