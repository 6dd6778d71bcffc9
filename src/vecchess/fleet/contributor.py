"""A player from its start to its end: what ``vecchess contribute`` does, and a player under Ray."""

import json
import os
import re
import socket
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeVar

from vecchess import __version__
from vecchess.config import ContributeConfig
from vecchess.errors import DataError
from vecchess.fleet.block_player import (
    KNOWN_DIGEST,
    BlockPlayer,
    config_of,
    digest_of_known_block,
)
from vecchess.fleet.player_steps import PlayerSteps
from vecchess.fleet.steps import (
    Begin,
    Clock,
    IsStopping,
    Pause,
    Request,
    Room,
    Store,
    TakePlayed,
    Tell,
    ask_store,
    carry_out,
)
from vecchess.fleet.task import OVER_NAME, RUN_NAME, FleetTask, GamesOfRun, word_name
from vecchess.runtime.atomic_write import write_atomically
from vecchess.runtime.devices import Device, parse_gpus
from vecchess.runtime.progress import ProgressDisplay
from vecchess.runtime.signals import StopSignals, exit_code
from vecchess.selfplay.supervisor.supervisor import SelfplayWatcher, Supervisor
from vecchess.store.remote.object_store import WaitStopped
from vecchess.store.remote.run_mirror import CONFIG

SCHEMA = 1
DRAIN_S = 20.0
"""Blocks that are in hand when a stop is requested are finished if that takes no longer."""
REPORT_S = 5.0
"""Between two words of a player to the learner."""
WAIT_S = 1.0
"""Between two looks for a run that has not begun, or a network that is not there yet."""
LAST_WORD_S = 2.0
OVER_S = 10.0
"""A player without work looks so often whether the run is over."""
ResultT = TypeVar("ResultT")


class PlayerRefused(DataError):  # noqa: N818
    """A player's games are wrong, as its own test shows, or the learner, which takes no more."""


class PlayerEnds(Exception):  # noqa: N818  (named after the event)
    """The player is to end now: a stop was requested some time ago, or the run is over."""


