"""A player that is a UCI engine: several processes of it, each asked by a thread of its own.

Limits of its thinking and its options follow it in the text that names it:

    uci:stockfish?nodes=1000               so many positions a move
    uci:stockfish?elo=1400&movetime=50     limited strength, milliseconds a move
    uci:./engine --flag?tc=1+0.01          a clock: 1 s for the game and 0.01 s a move
    uci:stockfish?depth=5&Skill Level=3    any option of the engine by its own name

Decisions 137 to 139 (engines as players).
"""

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Annotated, Any, Self

import chess
import chess.engine
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from vecchess.arena.match_game import Forfeit
from vecchess.arena.player_protocol import NO_FORFEIT, MoveReplies, MoveRequests, Player
from vecchess.chess.pgn import start_board
from vecchess.chess.uci_moves import to_chess_move, uci_to_move
from vecchess.errors import ConfigError, did_you_mean
from vecchess.runtime.engines.engine_pipe import EngineFailed, EngineFault
from vecchess.runtime.engines.uci_client import (
    ANSWER_TIMEOUT_S,
    RestartedEngine,
    UciEngine,
    find_engine,
)
from vecchess.runtime.engines.uci_info import EngineEvaluation

WAIT_S = 0.02
NO_MOVE = 0
FORFEITS = {
    EngineFault.NO_ANSWER: Forfeit.STALL,
    EngineFault.ENDED: Forfeit.CRASH,
    EngineFault.ILLEGAL_MOVE: Forfeit.ILLEGAL_MOVE,
}
LIMITS = ("nodes", "depth", "movetime", "tc")


