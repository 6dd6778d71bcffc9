"""Recorded games as CSV, for statistics: a row a game, or a row a ply. Python's csv module.

A missing value leaves its cell empty. Numbers are plain, with a point.
"""

import csv
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import chess
import numpy as np

from vecchess.chess.fen import to_board
from vecchess.chess.pgn import RESULTS
from vecchess.chess.uci_moves import move_to_uci
from vecchess.export.game_source import ExportSource, OnExported, RecordedGame
from vecchess.runtime.atomic_output import text_file
from vecchess.store.records import (
    BLACK_WOULD_RESIGN,
    NO_FINGERPRINT,
    PLAYTHROUGH,
    VALUE_UNIT,
    WHITE_WOULD_RESIGN,
)

Cell = str | int | float
Row = dict[str, Cell]
EMPTY = ""


def export_csv(
    source: ExportSource,
    out: Path,
    plies: bool = False,
    on_exported: OnExported = lambda done, total: None,
) -> tuple[int, int]:
    """Write a row for each game of ``source`` to ``out`` ("-": stdout), or with ``plies`` for each
    of their plies; returns how many games and rows.

    Raises ConfigError for a place that cannot be used, DataError where writing fails; ``out`` is
    replaced whole or not at all.
    """
    rows_of: Callable[[RecordedGame], Iterator[Row]] = ply_rows if plies else game_rows
    columns: dict[str, Any] = PLY_COLUMNS if plies else GAME_COLUMNS
    num_games = num_rows = 0
    with text_file(out) as file:
        writer = csv.DictWriter(file, list(columns), lineterminator="\n")
        writer.writeheader()
        for game in source.games(on_exported):
            rows = list(rows_of(game))
            writer.writerows(rows)
            num_games, num_rows = num_games + 1, num_rows + len(rows)
    return num_games, num_rows


def game_rows(game: RecordedGame) -> Iterator[Row]:
    """The one row of a game, see ``GAME_COLUMNS``."""
    yield {name: cell(game) for name, cell in GAME_COLUMNS.items()}


def ply_rows(game: RecordedGame) -> Iterator[Row]:
    """A row for each ply of a game, see ``PLY_COLUMNS``."""
    for cells in zip(*(column(game) for column in PLY_COLUMNS.values()), strict=True):
        yield dict(zip(PLY_COLUMNS, cells, strict=True))


def _fen(board: chess.Board) -> str:
    return board.fen(en_passant="legal")


def _mean(column: np.ndarray) -> Cell:
    """The mean of the items above 0."""
    counted = column[column > 0]
    return round(float(counted.mean()), 4) if len(counted) else EMPTY


def _total_steps(game: RecordedGame) -> int:
    visits, steps = game.column("visits"), game.column("steps")
    return int(np.where(visits > 0, game.column("thought"), steps).sum())


def _fingerprint(game: RecordedGame) -> str:
    fingerprint = int(game.records.fingerprint[game.index])
    return EMPTY if fingerprint == NO_FINGERPRINT else f"{fingerprint:016x}"


def _resigns(flag: int) -> Callable[[RecordedGame], Cell]:
    return lambda game: int(game.records.resign[game.index] & flag > 0)


GAME_COLUMNS: dict[str, Callable[[RecordedGame], Cell]] = {
    "game": lambda game: game.number,
    "start_fen": lambda game: _fen(game.start_board()),
    "chess960": lambda game: int(game.chess960),  # 1 where castling is Chess960's
    "seed": lambda game: EMPTY if game.seed is None else game.seed,  # of the run
    # that chose the moves: a sha256, or more with spaces between
    "networks": lambda game: " ".join(game.nets),
    "result": lambda game: RESULTS[game.result],
    "termination": lambda game: game.termination.name.lower(),
    "plies": lambda game: game.num_plies,
    # plies with a value, with a search, with a full search
    "judged": lambda game: int(game.evaluated.sum()),
    "searched": lambda game: int((game.column("visits") > 0).sum()),
    "full_searches": lambda game: int((game.column("full") > 0).sum()),
    # time steps of the network, over positions it was asked about; simulations, over searches
    "mean_steps": lambda game: _mean(game.column("steps")),
    "mean_visits": lambda game: _mean(game.column("visits")),
    # time steps for all answers, those inside searches among them
    "total_steps": _total_steps,
    # 1 where resigning was forbidden; where a side would have
    "playthrough": _resigns(PLAYTHROUGH),
    "white_would_resign": _resigns(WHITE_WOULD_RESIGN),
    "black_would_resign": _resigns(BLACK_WOULD_RESIGN),
    # hash of all answers of the network, 16 hexadecimal digits
    "fingerprint": _fingerprint,
}


def _moves(game: RecordedGame) -> list[str]:
    pairs = zip(game.positions, game.moves.tolist(), strict=True)
    return [move_to_uci(position, move, game.chess960) for position, move in pairs]


def _networks(game: RecordedGame) -> list[str]:
    """The network, or other source, of each move."""
    firsts, nets = zip(*game.records.spans(game.index), strict=True)
    which = np.searchsorted(firsts, np.arange(game.num_plies), side="right") - 1
    return [nets[span] for span in which]


def _points(win_weight: float, draw_weight: float) -> Callable[[RecordedGame], list[Cell]]:
    """A share of wins and draws, 0 to 1, where the position was evaluated."""

    def column(game: RecordedGame) -> list[Cell]:
        points = win_weight * game.column("win") + draw_weight * game.column("draw")
        pairs = zip(points.tolist(), game.evaluated, strict=True)
        return [round(value / VALUE_UNIT, 4) if known else EMPTY for value, known in pairs]

    return column


def _recorded(name: str) -> Callable[[RecordedGame], list[Cell]]:
    return lambda game: game.column(name).tolist()


PLY_COLUMNS: dict[str, Callable[[RecordedGame], Iterable[Cell]]] = {
    "game": lambda game: [game.number] * game.num_plies,
    "ply": lambda game: range(game.num_plies),
    "fen": lambda game: [_fen(to_board(row, game.chess960)) for row in game.positions],
    "move": _moves,  # as UCI writes it
    "network": _networks,
    # of the mover; score is win + draw / 2
    "win": _points(1, 0),
    "draw": _points(0, 1),
    "score": _points(1, 0.5),
    # with which the move was drawn
    "probability": lambda game: [float(f"{value:.4g}") for value in game.column("prob")],
    # time steps of the network for the position; simulations; 1 where searched in full
    "steps": _recorded("steps"),
    "visits": _recorded("visits"),
    "full_search": _recorded("full"),
    # time steps of the network for all answers of the search
    "search_steps": _recorded("thought"),
}
