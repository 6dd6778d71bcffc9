"""A command on one node. Ray makes an actor of a ``NodeProcess``."""

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from threading import Thread

from vecchess.runtime.json_pipe import Message, decode_message

MOST_BYTES = 1 << 24
"""Longest line of a command that is read."""
PROGRAM = ("-m", "vecchess_cli.main")
VALUES = {"out": ("line", str), "err": ("line", str), "ended": ("exit_code", int)}
"""By kind of message from the guard: the value it has, and its type."""


class NodeProcess:
    """Starts one command on its node, reads its output, and stops it; the command also stops when
    this process dies."""

    def __init__(self, name: str, program: Sequence[str] = PROGRAM) -> None:
        """``name`` is for the user; ``program`` are arguments for this node's Python."""
        self.name = name
        self._program = program
        self._messages: SimpleQueue[Message] = SimpleQueue()

    def free_port(self) -> int:
        """A port of this node that is free at the moment."""
        with socket.create_server(("", 0)) as server:
            port: int = server.getsockname()[1]
        return port

    def start(self, arguments: list[str], folder: str, variables: dict[str, str]) -> None:
        """Run the program in ``folder``, with ``variables`` added to the environment."""
        guard = [sys.executable, "-m", "vecchess.ray_launcher.process_guard"]
        process = subprocess.Popen(
            [*guard, sys.executable, *self._program, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=folder,
            env=os.environ | variables,
        )
        process.wait()  # the guard goes on in a process that is no child of this one
        self._stdin, self._stdout = process.stdin, process.stdout
        Thread(target=self._read, daemon=True).start()

    def messages(self, wait_s: float = 0.0) -> list[Message]:
        """Messages since the last call; the first is waited for ``wait_s`` at most.

        "err" and "out" with a "line"; at last "ended" with an "exit_code", below 0 for a signal, or
        "lost" with a "reason".
        """
        messages: list[Message] = []
        try:
            messages.append(self._messages.get(wait_s > 0, wait_s or None))
            while True:
                messages.append(self._messages.get_nowait())
        except Empty:
            return messages

    def stop(self) -> None:
        """Ask the command to save and end; further calls change nothing."""
        assert self._stdin is not None
        self._stdin.close()

    def _read(self) -> None:
        assert self._stdout is not None
        kind = ""
        while line := self._stdout.readline(MOST_BYTES):
            try:
                message = decode_message(line, MOST_BYTES)
                kind = message["kind"]
                name, type_ = VALUES[kind]
                if type(message[name]) is not type_:
                    raise ValueError(f"{name} has the wrong type")
            except (ValueError, KeyError):  # no message of the guard's
                kind = ""
                break
            self._messages.put(message)
        if kind != "ended":
            self._messages.put({"kind": "lost", "reason": "the process that ran it has ended"})
