"""Recorded games as PGN, by way of python-chess: seven tags, then what vecchess knows besides."""

from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

import chess.pgn

from vecchess.chess.pgn import RESULTS, in_lines, to_pgn
from vecchess.export.atomic_output import text_file
from vecchess.export.comments import comment
from vecchess.export.export_game import RecordedGame
from vecchess.export.game_source import ExportSource, OnExported

_SHA_LENGTH = 64


def export_pgn(
    source: ExportSource,
    out: Path,
    comments: bool = True,
    watch: OnExported = lambda done, total: None,
) -> int:
    """Write the games of ``source`` to ``out`` ("-": stdout); returns how many.

    ``comments``: with what was thought of the positions, see ``comments``. Raises ConfigError for a
    place that cannot be, DataError where the disk refuses; ``out`` is replaced whole or not at all.
    """
    with text_file(out) as file:
        return write_pgn(source.games(watch), file, comments)


def write_pgn(games: Iterable[RecordedGame], file: TextIO, comments: bool) -> int:
    """Write ``games`` to ``file``; returns how many. Those of Chess960 carry its Variant tag."""
    num_games = 0
    for game in games:
        print(in_lines(recorded_pgn(game, comments)), file=file, end="\n\n")
        num_games += 1
    return num_games


def recorded_pgn(game: RecordedGame, comments: bool) -> chess.pgn.Game:
    """A game as python-chess keeps it."""
    board, told = game.start_board(), []
    if comments:
        turns = (board.turn if ply % 2 == 0 else not board.turn for ply in range(game.num_plies))
        told = [*(comment(game, ply, turn) for ply, turn in enumerate(turns)), ""]
    return to_pgn(_tags(game), board, game.moves, told)


def _tags(game: RecordedGame) -> dict[str, str]:
    name = _player(game)
    tags = {
        "Event": "?" if game.seed is None else "vecchess self-play",
        "Site": "?",
        "Date": "????.??.??",
        "Round": str(game.number),
        "White": name,
        "Black": name,
        "Result": RESULTS[game.result],
        "PlyCount": str(game.num_plies),
        "Termination": game.termination.name.lower().replace("_", " "),
        "NetSha": " ".join(game.nets),
    }
    return tags if game.seed is None else tags | {"Seed": str(game.seed)}


def _player(game: RecordedGame) -> str:
    """Our networks by the first digits of their hash, others by the name they were given."""
    first = game.nets[0]
    ours = game.seed is not None or len(first) == _SHA_LENGTH
    return f"vecchess {first[:12]}" if ours else first
