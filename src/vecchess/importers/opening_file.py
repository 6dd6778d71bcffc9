"""Start positions in a file of another program: EPD, FEN or PGN."""

from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.fen import from_board, from_fens, to_fens
from vecchess.chess.rules import Termination, terminations
from vecchess.errors import ConfigError
from vecchess.importers.pgn_import import read_main_line
from vecchess.shapes import POSITION_WORDS


def read_openings(file: Path) -> NDArray[np.uint64]:
    """The positions of an EPD, FEN or PGN file, uint64[starts, 8]; raises ConfigError."""
    words, numbers = array("Q"), array("q")
    unit, read = ("game", _game_ends) if file.suffix.lower() == ".pgn" else ("line", _positions)
    try:
        with file.open(encoding="utf-8-sig") as handle:
            for number, row in read(handle, file):
                words.extend(row.tolist())
                numbers.append(number)
    except OSError as error:
        raise ConfigError(f"cannot read openings {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"openings {file} is not a text file") from None
    if not numbers:
        raise ConfigError(f"openings {file} holds no positions")
    table = np.array(words, np.uint64).reshape(-1, POSITION_WORDS)
    for number, row, over in zip(numbers, table, terminations(table), strict=True):
        if over != Termination.ONGOING:
            fen = to_fens(row[None])[0]
            raise ConfigError(f"{file}, {unit} {number}: no game can start from {fen}: it is over")
    return table


def _positions(handle: TextIO, file: Path) -> Iterator[tuple[int, NDArray[np.uint64]]]:
    """(line, position) of each line; operations after the position are passed over."""
    for number, line in enumerate(handle, 1):
        parts = line.split(None, 6)
        if not parts or parts[0].startswith("#"):
            continue
        has_clocks = len(parts) >= 6 and parts[4].isdecimal() and parts[5].isdecimal()
        fields = parts[:6] if has_clocks else [*parts[:4], "0", "1"]
        try:
            yield number, from_fens([" ".join(fields)])[0]
        except ConfigError as error:
            raise ConfigError(f"{file}, line {number}: {error}") from None


def _game_ends(handle: TextIO, file: Path) -> Iterator[tuple[int, NDArray[np.uint64]]]:
    """(game, position) that each game ends in."""
    number = 0
    while (game := read_main_line(handle)) is not None:
        number += 1
        if game.fault:
            raise ConfigError(f"{file}, game {number}: {game.fault}")
        yield number, from_board(game.board)
