"""A UCI engine: found, started, asked for a move, ended. Options and limits are python-chess's."""

import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any, Self

import chess
from chess.engine import EngineError, Limit, Option, UciOptionMap

from vecchess.errors import ConfigError
from vecchess.runtime.engines.engine_pipe import EngineFailed, EngineFault, EnginePipe
from vecchess.runtime.engines.uci_info import EngineEvaluation, read_evaluation

ANSWER_TIMEOUT_S = 60.0
GAMES_FOLDER = "/usr/games"
"""Where Debian puts engines; often not on the PATH."""
HISTORY_PLIES = 8
"""Positions before the one asked about that an engine is told of at least: some look at so many.
Repetitions need those since the last capture or pawn's move."""
_CHESS960 = "UCI_Chess960"
_NO_GAME = object()
_OPTION = re.compile(r" (name|type|default|min|max|var)(?= |$)")


class UciEngine:
    """The process of one engine. Used by one thread at a time; any thread may ``close`` it."""

    def __init__(
        self,
        command: list[str],
        settings: Callable[[Mapping[str, Option]], Mapping[str, Any]] = lambda known: {},
    ) -> None:
        """Start ``command``, a program and its arguments.

        ``settings`` chooses values for the options that the engine has. Raises ConfigError where
        the program cannot be started, speaks no UCI or refuses an option.
        """
        self.name = "engine"
        """What the engine calls itself."""
        self.options: UciOptionMap[Option] = UciOptionMap()
        """The options that the engine has, by name in any case."""
        self._game: object = _NO_GAME
        self._is_chess960 = False
        self._pipe = EnginePipe(command)
        try:
            self._shake_hands(shlex.join(command))
            self._configure(command[0], settings)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        """The engine, which is ended at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self.close()

    @property
    def pid(self) -> int:
        """Id of the process."""
        return self._pipe.pid

    def close(self) -> None:
        """End the process at once; a move that it is thinking about fails."""
        self._pipe.close()

    def play(
        self,
        board: chess.Board,
        limit: Limit,
        game: object,
        timeout_s: float | None = None,
        *,
        whole_game: bool = False,
    ) -> tuple[chess.Move | None, EngineEvaluation | None]:
        """The move the engine makes on ``board``, None where it gives up, and its evaluation.

        A ``game`` that does not equal the one before is announced as a new game. ``timeout_s``:
        None waits for as long as the limit takes. ``whole_game``: tell it all moves, by which many
        engines find what they searched before, not the recent ones alone. Raises EngineFailed.
        """
        self.prepare(board, game, timeout_s)
        deadline = None if timeout_s is None else monotonic() + timeout_s
        self._pipe.send(f"{_position_command(board, whole_game)}\n{_go_command(limit)}")
        lines = self._pipe.read_until("bestmove", deadline)
        move = self._legal_move(board, lines[-1])
        infos = [line for line in lines if line.startswith("info ")]
        return move, read_evaluation(infos, board.ply(), limit.nodes or 0)

    def prepare(self, board: chess.Board, game: object, timeout_s: float | None = None) -> None:
        """Announce ``game`` where it is new, and wait until the engine is ready for ``board``.

        Raises EngineFailed.
        """
        deadline = None if timeout_s is None else monotonic() + timeout_s
        if board.chess960 != self._is_chess960:
            if _CHESS960 not in self.options:
                raise EngineFailed(EngineFault.ILLEGAL_MOVE, "the engine does not know Chess960")
            self._set_option(_CHESS960, board.chess960)
            self._is_chess960 = board.chess960
        if game != self._game:
            self._pipe.send("ucinewgame")
            self._wait_until_ready(deadline)
            self._game = game

    def _shake_hands(self, name: str) -> None:
        """Read what the engine calls itself, and its options."""
        try:
            self._pipe.send("uci")
            lines = self._pipe.read_until("uciok", monotonic() + ANSWER_TIMEOUT_S)
        except EngineFailed as error:
            late = error.fault is EngineFault.NO_ANSWER
            reason = f"nothing came within {ANSWER_TIMEOUT_S:.0f} s" if late else error
            raise ConfigError(f"{name} does not answer as a UCI engine: {reason}") from None
        for line in lines:
            if line.startswith("id name "):
                marks = line.removeprefix("id name ")
                told = "".join(mark if mark.isprintable() else " " for mark in marks)
                self.name = told.strip() or self.name
            elif line.startswith("option ") and (option := _parse_option(line)):
                self.options[option.name] = option

    def _configure(
        self, program: str, settings: Callable[[Mapping[str, Option]], Mapping[str, Any]]
    ) -> None:
        try:
            for name, value in settings(self.options).items():
                if name.lower() == _CHESS960.lower():
                    raise ConfigError(f"{_CHESS960} is set by the positions")
                self._set_option(name, self.options[name].parse(value))
            self._wait_until_ready(monotonic() + ANSWER_TIMEOUT_S)
        except (ConfigError, EngineError, EngineFailed) as error:
            raise ConfigError(f"{program}: {error}") from None

    def _set_option(self, name: str, value: Any) -> None:
        """``value``: None presses a button."""
        text = str(value).lower() if isinstance(value, bool) else value
        self._pipe.send(f"setoption name {name}" + ("" if value is None else f" value {text}"))

    def _wait_until_ready(self, deadline: float | None) -> None:
        self._pipe.send("isready")
        self._pipe.read_until("readyok", deadline)

    def _legal_move(self, board: chess.Board, line: str) -> chess.Move | None:
        """The move of a ``bestmove`` line."""
        text = [*line.split(), ""][1]
        if text in ("(none)", "0000", "NULL", ""):
            return None
        try:
            return board.parse_uci(text)
        except ValueError as error:
            raise self._pipe.failed(EngineFault.ILLEGAL_MOVE, str(error)) from None


class RestartedEngine:
    """An engine that is started when it is needed, and anew after it failed. It is used by one
    thread; any may ``close`` it."""

    def __init__(self, start: Callable[[], UciEngine]) -> None:
        """Keep ``start``; the first use calls it."""
        self._start = start
        self._engine: UciEngine | None = None

    @contextmanager
    def running(self) -> Iterator[UciEngine]:
        """The engine for a block; where that raises EngineFailed, the next gets a new process.

        Raises ConfigError where the engine does not start.
        """
        if self._engine is None:
            self._engine = self._start()
        try:
            yield self._engine
        except EngineFailed:
            self.close()
            raise

    def close(self) -> None:
        """End the process; a move that it is thinking about fails."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()


