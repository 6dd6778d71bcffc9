"""What is written down of games while they are played."""

from types import SimpleNamespace
from typing import Any

import pytest

from vecchess.selfplay.supervisor import status_watcher
from vecchess.selfplay.supervisor.status_watcher import StatusWatcher
from vecchess.selfplay.supervisor.worker_throughput import Throughput
from vecchess.store.stats import GameStats

GPU = {"name": "H200", "util": 0.9, "memory_mb": 100.0, "power_w": 400.0}


class Told:
    """A status, a display, and what is kept: they note what they hear."""

    is_live = False

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}
        self.lines: list[str] = []
        self.loads: list[dict[str, Any]] = []
        self.updates = 0

    def add_note(self, line: str) -> None:
        self.lines.append(line)

    print = add_note

    def update(self, *drawn: Any, **facts: Any) -> None:
        """A display's update by a line and a picture, or a status's of facts."""
        self.updates += bool(drawn)
        self.facts |= facts

    def draw(self, picture: str) -> None:
        assert picture == ""


def worker(gpu: str) -> Any:
    meter = SimpleNamespace(last={"seated": 64}, recent=lambda: Throughput(plies_per_s=50.0))
    plan = SimpleNamespace(device=SimpleNamespace(label="gpu 0" if gpu else "cpu"))
    return SimpleNamespace(
        plan=plan, stage="playing", games=5, meter=meter, gpu=gpu, saving_age_s=2.5
    )


def supervisor(load: Throughput, **more: Any) -> Any:
    ledger = SimpleNamespace(num_recorded=8, is_complete=False, stats=GameStats(games=7))
    return SimpleNamespace(
        ledger=ledger, throughput=load, assigner=SimpleNamespace(restarts=1),
        num_finished=10, num_unwritten=3, target=40, positions=(300, 900), remaining_s=3.0,
        net_name="a.safetensors", workers={0: worker("GPU-a"), 1: worker("")}, seconds=60.0, **more,
    )  # fmt: skip


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(status_watcher, "monotonic", lambda: now[0])
    return now


def chronicle_of(told: Told) -> StatusWatcher:
    shown: Any = told
    chronicle = StatusWatcher(shown, shown, told.loads.append)
    seeing: Any = SimpleNamespace(read=lambda uuids: {"GPU-a": GPU} if "GPU-a" in uuids else {})
    chronicle._gpu_stats = seeing
    return chronicle


def test_status_and_load_with_gpus(clock: list[float]) -> None:
    told = Told()
    chronicle_of(told).update(supervisor(Throughput(plies_per_s=100.0)))
    facts = told.facts
    assert (facts["state"], facts["games"], facts["target"]) == ("playing", 10, 40)
    assert (facts["positions"], facts["positions_target"]) == (300, 900)
    assert (facts["eta_s"], facts["restarts"], facts["net"]) == (3.0, 1, "a.safetensors")
    assert facts["stats"]["games"] == 7
    assert facts["unwritten_games"] == 3
    assert [one["saving_age_s"] for one in facts["workers"]] == [2.5, 2.5]
    assert [one.get("gpu") for one in facts["workers"]] == [GPU, None]
    assert [one["device"] for one in facts["workers"]] == ["gpu 0", "cpu"]
    [line] = told.loads
    assert (line["games"], line["plies_per_s"]) == (10, 100.0)
    assert (line["gpu_util"], line["gpu_memory_mb"], line["gpu_power_w"]) == (0.9, 100.0, 400.0)


def test_how_often(clock: list[float]) -> None:
    told = Told()
    chronicle = chronicle_of(told)
    chronicle.update(supervisor(Throughput()))
    assert told.loads == []  # nothing is played yet
    for clock[0] in (100.1, 101.1, 103.0, 106.0, 106.2, 108.0):
        chronicle.update(supervisor(Throughput(plies_per_s=clock[0])))
    assert [load["plies_per_s"] for load in told.loads] == [101.1, 108.0]
    assert told.updates == 5, "once a second at most"
    chronicle.report_line("worker 0 died")
    assert told.lines == ["worker 0 died"] * 2  # for the status, and for people


def test_games_that_others_play(clock: list[float]) -> None:
    told = Told()
    chronicle = chronicle_of(told)
    chronicle.is_shown = False
    for second in range(12):
        clock[0] += 1.0
        chronicle.show({"games": second, "load": {"plies_per_s": 5.0 if second > 2 else 0.0}})
    assert [line["games"] for line in told.loads] == [3, 8]
    assert told.updates == 0
    assert "state" not in told.facts, "something else goes on"
    chronicle.is_shown = True
    chronicle.show({"games": 12, "load": {"plies_per_s": 5.0}})
    assert (told.updates, told.facts["state"], told.facts["games"]) == (1, "playing", 12)