class EngineOptions(BaseModel):
    """Limits and options of an engine."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    nodes: Annotated[int, Field(ge=1)] | None = None
    """Positions a move."""
    depth: Annotated[int, Field(ge=1, le=246)] | None = None
    """Plies deep."""
    movetime: Annotated[float, Field(gt=0)] | None = None
    """Milliseconds a move."""
    tc: str | None = None
    """ "base+increment" in seconds; an engine that is late has lost."""
    margin: Annotated[float, Field(ge=0)] = 10.0
    """Milliseconds by which a clock may be overdrawn, for the way to the engine and back."""
    elo: Annotated[int, Field(ge=0)] | None = None
    """UCI_LimitStrength and UCI_Elo."""
    threads: Annotated[int, Field(ge=1)] = 1
    hash: Annotated[int, Field(ge=1)] = 16
    """Threads and Hash (MB) of each process, where the engine knows these options."""
    timeout: Annotated[float, Field(gt=0)] = ANSWER_TIMEOUT_S
    """Seconds without an answer, beyond its time, after which an engine has lost by stalling."""
    other: dict[str, str] = Field(default_factory=dict)
    """Options of the engine by their own names."""

    @field_validator("tc")
    @classmethod
    def _is_a_clock(cls, text: str | None) -> str | None:
        if text is not None:
            _clock(text)
        return text

    @model_validator(mode="after")
    def _has_one_limit(self) -> Self:
        if not any(getattr(self, name) is not None for name in LIMITS):
            raise ValueError(f"nothing limits its thinking: give {', '.join(LIMITS)}")
        if self.tc is not None and self.movetime is not None:
            raise ValueError("tc and movetime are two clocks: drop one")
        return self

    @property
    def is_timed(self) -> bool:
        """Whether its moves depend on time, so that no game can be repeated."""
        return self.tc is not None or self.movetime is not None

    @property
    def clock(self) -> tuple[float, float] | None:
        """Seconds for a game and more for each move, None without a clock."""
        return None if self.tc is None else _clock(self.tc)

    def limit(self, left_s: float | None) -> chess.engine.Limit:
        """The limit of one move, with ``left_s`` seconds on the engine's clock.

        Its own clock stands in for the other side's, which is not known here.
        """
        seconds = None if self.movetime is None else self.movetime / 1000
        limit = chess.engine.Limit(time=seconds, depth=self.depth, nodes=self.nodes)
        if left_s is not None and self.clock is not None:
            limit.white_clock = limit.black_clock = max(left_s, 0.001)
            limit.white_inc = limit.black_inc = self.clock[1]
        return limit

    def settings(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """Values for an engine with the ``known`` options; raises ConfigError for others."""
        chosen: dict[str, Any] = {"Threads": self.threads, "Hash": self.hash, "UCI_ShowWDL": True}
        chosen = {name: value for name, value in chosen.items() if name in known}
        if self.elo is not None:
            if "UCI_Elo" not in known:
                raise ConfigError("elo: the engine cannot limit its strength (no option UCI_Elo)")
            chosen |= {"UCI_LimitStrength": True, "UCI_Elo": self.elo}
        for name, value in self.other.items():
            if name not in known:
                hint = did_you_mean(name, known)
                ours = ", ".join([*LIMITS, "elo", "threads", "hash", "margin", "timeout"])
                raise ConfigError(f'neither {ours} nor the engine has an option "{name}"{hint}')
            chosen[name] = value
        return chosen


class UciPlayer(Player):
    """Gives each game of the match to one of its processes.

    With a clock each process plays one game at a time, so that no move waits for another's. With
    other limits it plays several in turn. Where time limits it, it is told the whole game, so that
    it may go on from its search of the move before. Else it is told "ucinewgame" before every move:
    its moves then depend on the game alone, if the engine can repeat a move.
    """

    def __init__(self, command: str, options: EngineOptions, processes: int, name: str) -> None:
        """Start so many processes of ``command``; raises ConfigError where they cannot play."""
        self.name = name
        self.max_games = processes if options.clock else None
        self._outbox: SimpleQueue[Future[MoveReplies]] = SimpleQueue()
        self._num_asked = 0
        self.command = find_engine(command)
        """The program and its arguments."""
        self._processes: list[_EngineProcess] = []
        try:
            for _ in range(processes):
                self._processes.append(_EngineProcess(self.command, options))
        except BaseException:
            self.close()
            raise
        self.engine_name = self._processes[0].engine_name
        """What the engine calls itself."""

    @property
    def is_idle(self) -> bool:
        """Whether no process owes a reply."""
        return self._num_asked == 0

    def ask(self, requests: MoveRequests) -> None:
        """Let the processes think about ``requests``."""
        self._num_asked += len(requests)
        for row in range(len(requests)):
            process = self._processes[int(requests.slots[row]) % len(self._processes)]
            answer = process.ask(requests.take(np.array([row])))
            answer.add_done_callback(self._outbox.put)

    def replies(self) -> MoveReplies:
        """The moves that came since; raises ConfigError where an engine does not start again."""
        parts: list[MoveReplies] = []
        try:
            while True:
                parts.append(self._outbox.get(block=not parts, timeout=WAIT_S).result())
        except Empty:
            pass
        self._num_asked -= len(parts)
        return MoveReplies.joined(parts)

    def close(self) -> None:
        """End all processes."""
        for process in self._processes:
            process.close()


@dataclass
class _GameOnClock:
    """A game as the engine sees it."""

    number: int
    start: NDArray[np.uint64]
    """uint64[8]"""
    moves: list[int]
    """Moves that were made on the board."""
    board: chess.Board
    left_s: float | None
    """On the engine's clock; None without one."""

    def goes_on_with(self, request: MoveRequests) -> bool:
        """Whether ``request`` asks about a later position of this game. A number alone does not
        tell: another match, or an environment that is begun anew, uses it again."""
        moves, done = request.moves[0, : int(request.plies[0])].tolist(), len(self.moves)
        is_later = len(moves) > done and moves[:done] == self.moves
        is_same = self.number == int(request.games[0])
        return is_later and is_same and np.array_equal(self.start, request.starts[0])


