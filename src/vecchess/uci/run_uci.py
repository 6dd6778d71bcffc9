"""A conversation with a GUI over two file descriptors, from settings to its end."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Lock, current_thread, main_thread

from vecchess.config import BUILT_IN_NETS, UciConfig
from vecchess.errors import NetworkError
from vecchess.runtime.signals import EXIT_INTERRUPTED
from vecchess.uci.reader import Lines, read_lines
from vecchess.uci.session import Session

STDIN, STDOUT = 0, 1
CLOSING_S, INTERRUPTED_S = 60.0, 10.0
"""How long the end waits for what is being opened, by itself and after Ctrl-C."""
LOOK_S = 0.25
"""Signals, and readers that are gone, are noticed so often; lines and answers at once."""


def run(config: UciConfig, command: Sequence[str] = (), stdin: int = STDIN) -> None:
    """Speak UCI until ``quit`` or the end of ``stdin``; with a ``command``, do just that.

    Raises NetworkError where the network of ``config`` cannot be there.
    """
    check_net_name(config.net)
    lines: Lines = SimpleQueue()
    if current_thread() is main_thread():  # also where whoever started us ignores it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    speaker = _Speaker(lines)
    session = Session(config, speaker.say)
    try:
        if command:
            session.execute(" ".join(command))
            while not session.wait(LOOK_S) and not speaker.is_unheard.is_set():
                pass
        else:
            read_lines(stdin, lines)
            _converse(session, lines)
    except KeyboardInterrupt:
        _close(session, INTERRUPTED_S, EXIT_INTERRUPTED)
        raise
    except BaseException:
        _close(session, CLOSING_S, 1)
        raise
    _close(session, CLOSING_S, 1)


def _close(session: Session, patience_s: float, code: int) -> None:
    """Answer what is open and end. Where something still compiles after ``patience_s``, or a device
    hangs, nobody waits for it: the process ends with exit code ``code``."""
    if not session.close(patience_s):
        os._exit(code)


def check_net_name(net: str) -> None:
    """Raise NetworkError where there cannot be such a network; no file is opened yet."""
    from vecchess.snn.presets import PRESETS

    known = (*BUILT_IN_NETS, *PRESETS)
    if net not in known and not Path(net).is_file():
        names = ", ".join(known)
        raise NetworkError(f'there is no network file "{net}", nor a network named so ({names})')


def _converse(session: Session, lines: Lines) -> None:
    while True:
        try:  # a signal that comes just before the wait would not end one without a time
            item = lines.get(timeout=LOOK_S)
        except Empty:
            continue
        if item is None or not session.execute(item[1], item[0]):
            return


class _Speaker:
    """Writes lines as a whole and at once; where nobody reads any more the conversation is over."""

    def __init__(self, lines: Lines) -> None:
        self._lines, self._lock = lines, Lock()
        self.is_unheard = Event()
        """Set once nobody reads any more."""

    def say(self, line: str) -> None:
        data = line.encode("utf-8", "replace") + b"\n"
        with self._lock:
            try:
                while data:
                    data = data[os.write(STDOUT, data) :]
            except OSError:
                self.is_unheard.set()
                self._lines.put(None)
