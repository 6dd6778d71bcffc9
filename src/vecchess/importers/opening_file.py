"""Start positions in a file of another program: EPD, FEN or PGN."""

from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.fen import from_board, from_fens, to_fens
from vecchess.chess.parse_epd import parse_epd
from vecchess.chess.read_pgn import read_pgn
from vecchess.chess.rules import Termination, terminations
from vecchess.errors import ConfigError
from vecchess.importers.pgn_import import is_pgn
from vecchess.importers.text_lines import read_lines
from vecchess.shapes import POSITION_WORDS
from vecchess.store.records import MAX_PLIES


def read_openings(file: Path) -> NDArray[np.uint64]:
    """The positions of an EPD, FEN or PGN file, uint64[starts, 8]; raises ConfigError."""
    words, numbers = array("Q"), array("q")
    unit, read = ("game", _game_ends) if is_pgn(file) else ("line", _positions)
    for number, row in read(file):
        words.extend(row.tolist())
        numbers.append(number)
    if not numbers:
        raise ConfigError(f"openings {file} holds no positions")
    table = np.array(words, np.uint64).reshape(-1, POSITION_WORDS)
    for number, row, over in zip(numbers, table, terminations(table), strict=True):
        if over != Termination.ONGOING:
            fen = to_fens(row[None])[0]
            raise ConfigError(f"{file}, {unit} {number}: no game can start from {fen}: it is over")
    return table


def _positions(file: Path) -> Iterator[tuple[int, NDArray[np.uint64]]]:
    """(line, position) of each line."""
    for number, line in enumerate(read_lines(file), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            yield number, from_fens([parse_epd(line).fen])[0]
        except ConfigError as error:
            raise ConfigError(f"{file}, line {number}: {error}") from None


def _game_ends(file: Path) -> Iterator[tuple[int, NDArray[np.uint64]]]:
    """(game, position) that each game ends in."""
    for number, game in enumerate(read_pgn(read_lines(file), MAX_PLIES), 1):
        if game.fault:
            raise ConfigError(f"{file}, line {game.line}, game {number}: {game.fault}")
        yield number, from_board(game.board)
