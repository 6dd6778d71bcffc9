"""Players on the nodes of a Ray cluster, as the learner sees them: a program that keeps them.

The program is ``ray_driver``, which is started again where it loses its cluster: what it has lost
is played again, and the results lie in the run's folder, not in Ray.
"""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from threading import Event, Thread
from time import monotonic
from typing import Self

from vecchess.config import PlayConfig
from vecchess.errors import ConfigError, VecchessError, WorkerDied, require_library
from vecchess.fleet.block_player import player_config
from vecchess.fleet.ray_driver import LEAVE_S, require_answer
from vecchess.runtime.child_program import end_program, start_program
from vecchess.runtime.json_pipe import MOST_BYTES, Message, decode_message
from vecchess.runtime.reporting import ReportLine
from vecchess.runtime.signals import StopSignals, way_to_end
from vecchess.store.remote.object_store import is_url

DRIVER = [sys.executable, "-c", "from vecchess.fleet.ray_driver import main; main()"]
FIRST_PAUSE_S, MOST_PAUSE_S = 1.0, 30.0
"""Before the driver is started again; doubled with each start that finds no cluster."""
CLOSE_S = 10.0
"""Time for Ray to end, after the players have."""
POLL_S = 0.05


class RayPlayers:
    """Keeps players on the nodes of a Ray cluster; to be used in a ``with``."""

    def __init__(
        self, place: str, config: PlayConfig, report_line: ReportLine, stop: StopSignals
    ) -> None:
        """place: the run's folder or URL, which exists by the time this is entered. stop: with
        ``must_exit_now`` players lose the blocks in hand."""
        self._report_line, self._stop = report_line, stop
        self._arguments = {
            "address": address_of(config),
            "place": place if is_url(place) else str(Path(place).resolve()),
            "settings": player_config(config).model_dump(mode="json"),
        }
        self._ending = Event()
        self._has_begun = False
        self._error: VecchessError | None = None
        self._process: Popen[bytes] | None = None
        self._thread = Thread(target=self._keep_driver, daemon=True)

    def __enter__(self) -> Self:
        """Begin; nothing is waited for."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End players and driver: blocks in hand are finished if that does not take long."""
        self._ending.set()
        deadline = monotonic() + LEAVE_S + CLOSE_S
        while self._thread.is_alive():
            if (process := self._process) is not None:
                _close(process)
                if self._stop.must_exit_now or monotonic() > deadline:
                    end_program(process)
            self._thread.join(POLL_S)

    def check(self) -> None:
        """Raise ConfigError where the cluster could not be used from the beginning, WorkerDied
        where no node of it can play."""
        if self._error is not None:
            raise self._error

    def _keep_driver(self) -> None:
        """Start the driver, again where the cluster was lost, until the end."""
        pause_s, is_told = FIRST_PAUSE_S, False
        while not self._ending.is_set():
            was_ready = False
            for message in self._messages_of_driver():
                kind, line = message["kind"], str(message.get("line", ""))
                if kind == "ready":
                    self._has_begun = was_ready = True
                    if is_told:
                        self._report_line("the Ray cluster answers again")
                    pause_s, is_told = FIRST_PAUSE_S, False
                elif kind == "line":
                    self._report_line(line)
                elif kind == "failed" or not self._has_begun:
                    self._error = WorkerDied(line) if kind == "failed" else ConfigError(line)
                    return
                elif not is_told and not self._ending.is_set():
                    self._report_line(f"the Ray cluster is lost, asking until it answers: {line}")
                    is_told = True
            self._ending.wait(pause_s)
            pause_s = pause_s if was_ready else min(2 * pause_s, MOST_PAUSE_S)

    def _messages_of_driver(self) -> Iterator[Message]:
        """Messages of a new driver until it has ended; "lost" where it has not told why."""
        command = [*DRIVER, json.dumps(self._arguments)]
        self._process = process = start_program(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL)
        assert process.stdout is not None
        has_told = False
        try:
            while line := process.stdout.readline(MOST_BYTES):
                message: Message = decode_message(line)
                has_told = message["kind"] not in ("ready", "line")
                yield message
        except ValueError:  # no message of the driver's
            pass
        finally:
            _close(process)
            end_program(process, CLOSE_S)
            process.stdout.close()
        if not has_told:
            end = way_to_end(process.returncode)
            yield {"kind": "lost", "line": f"the program that keeps its players ended ({end})"}


def address_of(config: PlayConfig) -> str:
    """The cluster that is asked for, as ``ray.init`` takes it."""
    return config.ray_address or os.environ.get("RAY_ADDRESS") or "local"


def check_ray(address: str) -> None:
    """Raise ConfigError where Ray is not installed, or nothing answers at ``address``."""
    require_library("ray", "ray")
    require_answer(address)


def _close(process: "Popen[bytes]") -> None:
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.close()