class _EngineProcess:
    """Answers requests of K = 1 in order, in a thread, with a process of its own."""

    def __init__(self, command: list[str], options: EngineOptions) -> None:
        """Start the process. Raises ConfigError where the engine cannot play."""
        self._options = options
        self._engine = RestartedEngine(lambda: UciEngine(command, options.settings))
        with self._engine.running() as engine:
            self.engine_name = engine.name
        self._games: dict[int, _GameOnClock] = {}
        self._closing = False
        self._thread = ThreadPoolExecutor(1, "vecchess-engine")

    def ask(self, request: MoveRequests) -> "Future[MoveReplies]":
        """Begin to think about ``request`` after those before it."""
        return self._thread.submit(self._answer, request)

    def close(self) -> None:
        """End thread and process; a move that is being thought about is not waited for."""
        self._closing = True
        self._engine.close()
        self._thread.shutdown(cancel_futures=True)
        self._engine.close()  # the thread was starting it again

    def _answer(self, request: MoveRequests) -> MoveReplies:
        game, options = self._game_of(request), self._options
        try:
            with self._engine.running() as engine:
                if self._closing:
                    return _reply(request, NO_MOVE, Forfeit.CRASH)
                limit = options.limit(game.left_s)
                known = game.number if options.is_timed else object()  # another: "ucinewgame"
                engine.prepare(game.board, known, options.timeout)
                start = perf_counter()
                timeout_s = options.timeout + (limit.time or game.left_s or 0.0)
                move, evaluation = engine.play(
                    game.board, limit, known, timeout_s, whole_game=options.is_timed
                )
        except EngineFailed as error:  # the next game gets a new process
            return _reply(request, NO_MOVE, FORFEITS[error.fault])
        if self._is_late(game, perf_counter() - start):
            return _reply(request, NO_MOVE, Forfeit.TIME)
        if move is None:
            return _reply(request, NO_MOVE, Forfeit.ILLEGAL_MOVE)
        word = uci_to_move(request.positions[0], move.uci())
        return _reply(request, word, evaluation=evaluation)

    def _game_of(self, request: MoveRequests) -> _GameOnClock:
        """The game of ``request`` with all its moves on the board."""
        slot, number = int(request.slots[0]), int(request.games[0])
        game = self._games.get(slot)
        if game is None or not game.goes_on_with(request):
            clock, start = self._options.clock, request.starts[0].copy()
            game = _GameOnClock(number, start, [], start_board(start), clock and clock[0])
            self._games[slot] = game
        for word in request.moves[0, len(game.moves) : int(request.plies[0])].tolist():
            game.board.push(to_chess_move(game.board, word))
            game.moves.append(word)
        return game

    def _is_late(self, game: _GameOnClock, spent_s: float) -> bool:
        """Take a move's time off the clock; True where there was not so much."""
        clock = self._options.clock
        if game.left_s is None or clock is None:
            return False
        game.left_s -= spent_s
        if game.left_s < -self._options.margin / 1000:
            return True
        game.left_s += clock[1]
        return False


def _reply(
    request: MoveRequests,
    move: int,
    forfeit: int = NO_FORFEIT,
    evaluation: EngineEvaluation | None = None,
) -> MoveReplies:
    value, visits = np.nan, 0
    if evaluation is not None:
        value, visits = evaluation.win + evaluation.draw / 2, evaluation.nodes
    moves = np.array([move], np.uint16)
    return MoveReplies.of_moves(request.slots, moves, value, visits, forfeit)


def _clock(text: str) -> tuple[float, float]:
    base, _, increment = text.replace(" ", "+").partition("+")
    try:
        found = float(base), float(increment or 0)
    except ValueError:
        raise ValueError(f'"{text}" is not BASE+INCREMENT in seconds') from None
    if not (0 < found[0] < 1e6 and 0 <= found[1] < 1e6):
        raise ValueError(f'"{text}": the base must be above 0 s, the increment 0 s or more')
    return found
