"""PGN files as shards: the main lines of finished games, read one at a time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vecchess.chess.fen import from_board
from vecchess.chess.pgn import RESULT_CODES
from vecchess.chess.read_pgn import PgnGame, read_pgn
from vecchess.chess.rules import Termination
from vecchess.chess.uci_moves import action_of
from vecchess.errors import ConfigError
from vecchess.importers.import_folder import ImportFolder, open_import_folder
from vecchess.importers.imported_game import ImportedGame, termination_of, to_records
from vecchess.importers.text_lines import read_lines
from vecchess.runtime.atomic_output import whole_folder
from vecchess.runtime.atomic_write import path_refusals
from vecchess.store.records import MAX_PLIES

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
    """Left out: no result behind the moves, whatever the tags say."""
    first_cut: str = ""
    """The first of those that has a result in its tags."""
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
    on_progress: OnPgnProgress = lambda _: None,
) -> ImportCounts:
    """Record the games of ``files`` in the new folder ``out``, in their order, all or none.

    A bad game is an error, or left out and counted with ``skip_bad``. ``on_progress`` is called
    after each game. Raises ConfigError with file, game and move, and where ``out`` is there
    already.
    """
    for file in files:
        if not file.exists() or file.is_dir():
            raise ConfigError(f"there is no file {file}")
    counts = ImportCounts()
    with path_refusals(out, ConfigError):
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
    facts = {"schema": SCHEMA, "source": SOURCE}
    with whole_folder(out) as partial, open_import_folder(partial, facts) as folder:
        _import(files, folder, skip_bad, counts, on_progress)
    return counts


def finished_games(file: Path, skip_bad: bool, counts: ImportCounts) -> Iterator[ImportedGame]:
    """The finished games of a file, numbered on from ``counts``, which counts the others too.

    A bad game raises ConfigError, or is left out with ``skip_bad``.
    """
    for index, read in enumerate(read_pgn(read_lines(file), MAX_PLIES), 1):
        where, result = f"{file}, line {read.line}, game {index}", _result(read)
        if fault := read.fault or _contradiction(read):
            if not skip_bad:
                raise ConfigError(
                    f"{where}: {fault}; 'vecchess gather pgn --skip-bad' leaves such games out"
                )
            counts.bad += 1
            counts.first_bad = counts.first_bad or f"{where}: {fault}"
        elif not read.moves:
            counts.empty += 1
        elif result not in RESULT_CODES:
            counts.unfinished += 1
            if read.tags.get("Result") in RESULT_CODES:
                cut = f"{where}: its tag says {read.tags['Result']}, its moves end without a result"
                counts.first_cut = counts.first_cut or cut
        else:
            yield _imported(read, RESULT_CODES[result], counts.games)
            counts.games += 1
            counts.plies += len(read.moves)


def is_pgn(file: Path) -> bool:
    """Whether ``file`` is named as PGN, compressed or not, and is no folder."""
    return ".pgn" in (suffix.lower() for suffix in file.suffixes[-2:]) and not file.is_dir()


def _result(read: PgnGame) -> str:
    """The result behind the moves; that of the tag where a mate or stalemate ends them."""
    is_over = read.board.is_checkmate() or read.board.is_stalemate()
    return read.marker or (read.tags.get("Result", "*") if is_over else "*")


def _contradiction(read: PgnGame) -> str:
    """What is wrong with the result, or ""."""
    claimed, board = RESULT_CODES.get(_result(read)), read.board
    if claimed is None or (not board.is_checkmate() and not board.is_stalemate()):
        return ""
    real = 0 if not board.is_check() else -1 if board.turn else 1
    return "" if claimed == real else f"the result {_result(read)} contradicts the last position"


def _imported(read: PgnGame, result: int, number: int) -> ImportedGame:
    """The finished game as number ``number``."""
    over = termination_of(read.board)
    is_draw = over not in (Termination.ONGOING, Termination.CHECKMATE)
    if over == Termination.ONGOING or (is_draw and result != 0):
        over = Termination.RESIGNATION if result else Termination.ADJUDICATION
    board, actions = read.start.copy(), []
    for move in read.moves:
        actions.append(action_of(board, move))
        board.push(move)
    return ImportedGame(number, from_board(read.start), result, over, actions)


def _import(
    files: Sequence[Path], folder: ImportFolder, skip_bad: bool, counts: ImportCounts,
    on_progress: OnPgnProgress,
) -> None:  # fmt: skip
    waiting: list[ImportedGame] = []
    for file in files:
        before = counts.games
        for game in finished_games(file, skip_bad, counts):
            waiting.append(game)
            if len(waiting) == SHARD_GAMES:
                folder.write(to_records(waiting, SOURCE))
                waiting = []
            on_progress(counts)
        if counts.games == before:
            raise ConfigError(f"{file} holds no finished games with moves in PGN")
    if waiting:
        folder.write(to_records(waiting, SOURCE))
