"""One UCI engine playing both sides of a game, with random moves in between."""

from collections.abc import Callable, Mapping
from typing import Any

import chess
import chess.engine

from vecchess.chess.fen import from_board
from vecchess.chess.rules import Termination
from vecchess.config.import_settings import EngineGamesConfig
from vecchess.errors import WorkerDied
from vecchess.importers.imported_game import ImportedGame, action_of, termination_of
from vecchess.rng import random_word
from vecchess.runtime.uci_client import EngineFailed, UciEngine

SCHEMA = 1
OPTIONS = {"Threads": 1, "Hash": 16, "UCI_ShowWDL": True}
"""Set in every engine that has them: with one thread and a fresh hash a game can be repeated."""
RESULTS = {True: 1, False: -1}
_ATTEMPTS = 1 << 40
"""Counters of the random numbers: plies below it, further attempts at an opening in steps of it."""
_SHARE = 1 << 39
"""Counters from here decide whether a ply is random; those below, which move it is."""


class GameAbandoned(Exception):  # noqa: N818  (nothing went wrong)
    """A game was left because the caller asked for it."""


def open_engine(command: list[str]) -> UciEngine:
    """Start an engine for self-play; raises ConfigError where that fails."""
    return UciEngine(command, _known_options)


def play_game(
    engine: UciEngine,
    config: EngineGamesConfig,
    number: int,
    must_stop: Callable[[], bool] = lambda: False,
) -> ImportedGame:
    """Game ``number`` from the usual start to its end by the rules of ``chess/rules.py``.

    Its random moves depend on (seed, number) alone. Raises GameAbandoned once ``must_stop()`` is
    true, WorkerDied where the engine ended or made no legal move.
    """
    board, game = _opening(number, config)
    random_below = config.random_move_share * 2**64
    while (over := termination_of(board)) is Termination.ONGOING and (
        board.ply() < config.max_plies
    ):
        if must_stop():
            raise GameAbandoned
        ply = board.ply()
        if random_word(config.seed, number, _SHARE + ply) < random_below:
            _make_random_move(board, game, random_word(config.seed, number, ply))
        else:
            _make_engine_move(engine, board, game, config.nodes)
    game.termination = Termination.PLY_CAP if over is Termination.ONGOING else over
    game.result = RESULTS[not board.turn] if over is Termination.CHECKMATE else 0
    return game


def _known_options(known: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in OPTIONS.items() if name in known}


def _make_engine_move(
    engine: UciEngine, board: chess.Board, game: ImportedGame, nodes: int
) -> None:
    place = f"game {game.number}, ply {board.ply()}"
    try:
        move, evaluation = engine.play(board, chess.engine.Limit(nodes=nodes), game.number)
    except EngineFailed as error:
        raise WorkerDied(
            f"the engine failed in {place}: {error}; finished games are saved, the same command "
            "goes on from there"
        ) from None
    if move is None:
        raise WorkerDied(f"the engine gave up {place}")
    game.actions.append(action_of(board, move))
    game.probs.append(1.0)
    game.evaluations.append(evaluation)
    board.push(move)


def _opening(number: int, config: EngineGamesConfig) -> tuple[chess.Board, ImportedGame]:
    """A board after the random plies, from which the game goes on."""
    attempt = 0
    while True:
        board = chess.Board()
        game = ImportedGame(number, from_board(board), 0, Termination.ONGOING)
        while len(game.actions) < config.random_plies and any(board.legal_moves):
            counter = attempt * _ATTEMPTS + board.ply()
            _make_random_move(board, game, random_word(config.seed, number, counter))
        if termination_of(board) is Termination.ONGOING:
            return board, game
        attempt += 1


def _make_random_move(board: chess.Board, game: ImportedGame, word: int) -> None:
    """One of the legal moves, chosen by a random word of 64 bits, without an evaluation."""
    moves = sorted(board.legal_moves, key=lambda move: move.uci())
    move = moves[word * len(moves) >> 64]
    game.actions.append(action_of(board, move))
    game.probs.append(1 / len(moves))
    game.evaluations.append(None)
    board.push(move)
