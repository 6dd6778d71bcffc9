"""``vecchess``: the program; errors become one line and an exit code."""

import atexit
import gc
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from types import FrameType

INTERRUPTED = 130
BROKEN_PIPE = 141
"""What a shell reports of a program whose reader has gone, as in ``vecchess ... | head``."""
GARBAGE_THRESHOLD = 10_000
"""So many more objects than at the last look have the garbage collector look again."""


def main() -> None:
    """Entry point of the ``vecchess`` program."""
    # Until the command line is imported, Ctrl-C ends the process by the system's default action: an
    # exception during an import would print a traceback. Scripts may start us with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    # Nearly all that imports make stays. Looking for garbage after each 700 objects, and in all of
    # them at the end, took a third of a second with numba and a whole one with torch.
    gc.set_threshold(GARBAGE_THRESHOLD)
    atexit.register(gc.freeze)
    import_module("vecchess_cli.root")
    import_module("vecchess.runtime.plugin").is_program = True  # type: ignore[attr-defined]

    signal.signal(signal.SIGINT, signal.default_int_handler)
    atexit.register(_ignore_signals)  # the first that is registered is the last to run
    code = run()
    _fix_exit_code(code)
    sys.exit(code)


def _open_closed_streams() -> None:
    """Let /dev/null stand for standard streams that are closed: the next file that is opened, one
    of a run perhaps, would get the number that messages are written to."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
            stream = open(number, "w" if number else "r", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)


def run() -> int:
    """Run the command line; returns the exit code. Expected errors become one line on stderr."""
    import typer

    from vecchess.errors import VecchessError
    from vecchess.runtime.signals import Stopped
    from vecchess_cli.root import app

    try:
        code = app(standalone_mode=False)
        return code if isinstance(code, int) else 0
    except VecchessError as error:
        return _fail(str(error), error.exit_code)
    except typer.TyperException as error:
        return _fail(error.format_message(), error.exit_code)
    except Stopped as stopped:
        print(f"vecchess: {stopped}", file=sys.stderr)
        _silence_unraisable(stopped)
        return stopped.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        return _close_stdout()
    except SystemExit as ended:  # typer and rich catch BrokenPipeError themselves, and exit with 1
        return _close_stdout() if ended.code == 1 else int(ended.code or 0)
    except OSError as error:  # a full or vanished disk, where nothing gave a better message
        return _fail(str(error), 1)


def _close_stdout() -> int:
    """Discard what is still buffered for a reader that has gone; returns the exit code."""
    from vecchess.runtime.plugin import results_descriptor

    os.dup2(os.open(os.devnull, os.O_WRONLY), results_descriptor())
    return BROKEN_PIPE


def _silence_unraisable(error: BaseException) -> None:
    """Drop the frames that ``error`` interrupted: half-made objects there may fail to be deleted,
    which means nothing."""
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    error.__traceback__ = None
    sys.unraisablehook = hook


def _fail(message: str, code: int) -> int:
    if message.startswith("Usage:"):  # a group without a command: its help is the answer
        print(message)
        return code
    from vecchess.safe_parse import printable

    if line := printable(" ".join(message.split())):
        with suppress(OSError):  # the disk of the log may be full as well
            print(f"vecchess: error: {line}", file=sys.stderr)
    return code


def _fix_exit_code(code: int) -> None:
    """The command has ended: a signal that comes now does not change its exit code."""

    def leave(number: int, frame: FrameType | None) -> None:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)

    from vecchess.runtime.signals import stop_signals

    for number in stop_signals():
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, leave)


def _ignore_signals() -> None:
    """Ignore signals: the interpreter restores the system's default actions before it ends."""
    from vecchess.runtime.signals import stop_signals

    for number in stop_signals():
        signal.signal(number, signal.SIG_IGN)


if __name__ == "__main__":
    main()
