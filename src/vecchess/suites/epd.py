"""Positions with their best moves as EPD, the format of test suites.

    4k3/8/8/8/8/8/8/R3K3 w Q - bm O-O-O Ra8+; hmvc 3; c0 "905 90 5"; id "endings.17";

``bm`` are the best moves, of which any will do. ``id`` names the position; what stands before the
last "." in it is its source, and results are given by source too. ``c0`` is the mover's win, draw
and loss in 1/1000, as UCI writes ``wdl``. All but ``bm`` may be missing.
"""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import chess
import numpy as np
from numpy.typing import NDArray

from vecchess.chess.fen import from_board, parse
from vecchess.chess.position import COUNTERS, Positions
from vecchess.errors import ConfigError
from vecchess.safe_parse import clip_line, read_bytes

MOST_BYTES = 1 << 24
WDL_TOTAL = 1000


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

    def __len__(self) -> int:
        """N"""
        return len(self.moves)

    def first(self, num: int | None) -> "BestMoves":
        """The first ``num`` positions; None: all."""
        lists = self.positions[:num], self.moves[:num], self.values[:num], self.sources[:num]
        return BestMoves(self.sha256, *lists)


def read_best_moves(file: Path) -> BestMoves:
    """The positions of an EPD file; empty lines and those that begin with "#" are passed over.

    Raises ConfigError with file and line for what cannot be read.
    """
    try:
        data = read_bytes(file, MOST_BYTES, of_any_kind=True)
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file} is not a text file") from None
    except ValueError as error:
        raise ConfigError(f"cannot read {file}: {error}") from None
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            try:
                rows.append(_read_line(line))
            except (ConfigError, ValueError) as error:
                raise ConfigError(f"{file}, line {number}: {clip_line(error)}") from None
    if not rows:
        raise ConfigError(f"{file} holds no positions")
    positions, moves, values, sources = zip(*rows, strict=True)
    lists = np.stack(positions), list(moves), np.array(values), list(sources)
    return BestMoves(sha256(data).hexdigest(), *lists)


def best_moves_line(
    board: chess.Board, move: chess.Move, name: str, wdl: tuple[float, float, float] | None = None
) -> str:
    """The line of a position with one best move. wdl: shares of win, draw and loss."""
    operations: dict[str, Any] = {"bm": move}
    if board.halfmove_clock:
        operations["hmvc"] = board.halfmove_clock
    if wdl is not None:
        win, _, loss = (round(WDL_TOTAL * share / sum(wdl)) for share in wdl)
        operations["c0"] = f"{win} {max(0, WDL_TOTAL - win - loss)} {loss}"
    return board.epd(en_passant="legal", **operations, id=name)


def as_seen(position: NDArray[np.uint64]) -> bytes:
    """A key of ``position``, uint64[8], as the mover sees it, without clocks: colours exchanged it
    is the same."""
    return position[:COUNTERS].tobytes()


def _read_line(line: str) -> tuple[NDArray[np.uint64], frozenset[str], float, str]:
    board, operations = chess.Board.from_epd(line)
    found = operations.get("bm")
    if not isinstance(found, list) or not found:
        raise ConfigError("it has no best move (bm)")
    if not any(board.legal_moves):
        raise ConfigError("it has no legal move")
    value = np.nan
    if isinstance(outcomes := operations.get("c0"), str) and len(outcomes.split()) == 3:
        win, draw, loss = map(int, outcomes.split())
        value = (win - loss) / (win + draw + loss)
    source = str(operations.get("id") or "").rpartition(".")[0]
    moves = frozenset(move.uci() for move in found if isinstance(move, chess.Move))
    return from_board(parse(board.fen())), moves, value, source
