"""One process of a UCI engine, and the thread that plays with it: one move after another."""

import asyncio
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from time import perf_counter

import chess
import chess.engine
import numpy as np

from vecchess.arena.match_game import Forfeit
from vecchess.arena.player_protocol import NO_FORFEIT, MoveReplies, MoveRequests
from vecchess.arena.players.uci_options import EngineOptions
from vecchess.chess.pgn import start_board
from vecchess.chess.uci_moves import to_chess_move, uci_to_move
from vecchess.errors import ConfigError
from vecchess.importers.find_engine import start_engine
from vecchess.importers.uci_selfplay import judgement

NO_MOVE = 0
_INFO = chess.engine.INFO_SCORE | chess.engine.INFO_BASIC


@dataclass
class _Game:
    """A game as the engine sees it."""

    number: int
    board: chess.Board
    left_s: float | None
    """On its clock."""


class EngineDesk:
    """Answers turns of K = 1 in the order in which they are put on it."""

    def __init__(
        self,
        command: list[str],
        options: EngineOptions,
        outbox: "SimpleQueue[MoveReplies | BaseException]",
    ) -> None:
        """Start the process, and the thread. Raises ConfigError where the engine will not do."""
        self._command, self._options, self._outbox = command, options, outbox
        self._engine: chess.engine.SimpleEngine | None = self._start()
        self.engine_name = self._engine.id.get("name", "engine")
        self._games: dict[int, _Game] = {}
        self._closing = False
        self.inbox: SimpleQueue[MoveRequests | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name="vecchess-engine", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End thread and process; a move that is being thought about is not waited for."""
        self._closing = True
        self.inbox.put(None)
        if self._engine is not None:
            self._engine.close()
        self._thread.join()
        if self._engine is not None:  # it was about to be started again
            self._engine.close()

    def _start(self) -> chess.engine.SimpleEngine:
        engine = start_engine(self._command)
        try:
            engine.configure(self._options.settings(engine.options))
        except chess.engine.EngineError as error:
            engine.close()
            raise ConfigError(f"{self._command[0]}: {error}") from None
        except ConfigError as error:
            engine.close()
            raise ConfigError(f"{self._command[0]}: {error}") from None
        engine.timeout = self._options.timeout
        return engine

    def _work(self) -> None:
        try:
            while (turn := self.inbox.get()) is not None and not self._closing:
                self._outbox.put(self._answer(turn))
        except BaseException as error:
            self._outbox.put(error)

    def _answer(self, turn: MoveRequests) -> MoveReplies:
        game = self._game_of(turn)
        start = perf_counter()
        try:
            if self._engine is None:
                self._engine = self._start()
                start = perf_counter()
            if self._closing:
                return self._gave_up(turn, Forfeit.CRASH)
            answer = self._think(self._engine, game)
        except TimeoutError:
            return self._gave_up(turn, Forfeit.STALL)
        except chess.engine.EngineTerminatedError:
            return self._gave_up(turn, Forfeit.CRASH)
        except chess.engine.EngineError:  # python-chess refuses moves that are not legal
            return self._gave_up(turn, Forfeit.ILLEGAL_MOVE)
        if self._is_late(game, perf_counter() - start):
            return _reply(turn, NO_MOVE, Forfeit.TIME)
        if answer.move is None:
            return _reply(turn, NO_MOVE, Forfeit.ILLEGAL_MOVE)
        move = uci_to_move(turn.positions[0], answer.move.uci())
        thought = judgement(answer.info, game.board.ply(), self._options.nodes or 0)
        if thought is None:
            return _reply(turn, move)
        return _reply(turn, move, value=thought.win + thought.draw / 2, visits=thought.nodes)

    def _think(self, engine: chess.engine.SimpleEngine, game: _Game) -> chess.engine.PlayResult:
        """The engine's move. Raises TimeoutError where none comes, python-chess's errors."""
        limit, protocol = self._options.limit(game.left_s), engine.protocol
        known = game.number if self._options.is_timed else object()  # another: "ucinewgame"
        thinking = protocol.play(game.board, limit, game=known, info=_INFO)
        most_s = self._options.timeout + (limit.time or game.left_s or 0.0)
        # the engine's own ``play`` waits for ever where nodes or depth are the limit
        return asyncio.run_coroutine_threadsafe(thinking, protocol.loop).result(most_s)

    def _game_of(self, turn: MoveRequests) -> _Game:
        """The game of ``turn`` with all its moves on the board."""
        lane, number = int(turn.lanes[0]), int(turn.games[0])
        game = self._games.get(lane)
        if game is None or game.number != number:
            clock = self._options.clock
            game = _Game(number, start_board(turn.starts[0]), clock and clock[0])
            self._games[lane] = game
        done = len(game.board.move_stack)
        for word in turn.moves[0, done : int(turn.plies[0])].tolist():
            game.board.push(to_chess_move(game.board, word))
        return game

    def _is_late(self, game: _Game, spent_s: float) -> bool:
        """Take a move's time off the clock; True where there was not so much."""
        clock = self._options.clock
        if game.left_s is None or clock is None:
            return False
        game.left_s -= spent_s
        if game.left_s < -self._options.margin / 1000:
            return True
        game.left_s += clock[1]
        return False

    def _gave_up(self, turn: MoveRequests, why: Forfeit) -> MoveReplies:
        """Lose the game, and have a new process for the next."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None
        return _reply(turn, NO_MOVE, why)


def _reply(
    turn: MoveRequests,
    move: int,
    forfeit: int = NO_FORFEIT,
    value: float = np.nan,
    visits: int = 0,
) -> MoveReplies:
    return MoveReplies(
        lanes=turn.lanes,
        moves=np.array([move], np.uint16),
        values=np.array([value], np.float32),
        visits=np.array([visits], np.int64),
        forfeits=np.array([forfeit], np.uint8),
    )
