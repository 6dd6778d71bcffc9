"""Where games start: the usual position, the 960, or a file of positions or games."""

from collections.abc import Iterator
from pathlib import Path

import chess
import chess.pgn
import numpy as np
from numpy.typing import NDArray

from vecchess.chess.chess960 import chess960_positions, start_positions
from vecchess.chess.fen import from_fens
from vecchess.chess.rules import Termination, terminations
from vecchess.config import GameConfig
from vecchess.errors import ConfigError


def start_table(config: GameConfig) -> NDArray[np.uint64]:
    """uint64[starts, 8]: the positions a game draws its start from.

    Raises ConfigError with file and line where one cannot be read or is over already.
    """
    if config.chess960:
        return chess960_positions(np.arange(960))
    if config.openings is None:
        return start_positions(1)
    return read_openings(config.openings)


def read_openings(file: Path) -> NDArray[np.uint64]:
    """The positions of an EPD, FEN or PGN file, uint64[starts, 8]; raises ConfigError."""
    try:
        entries = list(_pgn_ends(file) if file.suffix.lower() == ".pgn" else _epd_fens(file))
    except OSError as error:
        raise ConfigError(f"cannot read openings {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"openings {file} is not a text file") from None
    if not entries:
        raise ConfigError(f"openings {file} holds no positions")
    positions = []
    for where, fen in entries:
        try:
            positions.append(from_fens([fen]))
        except ConfigError as error:
            raise ConfigError(f"{file}, {where}: {error}") from None
    table = np.concatenate(positions)
    for (where, fen), over in zip(entries, terminations(table), strict=True):
        if over != Termination.ONGOING:
            raise ConfigError(f"{file}, {where}: no game can start from {fen}: it is over")
    return table


def _epd_fens(file: Path) -> Iterator[tuple[str, str]]:
    """(line, FEN) of each line; operations after the position are passed over."""
    for number, line in enumerate(file.read_text().splitlines(), 1):
        parts = line.split()
        if not parts or parts[0].startswith("#"):
            continue
        has_clocks = len(parts) >= 6 and parts[4].isdigit() and parts[5].isdigit()
        fields = parts[:6] if has_clocks else [*parts[:4], "0", "1"]
        yield f"line {number}", " ".join(fields)


def _pgn_ends(file: Path) -> Iterator[tuple[str, str]]:
    """(game, FEN) of the position each game ends in."""
    with file.open() as handle:
        number = 0
        while (game := chess.pgn.read_game(handle)) is not None:
            number += 1
            if game.errors:
                raise ConfigError(f"{file}, game {number}: {game.errors[0]}")
            yield f"game {number}", game.end().board().fen(en_passant="legal")
