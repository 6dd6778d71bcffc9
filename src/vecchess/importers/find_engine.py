"""The process of a UCI engine: where it is, and how it is started."""

import shlex
import shutil
from pathlib import Path

import chess.engine

from vecchess.errors import ConfigError

ANSWER_TIMEOUT_S = 60.0
GAMES_FOLDER = "/usr/games"
"""Where Debian puts engines, on few people's PATH."""


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


def start_engine(command: list[str]) -> chess.engine.SimpleEngine:
    """Start ``command``; raises ConfigError where it cannot be started or speaks no UCI."""
    name = shlex.join(command)
    try:
        # a group of its own: Ctrl-C stops us, and we stop the engine
        return chess.engine.SimpleEngine.popen_uci(command, timeout=ANSWER_TIMEOUT_S, setpgrp=True)
    except (TimeoutError, chess.engine.EngineError) as error:
        reason = str(error) or f"nothing came within {ANSWER_TIMEOUT_S:.0f} s"
        raise ConfigError(f"{name} does not answer as a UCI engine: {reason}") from None
    except OSError as error:
        raise ConfigError(f"cannot start the engine {name}: {error.strerror}") from None