def find_engine(name: str) -> list[str]:
    """The command of an engine: a program with its arguments, as a shell would read them.

    Raises ConfigError where there is no such program.
    """
    try:
        words = [name] if Path(name).is_file() else shlex.split(name)
    except ValueError as error:
        raise ConfigError(f'the engine "{name}" cannot be read as a command: {error}') from None
    program = words and (shutil.which(words[0]) or shutil.which(words[0], path=GAMES_FOLDER))
    if not program:
        raise ConfigError(f'there is no engine "{name}": install it or give its path')
    return [program, *words[1:]]


def _parse_option(line: str) -> Option | None:
    """The option of an ``option`` line; None where it has no name or a bound is no number."""
    values: dict[str, list[str]] = {}
    keys = list(_OPTION.finditer(line))
    for key, following in zip(keys, [*keys[1:], None], strict=True):
        text = line[key.end() : following.start() if following else len(line)].strip()
        values.setdefault(key[1], []).append(text)
    if not (name := values.get("name", [""])[0]):
        return None
    with suppress(ValueError):
        low, high = (int(values[key][0]) if key in values else None for key in ("min", "max"))
        kind, default = (values.get(key, [""])[0] for key in ("type", "default"))
        return Option(name, kind, default, low, high, values.get("var", []))
    return None


def _position_command(board: chess.Board, whole_game: bool) -> str:
    """``board`` and what led to it, unless ``whole_game`` as far as it matters: each move costs an
    engine time."""
    num_moves = len(board.move_stack)
    if not whole_game:
        num_moves = min(max(board.halfmove_clock, HISTORY_PLIES), num_moves)
    recent = board.copy(stack=num_moves)
    root = recent.root().fen(shredder=board.chess960, en_passant="fen")
    start = "startpos" if root == chess.STARTING_FEN else f"fen {root}"
    moves = " ".join(move.uci() for move in recent.move_stack)
    return f"position {start} moves {moves}" if moves else f"position {start}"


def _go_command(limit: Limit) -> str:
    """``limit`` as python-chess describes it, times in milliseconds."""
    parts = (
        ("wtime", limit.white_clock, 1000, 1),
        ("btime", limit.black_clock, 1000, 1),
        ("winc", limit.white_inc, 1000, 0),
        ("binc", limit.black_inc, 1000, 0),
        ("depth", limit.depth, 1, 1),
        ("nodes", limit.nodes, 1, 1),
        ("movetime", limit.time, 1000, 1),
    )
    words = [
        f"{name} {max(least, round(value * unit))}"
        for name, value, unit, least in parts
        if value is not None
    ]
    return " ".join(["go", *words])
