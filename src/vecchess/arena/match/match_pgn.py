"""Games of a match as PGN, appended to a file as they end."""

import math
import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from vecchess.arena.match_game import Forfeit, MatchGame, ending_name
from vecchess.chess.pgn import RESULTS, in_lines, start_board, to_pgn
from vecchess.chess.rules import Termination
from vecchess.errors import ConfigError, DataError, write_error
from vecchess.runtime.atomic_write import require_place

_TERMINATIONS: dict[int, str] = {
    Forfeit.TIME: "time forfeit",
    Forfeit.STALL: "time forfeit",
    Forfeit.ILLEGAL_MOVE: "rules infraction",
    Forfeit.CRASH: "abandoned",
    Termination.PLY_CAP: "adjudication",
    Termination.ADJUDICATION: "adjudication",
    Termination.TABLEBASE: "adjudication",
}
"""Endings in the words of the PGN standard (section 9.8.1); "normal" for all others."""


def pgn_text(game: MatchGame, players: tuple[str, str]) -> str:
    """A game of the players (first, second) as PGN.

    After each move with a value: the score its player expects, 0 to 1, and the positions it
    looked at, as ``{0.613 64}``.
    """
    white, black = players if game.first_is_white else players[::-1]
    tags = {
        "Event": "vecchess match",
        "Site": "?",
        "Date": datetime.now(UTC).strftime("%Y.%m.%d"),
        "Round": f"{game.number // 2 + 1}.{game.number % 2 + 1}",
        "White": white,
        "Black": black,
        "Result": RESULTS[round(2 * game.white_points) - 1],
        "PlyCount": str(len(game.moves)),
        "Termination": _TERMINATIONS.get(game.ending, "normal"),
        "Ending": ending_name(game.ending).replace("_", " "),
    }
    comments = ["", *(_comment(game, ply) for ply in range(len(game.moves)))]
    return in_lines(to_pgn(tags, start_board(game.start), game.moves, comments))


def _comment(game: MatchGame, ply: int) -> str:
    value = float(game.values[ply])
    return "" if math.isnan(value) else f"{value:.3f} {game.visits[ply]}"


class PgnFile:
    """A PGN file that games are appended to as they end."""

    def __init__(self, path: Path, players: tuple[str, str]) -> None:
        """Raises ConfigError where there is no folder for ``path``. Nothing is opened yet."""
        require_place(path)
        self._players, self._path = players, path

    def __enter__(self) -> "PgnFile":
        """Open the file; what it holds stays. Raises ConfigError where that is not allowed."""
        try:
            self._file = self._path.open("ab", buffering=0)
        except OSError as error:
            raise write_error(f"cannot write games to {self._path}", error, ConfigError) from None
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._file.close()

    def add(self, games: Iterable[MatchGame]) -> None:
        """Write ``games``, all or none; raises DataError where writing fails."""
        text = "".join(pgn_text(game, self._players) + "\n\n" for game in games).encode()
        size = os.fstat(self._file.fileno()).st_size
        try:
            while text:
                text = text[self._file.write(text) :]
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(size)
            raise DataError(f"cannot write games to {self._path}: {error.strerror}") from None
