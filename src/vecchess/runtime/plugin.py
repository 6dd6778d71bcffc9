"""Functions and classes of the user, named ``module:attribute`` on the command line.

Whatever runs code of the user does so within ``users_code``: it may print, exit and raise what it
likes, and vecchess has a line for it (decisions 174, 308).
"""

import linecache
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from inspect import signature
from opcode import opmap
from pathlib import Path
from threading import Lock, Timer, local
from types import FrameType, TracebackType
from typing import Any, NoReturn, cast

from vecchess.errors import ConfigError, NetworkError, VecchessError, as_device_error
from vecchess.runtime.signals import Stopped
from vecchess.safe_parse import clip_line

SLOW_S = 5.0
"""After so long a line says what code of the user is waited for."""
TRACEBACK = "VECCHESS_TRACEBACK"
"""The variable that shows the whole traceback of an error in code of the user, where it is "1"."""
_OURS = str(Path(__file__).parents[1])
_STANDARD = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib")})
_INSTALLED = tuple({sysconfig.get_path(name) for name in ("purelib", "platlib")})
"""Folders of the standard library, and of packages."""
_TOOLS = ("torch", "numpy", "snntorch", "spikingjelly", "norse")
"""Packages whose lines say little of what is wrong in code of the user."""
_lock = Lock()
_thread = local()
_num_inside = 0
_results = 1
_is_guarded = False
is_program = False
"""Whether this process is the ``vecchess`` program, whose stdout is for its results."""


def results_descriptor() -> int:
    """The file descriptor for results."""
    return _results


@contextmanager
def users_code(
    whose: str, what: str, kind: type[VecchessError] = NetworkError, says_slow: bool = False
) -> Iterator[None]:
    """Run code of the user within the block: what it prints goes to stderr.

    Raises ``kind`` with one line where it raises anything, or asks to end the process: "whose: what
    fails: ValueError: text (served.py:12)". Errors of vecchess, failures of devices and requests to
    stop are raised as they are. says_slow: after some seconds a line says what is waited for.
    """
    timer = _say_when_slow(f"{whose}: {what}") if says_slow else None
    _enter()
    try:
        yield
    except (ConfigError, NetworkError) as error:
        if str(error).startswith(whose):
            raise
        raise type(error)(f"{whose}: {error}") from error
    except (VecchessError, Stopped, GeneratorExit):
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and not _is_raised(error):
            raise
        if device_error := as_device_error(error, what):
            raise device_error from error
        if os.environ.get(TRACEBACK) == "1":
            traceback.print_exception(error)
        raise kind(f"{whose}: {what} fails: {describe(error)}") from error
    finally:
        _leave()
        if timer is not None:
            timer.cancel()


def describe(error: BaseException) -> str:
    """What code of the user raised and where, in one line: "ValueError: text (served.py:12)"; the
    line of its source where there is no text."""
    text, place = clip_line(error), ""
    if isinstance(error, SyntaxError) and error.filename:
        text, place = clip_line(error.msg), f"{_shown(error.filename)}:{error.lineno}"
    elif found := _users_line(error):
        file, line = found
        place = f"{_shown(file)}:{line}"
        text = text or f"in '{clip_line(linecache.getline(file, line))}'"
    name = type(error).__name__
    return f"{name}{': ' if text else ''}{text}{f' ({place})' if place else ''}"


def load_plugin(text: str) -> Callable[..., Any]:
    """What ``module:attribute`` names. The module may lie in the current folder.

    Raises ConfigError where it cannot be imported, has no such attribute or cannot be called.
    """
    name, _, attribute = text.partition(":")
    folder = os.getcwd()
    if folder not in sys.path:  # the ``vecchess`` command does not search it by itself
        sys.path.insert(0, folder)
    if is_program:
        _keep_stdout()
    try:
        with users_code(name, "its import", ConfigError, says_slow=True):
            module = import_module(name)
            function = getattr(module, attribute, None)
    except ConfigError as error:
        cause = error.__cause__
        if isinstance(cause, VecchessError):
            raise
        is_missing = isinstance(cause, ModuleNotFoundError) and cause.name in _parents(name)
        advice = "; is its folder in PYTHONPATH?" if is_missing else ""
        reason = describe(cause) if cause is not None else str(error)
        raise ConfigError(f"cannot import {name}: {reason}{advice}") from cause
    if not callable(function):
        raise ConfigError(f"module {name} has no function {attribute}")
    found: Callable[..., Any] = function
    return found


def require_arguments(
    function: Callable[..., Any], whose: str, /, *arguments: object, **settings: object
) -> None:
    """Raise ConfigError, "whose: reason", where ``function`` cannot be called so."""
    try:
        signature(function).bind(*arguments, **settings)
    except TypeError as error:
        raise ConfigError(f"{whose}: {error}") from None
    except ValueError:  # a function without a signature
        pass


