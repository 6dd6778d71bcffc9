"""Recorded games as PGN, by way of python-chess: seven tags, then what vecchess knows besides."""

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import chess
import chess.pgn
import numpy as np
from numpy.typing import NDArray

from vecchess.chess.action import actions_to_moves
from vecchess.chess.fen import to_board
from vecchess.chess.make import make
from vecchess.chess.rules import Termination
from vecchess.config import PlayConfig, build, read_toml
from vecchess.errors import ConfigError
from vecchess.store.records import GameRecords
from vecchess.store.run_folder import RunFolder
from vecchess.store.shard import Say, write_atomically

RESULTS = {1: "1-0", 0: "1/2-1/2", -1: "0-1"}
_PROMOTIONS = (None, chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN)


def export_pgn(run_path: Path, out: Path, say: Say | None = None) -> int:
    """Write all recorded games of a run to ``out`` ("-": stdout); returns how many.

    ``say`` hears of shards that cannot be read, and are left out; without it they raise DataError.

    Raises ConfigError for a folder that holds no run or a place that cannot be, DataError where
    the disk refuses; ``out`` is replaced whole or not at all.
    """
    run = RunFolder.existing(run_path)
    config = played_with(run)
    records = run.records(say)
    if str(out) == "-":
        write_pgn(records, config.seed, config.game.chess960, sys.stdout)
        return records.num_games
    if not out.absolute().parent.is_dir():
        raise ConfigError(f"there is no folder {out.parent} to write {out.name} to")
    text = io.StringIO()
    write_pgn(records, config.seed, config.game.chess960, text)
    if out.exists() and not out.is_file():  # a pipe or a device is written to, not replaced
        out.write_text(text.getvalue())
    else:
        write_atomically(out.resolve(), text.getvalue().encode())
    return records.num_games


def played_with(run: RunFolder) -> PlayConfig:
    """How the games of a run were played, whatever command played them."""
    known = PlayConfig.model_fields
    return build(PlayConfig, {k: v for k, v in read_toml(run.config).items() if k in known})


def write_pgn(records: GameRecords, seed: int, chess960: bool, file: TextIO) -> None:
    """Write all games of ``records`` to ``file``; ``seed`` is the run's, for the tag.

    With ``chess960`` castling is Chess960's and the games carry its Variant tag.
    """
    for game in games_of(records, seed, chess960):
        print(game, file=file, end="\n\n")


def games_of(records: GameRecords, seed: int, chess960: bool) -> Iterator[chess.pgn.Game]:
    """The games one by one, as python-chess keeps them."""
    moves = moves_of(records)
    for index in range(records.num_games):
        first, end = records.offsets[index : index + 2]
        board = to_board(records.start[index], chess960)
        game = chess.pgn.Game(_tags(records, index, seed))
        if chess960 or board.fen() != chess.STARTING_FEN:
            game.setup(board)
        node: chess.pgn.GameNode = game
        for move in moves[first:end]:
            chess_move = python_chess_move(board, int(move), chess960)
            node = node.add_main_variation(chess_move)
            board.push(chess_move)
        yield game


def moves_of(records: GameRecords) -> NDArray[np.uint16]:
    """uint16[plies]: the moves behind the action codes, mover's view, all games ply by ply."""
    moves = np.zeros(len(records.action), np.uint16)
    positions, first = records.start.copy(), records.offsets[:-1]
    for ply in range(int(records.lengths.max(initial=0))):
        going = np.flatnonzero(records.lengths > ply)
        places = first[going] + ply
        played = actions_to_moves(positions[going], records.action[places])
        moves[places] = played
        positions[going] = make(positions[going], played)
    return moves


def _tags(records: GameRecords, index: int, seed: int) -> dict[str, Any]:
    spans = slice(records.span_offsets[index], records.span_offsets[index + 1])
    nets = [records.nets[net] for net in records.span_net[spans]]
    name = f"vecchess {nets[0][:12]}"
    return {
        "Event": "vecchess self-play",
        "Site": "?",
        "Date": "????.??.??",
        "Round": str(records.numbers[index]),
        "White": name,
        "Black": name,
        "Result": RESULTS[int(records.result[index])],
        "PlyCount": str(records.lengths[index]),
        "Termination": Termination(records.termination[index]).name.lower().replace("_", " "),
        "NetSha": " ".join(nets),
        "Seed": str(seed),
    }


def python_chess_move(board: chess.Board, move: int, chess960: bool) -> chess.Move:
    """A move in the mover's view, castling as king takes own rook, the way ``board`` writes it."""
    start, goal, promotion = move & 63, move >> 6 & 63, _PROMOTIONS[move >> 12]
    flip = 0 if board.turn else 56
    if not chess960 and board.occupied_co[board.turn] & chess.BB_SQUARES[goal ^ flip]:
        goal = 6 if goal > start else 2
    return chess.Move(start ^ flip, goal ^ flip, promotion)
