"""Players as people see them: whatever they say, whoever comes, goes and is lost."""

import json
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from vecchess.fleet import player_list
from vecchess.fleet.player_list import KEPT_S, LOOK_S, LOST_S, SHOWN_S, PlayerList
from vecchess.fleet.task import PLAYERS
from vecchess.selfplay.supervisor.worker_throughput import Throughput
from vecchess.store.remote.object_store import ObjectStore


class AtOnce:
    """Threads that are done when they are asked."""

    def submit(self, work: Callable[..., Any], *given: Any) -> "Future[Any]":
        done: Future[Any] = Future()
        done.set_result(work(*given))
        return done


class Players:
    """A list of players, a clock, and what players write."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.said = 1000.0, 0
        monkeypatch.setattr(player_list.time, "monotonic", lambda: self.now)
        self.store = ObjectStore.open(folder)
        self.new_list()

    def new_list(self) -> None:
        self.list = PlayerList(self.store, AtOnce())  # type: ignore[arg-type]

    def say(self, name: str, plies_per_s: Any = 100.0, **word: Any) -> None:
        self.said += 1
        load = Throughput().to_dict() | {"plies_per_s": plies_per_s}
        word = {"state": "playing", "devices": ["cpu"], "load": load, "word": self.said} | word
        self.store.put(f"{PLAYERS}{name}.json", json.dumps(word).encode())

    def wait(self, seconds: float, *speaking: str) -> None:
        """Let time pass in steps, in which some go on speaking."""
        end = self.now + seconds
        while self.now < end:
            for name in speaking:
                self.say(name)
            self.now = min(self.now + LOOK_S, end)
            self.list.look()
            self.list.look()

    @property
    def shown(self) -> dict[str, tuple[int, str, float]]:
        return {
            each["device"].partition(":")[0]: (
                each["index"], each["stage"].partition(",")[0], each["load"].get("plies_per_s", 0)
            )
            for each in self.list.shown
        }  # fmt: skip


@pytest.fixture
def players(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Players:
    return Players(tmp_path, monkeypatch)


def test_who_is_gone_has_no_speed_and_is_forgotten(players: Players) -> None:
    players.say("ended")
    players.wait(LOOK_S, "b", "lost")
    players.say("ended", state="ended")
    players.wait(LOST_S + LOOK_S, "b")
    players.say("a")
    players.wait(LOOK_S, "a", "b")
    assert players.shown == {
        "a": (3, "playing", 100), "b": (0, "playing", 100), "ended": (1, "ended", 0),
        "lost": (2, "lost", 0),
    }  # fmt: skip
    assert players.list.throughput.plies_per_s == 200
    assert f"lost, last word {2 * LOST_S:.0f} s ago" in [  # 20 of them were supposed
        each["stage"] for each in players.list.shown
    ]
    players.wait(SHOWN_S, "b")
    assert players.shown == {"b": (0, "playing", 100)}
    assert len(players.store.names(PLAYERS)) == 4
    players.wait(KEPT_S, "b")
    assert players.store.names(PLAYERS) == [f"{PLAYERS}b.json"]
    players.wait(LOOK_S, "b", "a")
    assert players.shown["a"][0] == 3


def test_what_lay_there_at_the_first_look_has_to_change(players: Players) -> None:
    """A learner that starts again finds the words of players that were killed long ago."""
    players.say("killed")
    players.new_list()
    players.wait(3 * LOOK_S, "there")
    assert {name: stage for name, (_, stage, _) in players.shown.items()} == {
        "there": "playing", "killed": "lost",
    }  # fmt: skip


@pytest.mark.parametrize(
    "word",
    [
        {"load": [1]},
        {"load": {"plies_per_s": "x"}},
        {"load": None},
        {"games": "x"},
        {"devices": 5},
        {"state": "x" * 9999},
    ],
)
def test_a_word_that_is_none_does_no_harm(players: Players, word: dict[str, Any]) -> None:
    players.say("odd", **word)
    players.say("wrong", plies_per_s="fast")
    players.store.put(f"{PLAYERS}none.json", b"[")
    players.wait(LOOK_S, "good")
    assert players.list.throughput.plies_per_s in (100, 200)
    assert {"odd", "wrong", "good"} == players.shown.keys()
    assert max(len(each["stage"]) for each in players.list.shown) < 60
