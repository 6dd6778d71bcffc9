"""Stops of players and learners whose store does not answer."""

import threading
from io import StringIO
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from rich.console import Console

from tests.fleet.simulated_store import SimulatedStore
from tests.fleet.test_fleet_run import CONFIG, Quiet, new_run
from vecchess.config import ContributeConfig, build
from vecchess.fleet import fleet_run
from vecchess.fleet.contributor import Contributor, PlayerEnds, contribute
from vecchess.fleet.fleet_run import FleetExecutor
from vecchess.fleet.task import RUN_NAME
from vecchess.runtime.devices import CPU
from vecchess.runtime.progress import ProgressDisplay
from vecchess.runtime.signals import StopSignals
from vecchess.store.remote import run_mirror
from vecchess.store.remote.object_store import WaitStopped

PLAYER = build(ContributeConfig, {"gpus": "cpu"})


class AwayStore(SimulatedStore):
    """A store that takes nothing until it is given up, as a full disk."""

    def __init__(self) -> None:
        super().__init__()
        self.objects[RUN_NAME] = b"{}"
        self.is_asked = threading.Event()

    def probe(self) -> None:
        self.is_asked.set()
        while not self.give_up():
            sleep(0.01)
        raise WaitStopped("stopped while it could not be reached")


def quiet_display() -> ProgressDisplay:
    return ProgressDisplay(Console(file=StringIO()), quiet=True)


def test_a_player_that_begins_can_be_stopped_while_its_store_is_away() -> None:
    store, stop, ends = AwayStore(), StopSignals(), list[dict[str, Any]]()
    player = threading.Thread(
        target=lambda: ends.append(contribute(store, PLAYER, stop, quiet_display()))
    )
    player.start()
    assert store.is_asked.wait(60)
    stop.request_stop("SIGINT")
    player.join(60)
    assert [(end["blocks"], end["exit_code"]) for end in ends] == [(0, 130)]


@pytest.mark.parametrize("has_begun", [False, True])
def test_a_player_says_why_it_waits(has_begun: bool) -> None:
    store, stop, out = SimulatedStore(), StopSignals(), StringIO()
    if has_begun:
        store.objects[run_mirror.CONFIG] = b""
    display = ProgressDisplay(Console(file=out), quiet=False)
    timer = threading.Timer(0.3, stop.request_stop, ["SIGINT"])
    timer.start()
    contribute(store, PLAYER, stop, display)
    timer.join()
    assert ("begun, and takes no players without --executor" in out.getvalue()) == has_begun
    assert ("waiting for the run to begin" in out.getvalue()) != has_begun


def test_a_player_that_is_over_gives_its_store_up() -> None:
    store = AwayStore()
    player = Contributor(store, StopSignals(), quiet_display(), "a")
    last_word = player._io.submit(store.probe)
    assert store.is_asked.wait(60)
    player.close()
    with pytest.raises(WaitStopped):
        last_word.result(60)


def test_a_player_that_tests_itself_can_be_stopped() -> None:
    """Workers, or compilers, report to it again and again meanwhile."""
    stop = StopSignals()
    player = Contributor(SimulatedStore(), stop, quiet_display(), "a")
    player.update(None)  # type: ignore[arg-type]
    stop.request_stop("SIGINT")
    with pytest.raises(PlayerEnds):
        player.update(None)  # type: ignore[arg-type]


def test_a_learner_that_begins_can_be_stopped_while_its_store_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_run, "SAVING_S", 0.0)
    store, stop = AwayStore(), StopSignals()
    executor = FleetExecutor(
        CONFIG, new_run(tmp_path / "run"), store, [CPU], Quiet(), False, stop=stop
    )
    stopper = threading.Timer(0.2, stop.request_stop, ["SIGINT"])
    stopper.start()
    with pytest.raises(WaitStopped), executor:
        pass
    stopper.join()