def plugin_file(text: str) -> Path | None:
    """The source file of a loaded plug-in's module; None where it has none."""
    file = getattr(sys.modules.get(text.partition(":")[0]), "__file__", None)
    return None if file is None else Path(file)


def _parents(name: str) -> list[str]:
    """ "a", "a.b" and "a.b.c" of "a.b.c"."""
    parts = name.split(".")
    return [".".join(parts[: count + 1]) for count in range(len(parts))]


class _UsersStdout:
    """Stands in for stdout: stderr for code of the user, itself for other threads."""

    def __init__(self, stdout: Any) -> None:
        self.stdout = stdout

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr if _depth() else self.stdout, name)


def _depth() -> int:
    """How often this thread has entered code of the user."""
    depth: int = getattr(_thread, "depth", 0)
    return depth


def _enter() -> None:
    """Code of the user begins in this thread."""
    global _num_inside
    _guard_exits()
    with _lock:
        _num_inside += 1
        if not isinstance(sys.stdout, _UsersStdout):
            sys.stdout = cast(Any, _UsersStdout(sys.stdout))
    _thread.pid, _thread.depth = os.getpid(), _depth() + 1


def _leave() -> None:
    global _num_inside
    _thread.depth -= 1
    with _lock:
        _num_inside -= 1
        if _num_inside == 0 and isinstance(sys.stdout, _UsersStdout):
            sys.stdout = sys.stdout.stdout


def _guard_exits() -> None:
    """Have ``os._exit`` and ``os.abort`` raise where code of the user calls them."""
    global _is_guarded
    if _is_guarded:
        return
    _is_guarded = True

    def guarded(name: str, real: Callable[..., Any]) -> Callable[..., NoReturn]:
        def leave(*arguments: Any) -> NoReturn:
            caller = sys._getframe(1).f_code.co_filename
            if _depth() and _thread.pid == os.getpid() and not caller.startswith(_OURS):
                raise SystemExit(f"os.{name}({', '.join(map(str, arguments))})")
            real(*arguments)
            raise AssertionError

        return leave

    for name in ("_exit", "abort"):
        setattr(os, name, guarded(name, getattr(os, name)))


def _keep_stdout() -> None:
    """Give results a descriptor of their own: what libraries in C and programs that code of the
    user starts write to descriptor 1 goes to stderr. A terminal shows both anyway."""
    global _results
    stdout = sys.stdout
    is_own = _results == 1 and stdout is not None and stdout is sys.__stdout__
    if stdout is None or not is_own or os.isatty(1):
        return
    stdout.flush()
    _results = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = open(  # noqa: SIM115  (until the process ends)
        _results, "w", encoding=stdout.encoding, errors=stdout.errors, closefd=False
    )


def _say_when_slow(text: str) -> Timer:
    """A started timer: after ``SLOW_S`` a line on stderr."""
    stream = sys.stderr

    def say() -> None:
        print(f"vecchess: {text} takes long ...", file=stream, flush=True)

    timer = Timer(SLOW_S, say)
    timer.daemon = True
    timer.start()
    return timer


def _frames(trace: TracebackType | None) -> Iterator[tuple[FrameType, TracebackType]]:
    while trace is not None:
        yield trace.tb_frame, trace
        trace = trace.tb_next


def _is_raised(error: BaseException) -> bool:
    """Whether code raised ``error`` by itself, rather than the handler of a signal."""
    frames = list(_frames(error.__traceback__))
    if not frames:
        return False
    frame, trace = frames[-1]
    is_ours = frame.f_code.co_filename.startswith(_OURS)
    return not is_ours and frame.f_code.co_code[trace.tb_lasti] == opmap["RAISE_VARARGS"]


def _users_line(error: BaseException) -> tuple[str, int] | None:
    """File and line of the innermost code of the user that ``error`` passed: outside of what is
    installed, or in an installed package that is none of ``_TOOLS``."""
    frames = [
        (frame.f_code.co_filename, trace.tb_lineno, frame.f_globals.get("__name__") or "")
        for frame, trace in _frames(error.__traceback__)
        if not frame.f_code.co_filename.startswith((_OURS, "<"))
    ]
    theirs = [one for one in frames if not one[0].startswith((*_STANDARD, *_INSTALLED))]
    packages = [
        one
        for one in frames
        if one[0].startswith(_INSTALLED) and one[2].partition(".")[0] not in _TOOLS
    ]
    return next(((file, line) for file, line, _ in reversed(theirs or packages)), None)


def _shown(file: str) -> str:
    """A file below the current folder by its way from there."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
