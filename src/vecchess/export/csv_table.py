"""Recorded games as CSV, for statistics: a row a game, or a row a ply. Python's csv module.

A row a game:

    game, plies, result, termination   number, moves made, 1-0 or 1/2-1/2 or 0-1, reason of the end
    start_fen, chess960                the start position; 1 where castling is Chess960's
    seed                               of the run
    networks                           that chose the moves: a sha256, or more with spaces between
    judged, searched, full_searches    plies with a value, with a search, with a full search
    mean_steps                         time steps of the network, over positions it was asked about
    mean_visits                        simulations, over searches
    total_steps                        time steps for all answers, those inside searches among them
    playthrough, .._would_resign       1 where resigning was forbidden; where a side would have
    fingerprint                        hash of all answers of the network, 16 hexadecimal digits

A row a ply, with the position before it:

    game, ply, fen, move               ply 0 is the first; the move as UCI writes it
    network                            that chose it
    win, draw, score                   of the mover, 0 to 1; score is win + draw / 2
    probability                        with which the move was drawn
    steps, visits, full_search         of the network for the position, of the search, 1 if in full
    search_steps                       time steps of the network for all answers of the search

A missing value leaves its cell empty. Numbers are plain, with a point.
"""

import csv
from collections.abc import Callable, Iterator
from pathlib import Path

import chess
import numpy as np

from vecchess.chess.fen import to_board
from vecchess.chess.pgn import RESULTS
from vecchess.chess.uci_moves import move_to_uci
from vecchess.export.atomic_output import text_file
from vecchess.export.game_source import ExportSource, OnExported
from vecchess.export.recorded_game import RecordedGame
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

GAME_COLUMNS = (
    *("game", "start_fen", "chess960", "seed", "networks", "result", "termination", "plies"),
    *("judged", "searched", "full_searches", "mean_steps", "mean_visits", "total_steps"),
    *("playthrough", "white_would_resign", "black_would_resign", "fingerprint"),
)
PLY_COLUMNS = (
    *("game", "ply", "fen", "move", "network", "win", "draw", "score", "probability"),
    *("steps", "visits", "full_search", "search_steps"),
)


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
    num_games = num_rows = 0
    with text_file(out) as file:
        writer = csv.DictWriter(file, PLY_COLUMNS if plies else GAME_COLUMNS, lineterminator="\n")
        writer.writeheader()
        for game in source.games(on_exported):
            rows = list(rows_of(game))
            writer.writerows(rows)
            num_games, num_rows = num_games + 1, num_rows + len(rows)
    return num_games, num_rows


def game_rows(game: RecordedGame) -> Iterator[Row]:
    """The one row of a game, see ``GAME_COLUMNS``."""
    steps, visits = game.column("steps"), game.column("visits")
    resign = int(game.records.resign[game.index])
    fingerprint = int(game.records.fingerprint[game.index])
    yield {
        "game": game.number,
        "start_fen": game.start_board().fen(en_passant="legal"),
        "chess960": int(game.chess960),
        "seed": EMPTY if game.seed is None else game.seed,
        "networks": " ".join(game.nets),
        "result": RESULTS[game.result],
        "termination": game.termination.name.lower(),
        "plies": game.num_plies,
        "judged": int(game.evaluated.sum()),
        "searched": int((visits > 0).sum()),
        "full_searches": int((game.column("full") > 0).sum()),
        "mean_steps": _mean(steps),
        "mean_visits": _mean(visits),
        "total_steps": int(np.where(visits > 0, game.column("thought"), steps).sum()),
        "playthrough": int(resign & PLAYTHROUGH > 0),
        "white_would_resign": int(resign & WHITE_WOULD_RESIGN > 0),
        "black_would_resign": int(resign & BLACK_WOULD_RESIGN > 0),
        "fingerprint": EMPTY if fingerprint == NO_FINGERPRINT else f"{fingerprint:016x}",
    }


def ply_rows(game: RecordedGame) -> Iterator[Row]:
    """A row for each ply of a game, see ``PLY_COLUMNS``."""
    records, nets = game.records, _networks(game)
    for ply in range(game.num_plies):
        place = game.plies.start + ply
        position, move = game.positions[ply], int(game.moves[ply])
        win, draw = int(records.win[place]), int(records.draw[place])
        evaluated = bool(game.evaluated[ply])
        yield {
            "game": game.number,
            "ply": ply,
            "fen": _fen(to_board(position, game.chess960)),
            "move": move_to_uci(position, move, game.chess960),
            "network": nets[ply],
            "win": round(win / VALUE_UNIT, 4) if evaluated else EMPTY,
            "draw": round(draw / VALUE_UNIT, 4) if evaluated else EMPTY,
            "score": round((win + draw / 2) / VALUE_UNIT, 4) if evaluated else EMPTY,
            "probability": float(f"{records.prob[place]:.4g}"),
            "steps": int(records.steps[place]),
            "visits": int(records.visits[place]),
            "full_search": int(records.full[place]),
            "search_steps": int(records.thought[place]),
        }


def _fen(board: chess.Board) -> str:
    return board.fen(en_passant="legal")


def _mean(column: np.ndarray) -> Cell:
    """The mean of the items above 0."""
    counted = column[column > 0]
    return round(float(counted.mean()), 4) if len(counted) else EMPTY


def _networks(game: RecordedGame) -> list[str]:
    """The network, or other source, of each move."""
    spans = slice(*game.records.span_offsets[game.index : game.index + 2])
    firsts = game.records.span_ply[spans]
    which = np.searchsorted(firsts, np.arange(game.num_plies), side="right") - 1
    return [game.nets[span] for span in which]
