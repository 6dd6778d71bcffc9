"""Games of a UCI engine against itself, with random moves in between, as shards.

Several engines play at a time, and a command that was stopped goes on.
"""

from hashlib import sha256
from pathlib import Path
from typing import Any

import chess
import numpy as np
from numpy.typing import NDArray

from vecchess.chess.chess960 import start_positions
from vecchess.chess.pgn import start_board
from vecchess.chess.position import Positions
from vecchess.chess.rules import Termination
from vecchess.chess.uci_moves import action_of
from vecchess.config.import_settings import EngineGamesConfig
from vecchess.config.settings import MOST_GAMES
from vecchess.importers.engine_label import ask_engine, open_engine
from vecchess.importers.engine_pool import GameAbandoned, MustStop, make_games
from vecchess.importers.import_folder import ImportWriter, OnImportProgress, open_import_folder
from vecchess.importers.imported_game import (
    ImportedGame,
    PlyLabel,
    termination_of,
    to_records,
)
from vecchess.importers.opening_file import read_openings
from vecchess.rng import random_word
from vecchess.runtime.engines.uci_client import UciEngine, find_engine
from vecchess.store.records import GameRecords

_ATTEMPTS = 1 << 40
"""Counters of the random numbers: plies below it, further attempts at an opening in steps of it."""
_ATTEMPTS_EACH = 16
"""Attempts at an opening with one number of random plies."""
_SHARE = 1 << 39
"""Counters from here decide whether a ply is random; those below, which move it is."""


def gather_engine_games(
    config: EngineGamesConfig, out: Path, on_progress: OnImportProgress = lambda _: None
) -> dict[str, Any]:
    """Play until ``out`` holds all games of ``config``; returns facts for JSON.

    Games that are there already are not played again. ``on_progress`` is called twice a second.
    Raises ConfigError for a missing engine or a folder with other games, WorkerDied when an engine
    ends again and again; what was finished is written first, also on Ctrl-C.
    """
    command = find_engine(config.engine)
    with open_engine(command, config.nodes, config.multipv) as engine:
        name = engine.name[:64]

    starts = start_positions(1) if config.openings is None else read_openings(config.openings)

    def make_game(number: int, must_stop: MustStop, engine: UciEngine) -> GameRecords:
        return to_records([play_game(engine, config, number, starts, must_stop)], name)

    facts = config.facts(name)
    if config.openings is not None:
        facts["openings"] = sha256(starts.tobytes()).hexdigest()
    with open_import_folder(out, facts) as folder:
        recorded = set(folder.numbers().tolist())
        missing = (number for number in range(config.games or MOST_GAMES) if number not in recorded)
        writer = ImportWriter(folder, config.games, on_progress)
        make_games(missing, make_game, config, command, writer)
        return writer.facts(name)


def play_game(
    engine: UciEngine,
    config: EngineGamesConfig,
    number: int,
    starts: Positions,
    must_stop: MustStop = lambda: False,
) -> ImportedGame:
    """Game ``number`` to its end by the rules of ``chess/rules.py``.

    It begins with one of ``starts``, uint64[S, 8], which take turns. Its random moves depend on
    (seed, number) alone. Raises GameAbandoned once ``must_stop()`` is true, EngineFailed where the
    engine ended or made no legal move.
    """
    board, game = _opening(number, config, starts[number % len(starts)])
    random_below = config.random_move_share * 2**64
    while (over := termination_of(board)) is Termination.ONGOING and (
        len(game.actions) < config.max_plies
    ):
        if must_stop():
            raise GameAbandoned
        ply = len(game.actions)
        if random_word(config.seed, number, _SHARE + ply) < random_below:
            _make_random_move(board, game, random_word(config.seed, number, ply))
        else:
            move, label = ask_engine(engine, board, game.number, config, config.multipv > 1)
            _make_move(board, game, move, 1.0, label)
    game.termination = Termination.PLY_CAP if over is Termination.ONGOING else over
    if over is Termination.CHECKMATE:
        game.result = -1 if board.turn else 1
    return game


def _opening(
    number: int, config: EngineGamesConfig, start: NDArray[np.uint64]
) -> tuple[chess.Board, ImportedGame]:
    """A board after the random plies from ``start``, uint64[8], from which the game goes on.

    Where they end the game again and again there are fewer of them.
    """
    attempt = 0
    while True:
        board = start_board(start)
        game = ImportedGame(number, start, 0, Termination.ONGOING)
        random_plies = config.random_plies - attempt // _ATTEMPTS_EACH
        while len(game.actions) < random_plies and any(board.legal_moves):
            counter = attempt * _ATTEMPTS + len(game.actions)
            _make_random_move(board, game, random_word(config.seed, number, counter))
        if termination_of(board) is Termination.ONGOING:
            return board, game
        attempt += 1


def _make_random_move(board: chess.Board, game: ImportedGame, word: int) -> None:
    """One of the legal moves, chosen by a random word of 64 bits, without an evaluation."""
    moves = sorted(board.legal_moves, key=lambda move: move.uci())
    _make_move(board, game, moves[word * len(moves) >> 64], 1 / len(moves))


def _make_move(
    board: chess.Board,
    game: ImportedGame,
    move: chess.Move,
    prob: float,
    label: PlyLabel | None = None,
) -> None:
    game.actions.append(action_of(board, move))
    game.probs.append(prob)
    game.labels.append(label)
    board.push(move)
