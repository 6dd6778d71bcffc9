"""One UCI engine playing both sides of a game, with random moves here and there."""

from collections.abc import Callable
from types import TracebackType

import chess
import chess.engine

from vecchess.chess.rules import Termination
from vecchess.errors import WorkerDied
from vecchess.importers.find_engine import start_engine
from vecchess.importers.move_records import (
    EngineEvaluation,
    ImportedGame,
    action_of,
    start_of,
    termination_of,
)
from vecchess.rng import random_word

OPTIONS = {"Threads": 1, "Hash": 16, "UCI_ShowWDL": True}
"""What is asked of every engine that knows it: one thread and a fresh hash repeat a game."""
RESULTS = {True: 1, False: -1}
_ATTEMPTS = 1 << 40
"""Counters of the random numbers: plies below it, further attempts at an opening in steps of it."""
_SHARE = 1 << 39
"""Counters from here decide whether a ply is random; those below, which move it is."""


class GameAbandoned(Exception):  # noqa: N818  (nothing went wrong)
    """The game was left because the caller asked for it."""


class EngineSelfplay:
    """An engine's process. Used by one thread at a time."""

    def __init__(self, command: list[str]) -> None:
        """Start ``command``; raises ConfigError where it cannot be started or speaks no UCI."""
        self._engine = start_engine(command)
        known = self._engine.options
        self._engine.configure({key: value for key, value in OPTIONS.items() if key in known})

    @property
    def name(self) -> str:
        """What it calls itself."""
        return self._engine.id.get("name", "engine")

    def __enter__(self) -> "EngineSelfplay":
        """Itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """End the process."""
        self._engine.close()

    def play(
        self,
        number: int,
        seed: int,
        nodes: int,
        random_plies: int = 8,
        random_share: float = 0.0,
        max_plies: int = 512,
        must_stop: Callable[[], bool] = lambda: False,
    ) -> ImportedGame:
        """Game ``number`` from the usual start to its end by the rules of the house.

        ``random_plies`` uniformly random plies first; later each ply is random with probability
        ``random_share``. All of it depends on (seed, number) alone. Raises Stopped where
        ``must_stop()`` came true, WorkerDied where the engine ended or made no legal move.
        """
        board, game = _opening(number, seed, random_plies)
        while (over := termination_of(board)) == Termination.ONGOING and board.ply() < max_plies:
            if must_stop():
                raise GameAbandoned
            ply = board.ply()
            if random_word(seed, number, _SHARE + ply) < random_share * 2**64:
                _make_random(board, game, random_word(seed, number, ply))
            else:
                self._move(board, game, nodes)
        game.termination = Termination.PLY_CAP if over == Termination.ONGOING else over
        game.result = RESULTS[not board.turn] if over == Termination.CHECKMATE else 0
        return game

    def _move(self, board: chess.Board, game: ImportedGame, nodes: int) -> None:
        """The engine's move, and what it thinks of the position."""
        limit = chess.engine.Limit(nodes=nodes)
        try:
            answer = self._engine.play(
                board,
                limit,
                game=game.number,
                info=chess.engine.INFO_SCORE | chess.engine.INFO_BASIC,
            )
        except (TimeoutError, chess.engine.EngineError) as error:
            reason = str(error) or "no answer"
            raise WorkerDied(
                f"the engine failed in game {game.number}, ply {board.ply()}: {reason}; finished "
                "games are saved, the same command goes on from there"
            ) from None
        if answer.move is None:
            raise WorkerDied(f"the engine gave up game {game.number}, ply {board.ply()}")
        game.actions.append(action_of(board, answer.move))
        game.probs.append(1.0)
        game.judgements.append(judgement(answer.info, board.ply(), nodes))
        board.push(answer.move)


def _opening(number: int, seed: int, random_plies: int) -> tuple[chess.Board, ImportedGame]:
    """A board after so many random plies from which the game goes on."""
    attempt = 0
    while True:
        board = chess.Board()
        game = ImportedGame(number, start_of(board), 0, Termination.ONGOING)
        while len(game.actions) < random_plies and any(board.legal_moves):
            counter = attempt * _ATTEMPTS + board.ply()
            _make_random(board, game, random_word(seed, number, counter))
        if termination_of(board) == Termination.ONGOING:
            return board, game
        attempt += 1


def _make_random(board: chess.Board, game: ImportedGame, word: int) -> None:
    """One of the legal moves, chosen by a random word of 64 bits; nobody judges the position."""
    moves = sorted(board.legal_moves, key=lambda move: move.uci())
    move = moves[word * len(moves) >> 64]
    game.actions.append(action_of(board, move))
    game.probs.append(1 / len(moves))
    game.judgements.append(None)
    board.push(move)


def judgement(info: chess.engine.InfoDict, ply: int, nodes: int) -> EngineEvaluation | None:
    """Win and draw as the engine tells them, else as its score means for Stockfish 15.1.

    None where it tells neither. ``nodes`` stand in where it does not say how many it looked at.
    """
    wdl = info.get("wdl")
    if wdl is None:
        if "score" not in info:
            return None
        wdl = info["score"].wdl(model="sf15.1", ply=ply)
    relative = wdl.relative
    total = relative.total()
    return EngineEvaluation(
        max(1, info.get("nodes", nodes)), relative.wins / total, relative.draws / total
    )
