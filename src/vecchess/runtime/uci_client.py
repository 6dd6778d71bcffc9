"""UCI engines as child processes, driven through python-chess: found, started, asked and ended."""

import asyncio
import shlex
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Any, Self

import chess
import chess.engine

from vecchess.errors import ConfigError, VecchessError
from vecchess.safe_parse import clip_line

ANSWER_TIMEOUT_S = 60.0
GAMES_FOLDER = "/usr/games"
"""Where Debian puts engines; often not on the PATH."""
_INFO = chess.engine.INFO_SCORE | chess.engine.INFO_BASIC
_ERROR_PREFIXES = ("info string error: ", "vecchess: error: ")


class EngineFault(Enum):
    """How an engine failed to move."""

    NO_ANSWER = auto()
    ENDED = auto()
    ILLEGAL_MOVE = auto()


class EngineFailed(VecchessError):  # noqa: N818  (the name says what happened)
    """An engine made no legal move; its process has to be replaced."""

    def __init__(self, fault: EngineFault, reason: str) -> None:
        """``reason``: one line for people."""
        super().__init__(reason)
        self.fault = fault


@dataclass(frozen=True)
class EngineEvaluation:
    """How an engine rates a position. Point of view: the mover's."""

    nodes: int
    """Positions it looked at, above 0."""
    win: float
    """Probability, 0 to 1."""
    draw: float


class EngineProtocol(chess.engine.UciProtocol):
    """python-chess's protocol, which keeps lines that explain a failure."""

    last_line = ""
    """Newest line on either output."""
    reported_error = ""
    """Newest error of a vecchess engine, which goes on without a network that it cannot open."""

    def line_received(self, line: str) -> None:
        """Keep a line of the standard output."""
        self.last_line = line or self.last_line
        for prefix in _ERROR_PREFIXES:
            if line.startswith(prefix):
                self.reported_error = line.removeprefix(prefix).split(" (going on ")[0]

    error_line_received = line_received


class UciEngine:
    """The process of one engine. Used by one thread at a time; any thread may ``close`` it."""

    def __init__(
        self,
        command: list[str],
        settings: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda known: {},
    ) -> None:
        """Start ``command``, a program and its arguments.

        ``settings`` chooses values for the options that the engine has. Raises ConfigError where
        the program cannot be started, speaks no UCI or refuses an option.
        """
        name = shlex.join(command)
        try:
            # a process group of its own: Ctrl-C ends vecchess, and vecchess ends the engine
            self._engine = chess.engine.SimpleEngine.popen(
                EngineProtocol, command, timeout=ANSWER_TIMEOUT_S, setpgrp=True
            )
        except (TimeoutError, chess.engine.EngineError) as error:
            reason = str(error) or f"nothing came within {ANSWER_TIMEOUT_S:.0f} s"
            raise ConfigError(f"{name} does not answer as a UCI engine: {reason}") from None
        except OSError as error:
            raise ConfigError(f"cannot start the engine {name}: {error.strerror}") from None
        try:
            self._engine.configure(settings(self._engine.options))
        except (ConfigError, chess.engine.EngineError) as error:
            self.close()
            raise ConfigError(f"{command[0]}: {error}") from None
        self.name: str = self._engine.id.get("name", "engine")
        """What the engine calls itself."""

    def __enter__(self) -> Self:
        """The engine, which is ended at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self.close()

    @property
    def options(self) -> Mapping[str, chess.engine.Option]:
        """The options that the engine has, by name."""
        return self._engine.options

    def close(self) -> None:
        """End the process at once; a move that it is thinking about fails."""
        self._engine.close()

    def play(
        self,
        board: chess.Board,
        limit: chess.engine.Limit,
        game: object,
        timeout_s: float | None = None,
    ) -> tuple[chess.Move | None, EngineEvaluation | None]:
        """The move the engine makes on ``board``, None where it gives up, and its evaluation.

        A ``game`` that does not equal the one before is announced as a new game. ``timeout_s``:
        None waits for as long as the limit takes. Raises EngineFailed.
        """
        protocol = self._engine.protocol
        try:
            with self._engine._not_shut_down():
                playing = protocol.play(board, limit, game=game, info=_INFO)
                future = asyncio.run_coroutine_threadsafe(playing, protocol.loop)
            answer = future.result(timeout_s)
        except TimeoutError:
            raise self._failed(EngineFault.NO_ANSWER, "no answer") from None
        except chess.engine.EngineTerminatedError as error:
            raise self._failed(EngineFault.ENDED, str(error)) from None
        except chess.engine.EngineError as error:  # python-chess refuses illegal moves
            raise self._failed(EngineFault.ILLEGAL_MOVE, str(error)) from None
        return answer.move, _evaluation(answer.info, board.ply(), limit.nodes or 0)

    def _failed(self, fault: EngineFault, reason: str) -> EngineFailed:
        protocol = self._engine.protocol
        assert isinstance(protocol, EngineProtocol)
        last = f'; its last line: "{clip_line(protocol.last_line)}"' if protocol.last_line else ""
        return EngineFailed(fault, clip_line(reason) + last)


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


def _evaluation(info: chess.engine.InfoDict, ply: int, nodes: int) -> EngineEvaluation | None:
    """Win and draw as the engine gives them, else what its score means for Stockfish 15.1.

    None where it gives neither. ``nodes`` stand in where it does not report its own.
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
