"""Games of a match for everyone else: as python-chess has them, and as PGN."""

import math
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

import chess
import chess.pgn
import numpy as np
from numpy.typing import NDArray

from vecchess.arena.record import Forfeit, MatchGame, ending_name
from vecchess.chess.fen import to_board
from vecchess.chess.rules import Termination
from vecchess.chess.uci import to_chess_move
from vecchess.errors import ConfigError, DataError

RESULTS = {1.0: "1-0", 0.5: "1/2-1/2", 0.0: "0-1"}
_TERMINATIONS = {
    Forfeit.TIME: "time forfeit",
    Forfeit.STALL: "time forfeit",
    Forfeit.ILLEGAL_MOVE: "rules infraction",
    Forfeit.CRASH: "abandoned",
    Termination.PLY_CAP: "adjudication",
    Termination.ADJUDICATION: "adjudication",
    Termination.TABLEBASE: "adjudication",
}
"""In the words of the PGN standard (section 9.8.1); "normal" for all others."""


def start_board(start: NDArray[np.uint64]) -> chess.Board:
    """The position a game begins with, uint64[8]; Chess960's where castling needs it."""
    board = to_board(start, chess960=False)
    board.chess960 = board.has_chess960_castling_rights()
    return board


def to_pgn(game: MatchGame, players: tuple[str, str], event: str = "vecchess match") -> str:
    """A game of the players (first, second) as PGN.

    After each move that its player judged: the score it expects, 0 to 1, and the positions it
    looked at, as ``{0.613 64}``.
    """
    white, black = players if game.first_is_white else players[::-1]
    board = start_board(game.start)
    found = chess.pgn.Game(
        {
            "Event": event,
            "Site": "?",
            "Date": datetime.now(UTC).strftime("%Y.%m.%d"),
            "Round": f"{game.number // 2 + 1}.{game.number % 2 + 1}",
            "White": white,
            "Black": black,
            "Result": RESULTS[game.white_points],
            "PlyCount": str(len(game.moves)),
            "Termination": _TERMINATIONS.get(game.ending, "normal"),  # type: ignore[call-overload]
            "Ending": ending_name(game.ending).replace("_", " "),
        }
    )
    if board.chess960 or board.fen() != chess.STARTING_FEN:
        found.setup(board)
    node: chess.pgn.GameNode = found
    for ply, word in enumerate(game.moves.tolist()):
        move = to_chess_move(board, word)
        node = node.add_main_variation(move, comment=_comment(game, ply))
        board.push(move)
    return str(found)


def _comment(game: MatchGame, ply: int) -> str:
    value = float(game.values[ply])
    return "" if math.isnan(value) else f"{value:.3f} {game.visits[ply]}"


class PgnFile:
    """A file that games are added to as they end."""

    def __init__(self, path: Path, players: tuple[str, str]) -> None:
        """Raises ConfigError where there is no folder for ``path``. Nothing is opened yet."""
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise ConfigError(f"cannot write games to {path}: it is no place for a file")
        self._players, self._path = players, path

    def __enter__(self) -> "PgnFile":
        """Open the file; what it holds stays. Raises ConfigError where that is not allowed."""
        try:
            self._file = self._path.open("a")
        except OSError as error:
            raise ConfigError(f"cannot write games to {self._path}: {error.strerror}") from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Close the file."""
        self._file.close()

    def add(self, games: Iterable[MatchGame]) -> None:
        """Write ``games``; raises DataError where the disk refuses."""
        try:
            for game in games:
                self._file.write(to_pgn(game, self._players) + "\n\n")
            self._file.flush()
        except OSError as error:
            raise DataError(f"cannot write games to {self._path}: {error.strerror}") from None