class Contributor(SelfplayWatcher):
    """Answers the requests of a player: by the store, in a thread, and by the devices."""

    def __init__(
        self,
        store: Store,
        stop: StopSignals,
        display: ProgressDisplay,
        name: str,
        tests_itself: bool = True,
    ) -> None:
        """``name``: see ``PLAYER_NAME``. ``tests_itself``: it plays some known games first."""
        self.name = name
        self.run_is_over = False
        self._tests_itself = tests_itself
        self._store, self._stop, self._display = store, stop, display
        store.give_up = lambda: self._is_closed or self._is_late
        self._io = ThreadPoolExecutor(1, "store")
        self._player: BlockPlayer | None = None
        self._devices: list[Device] = []
        self._is_stopping, self._has_waited = False, stop.late_after(DRAIN_S)
        self._is_closed = False
        self._next_report = self._next_over = 0.0
        self._began = time.monotonic()

    def play(self, config: ContributeConfig, folder: Path) -> str:
        """Take blocks until asked to stop, or the run is over; returns why the learner takes no
        more of them, or ""."""
        self._devices = parse_gpus(config.gpus, may_share=True)
        facts = self._wait_for(RUN_NAME, self._why_waiting)
        self._asked(self._store.probe)
        if self._tests_itself:
            digest = digest_of_known_block(config, self._devices, folder / "test", self)
            if digest != KNOWN_DIGEST:
                raise PlayerRefused(
                    f"this machine plays wrong: known games came out as {digest[:16]}, not as "
                    f"{KNOWN_DIGEST[:16]}; `vecchess doctor` may say more"
                )
        games = GamesOfRun.of_bytes(RUN_NAME, facts)
        settings = config_of(games, config, self._openings(games, folder))
        with BlockPlayer(games, settings, self._devices, folder, self) as self._player:
            try:
                return carry_out(PlayerSteps(self.name).run(), self._answer)
            except (PlayerEnds, WaitStopped):
                return ""
            finally:
                with suppress(Exception):  # it is for people alone
                    self._report("ended").result(LAST_WORD_S)

    def close(self) -> None:
        """End the thread; a request that is not answered is given up."""
        self._is_closed = True
        self._io.shutdown(wait=False, cancel_futures=True)

    @property
    def num_blocks(self) -> int:
        """Blocks played so far."""
        return self._player.num_blocks if self._player else 0

    def update(self, supervisor: Supervisor) -> None:
        """Show what the devices do. Raises PlayerEnds as ``_check_stop``."""
        self._check_stop()
        self._display.update(self._line)

    def report_line(self, line: str) -> None:
        """Print a line for people."""
        self._display.print(line)

    def _line(self) -> str:
        if self._player is None:
            return "testing itself"
        load = self._player.throughput
        speed = f", {load.plies_per_s:,.0f} plies/s" if load.plies_per_s else ""
        return f"{self.num_blocks:,} blocks{speed}"

    def _answer(self, request: Request) -> Any:
        player = self._player
        assert player is not None, "requests come from a player"
        match request:
            case Room(task):
                return player.room(task)
            case Begin(task, block, cuts):
                return self._begin(player, task, block, cuts)
            case TakePlayed():
                return player.take_played()
            case IsStopping():
                self._look_around()
                return bool(self._stop.reason)
            case Clock():
                return time.monotonic()
            case Pause(seconds):
                return self._poll_until(player.has_played, time.monotonic() + seconds)
            case Tell(line):
                return self.report_line(line)
        return self._asked(lambda: ask_store(self._store, request))

    def _asked(self, call: Callable[[], ResultT]) -> ResultT:
        """The result of a call to the store, while the devices go on."""
        future: Future[ResultT] = self._io.submit(call)
        self._poll_until(future.done)
        return future.result()

    def _poll_until(self, is_done: Callable[[], bool], deadline: float | None = None) -> None:
        while not is_done() and (deadline is None or time.monotonic() < deadline):
            self._check_stop()
            if self._player is None:
                time.sleep(0.01)
            else:
                self._player.poll(0.01)

    def _check_stop(self) -> None:
        """Raise PlayerEnds where a stop was requested so long ago that nothing more is waited
        for."""
        if not self._stop.reason:
            return
        if not self._is_stopping:
            self._is_stopping = True
            if self._player is not None:
                self.report_line("finishing the blocks in hand")
        if self._is_late:
            raise PlayerEnds

    @property
    def _is_late(self) -> bool:
        return self._is_stopping and (self._player is None or self._has_waited())

    def _why_waiting(self) -> str:
        """What people read where the run has no place for players."""
        place = self._store.place
        if self._asked(lambda: self._store.get(CONFIG)) is None:
            return f"waiting for the run to begin: {place}"
        return f"waiting: {place} has begun, and takes no players without --executor mailbox"

    def _wait_for(self, name: str, why: Callable[[], str]) -> bytes:
        """An object, once it is there. Raises PlayerEnds where a stop comes first."""
        is_told = False
        while (data := self._asked(lambda: self._store.get(name))) is None:
            if not is_told and (line := why()):
                self.report_line(line)
            is_told = True
            self._poll_until(lambda: False, time.monotonic() + WAIT_S)
        return data

    def _openings(self, games: GamesOfRun, folder: Path) -> Path | None:
        if games.openings is None:
            return None
        name = f"inputs/openings/{games.openings.file}"
        file = folder / "openings" / games.openings.file
        file.parent.mkdir(parents=True, exist_ok=True)
        data = self._wait_for(name, lambda: f"waiting for {name}")
        write_atomically(file, data)
        return file

    def _begin(self, player: BlockPlayer, task: FleetTask, block: int, cuts: list[bytes]) -> bool:
        """Play a block; False where its network is not there, which may come, or is forgotten."""
        if not player.has_network(task):
            data = self._asked(lambda: self._store.get(f"nets/{task.net}"))
            if data is None or not player.add_network(task, data):
                return False
        player.begin(task, block, cuts)
        return True

    def _look_around(self) -> None:
        """Tell the learner how it goes; find out whether the run is over."""
        now = time.monotonic()
        if now >= self._next_report:
            self._next_report = now + REPORT_S
            self._report("stopping" if self._stop.reason else "playing")
        if now >= self._next_over:
            self._next_over = now + OVER_S
            if self._asked(lambda: self._store.get(OVER_NAME)) is not None:
                self.run_is_over = True
                raise PlayerEnds

    def _report(self, state: str) -> "Future[None]":
        player = self._player
        facts = {
            "schema": SCHEMA,
            "name": self.name,
            "state": state,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "version": __version__,
            "devices": [device.label for device in self._devices],
            "blocks": self.num_blocks,
            "games": player.num_games if player else 0,
            "seconds": round(time.monotonic() - self._began, 1),
            "load": player.throughput.to_dict() if player else {},
            "unix": round(time.time(), 1),
        }
        return self._io.submit(self._store.put, word_name(self.name), json.dumps(facts).encode())


def player_name(host: str = "") -> str:
    """A name for a player that no other has: its host, by default this one, and a few random
    digits."""
    word = re.sub(r"[^a-z0-9]+", "_", (host or socket.gethostname()).lower()).strip("_")[:40]
    return f"{word or 'host'}_{token_hex(4)}"


def contribute(
    store: Store,
    config: ContributeConfig,
    stop: StopSignals,
    display: ProgressDisplay,
    tests_itself: bool = True,
    name: str = "",
) -> dict[str, Any]:
    """Play blocks of the run in ``store`` until it is over or a stop is requested; returns the
    summary, ready for JSON.

    ``stop``: the caller has entered it. ``name``: as ``player_name`` makes it, which is the
    default. Raises ConfigError for settings that will not do, PlayerRefused where the learner takes
    no more of this player's results.
    """
    name = name or player_name()
    with tempfile.TemporaryDirectory(prefix="vecchess-player-") as folder, display:
        contributor = Contributor(store, stop, display, name, tests_itself)
        try:
            refusal = contributor.play(config, Path(folder))
        except (PlayerEnds, WaitStopped):
            refusal = ""
        finally:
            contributor.close()
    if refusal:
        raise PlayerRefused(refusal)
    reason = "" if contributor.run_is_over else stop.reason
    return {
        "schema": SCHEMA,
        "player": name,
        "blocks": contributor.num_blocks,
        "run_is_over": contributor.run_is_over,
        "stopped_by": reason,
        "exit_code": exit_code(reason),
    }
