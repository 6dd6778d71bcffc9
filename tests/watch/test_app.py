"""``vecchess watch`` in a terminal: a real one, with keys, sizes and signals."""

import os
import re
import signal
from pathlib import Path

import pytest

pytest.importorskip("pyte")

from tests.monitor.runs import load, selfplay_run, state_of, training_run, worker
from tests.watch.terminal import Terminal


@pytest.mark.thorough
def test_a_small_screen_shows_a_run_and_keys_work(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path / "first")
    notes = [{"time_unix": 1790000003.0, "line": "cpu#0 died: out of luck"}]
    made.status(notes=notes)
    before = state_of(made.path)
    with Terminal(["watch", str(made.path)]) as terminal:
        text = terminal.wait_for("first", "playing", "120/4,096 games", "ETA 0:00:32", "ply cap 8")
        for words in (
            "0 cpu",
            "1 cpu",
            "all",
            "Limited by the CPU",
            "network 91% busy",
            "plies/s",
            "97%",
        ):
            assert words in text
        for words in ("a smaller --net", "White 0%", "ended by", "cpu#0 died: out of luck"):
            assert words in text
        assert re.search(r"[⠁-⣿]{8}", text), "curves in braille"
        assert "q quit" in terminal.screen.display[-1]
        made.status(games=2048, notes=notes)
        terminal.wait_for("2,048/4,096 games", "50%")
        terminal.press("?")
        terminal.wait_for("changes nothing", "fill   slots of the network")
        terminal.press("x")
        terminal.wait_until(lambda text: "changes nothing" not in text, "page without help")
        terminal.press("p")
        terminal.wait_for("paused")
        terminal.press("p")
        terminal.wait_until(lambda text: "paused" not in text, "going on")
        terminal.press("\t")
        terminal.wait_for("Batch fill", "charts 2/4")
        terminal.press_until("\x1b[B", "slots taken 97%")
        terminal.press("\t")
        terminal.wait_for("12 games recorded", "length, plies")
        terminal.press("\x1b[F")
        terminal.wait_for("time steps of a position")
        terminal.press("\t")
        terminal.wait_for("settings", "cpu#0 died")
        terminal.press_until("\x1b[6~", "net = small")
        terminal.press("\t")
        terminal.wait_for("Limited by the CPU")
        made.status(games=2048)
        after = state_of(made.path)
        terminal.press("q")
        assert terminal.ended() == 0
        assert terminal.is_restored
    before.pop("status.json")
    after.pop("status.json")
    assert after == before == {k: v for k, v in state_of(made.path).items() if k != "status.json"}


def test_a_large_screen_uses_its_room_and_follows_its_size(tmp_path: Path) -> None:
    made = training_run(tmp_path / "gumbel")
    gpus = [worker(index, gpu=True) for index in range(8)]
    made.status(load=load(sims_per_s=1e5), workers=gpus, state="playing", iteration=3)
    with Terminal(["watch", str(made.path)], 200, 60) as terminal:
        text = terminal.wait_for("iteration 3 of 6", "7 gpu 7", "8.1 of 144 GB", "3,296 W", "61 °C")
        for words in ("Loss", "Spike rate", "Score", "policy against greedy", "Limited by the GPU"):
            assert words in text
        assert len(re.findall("╭", text)) == 10, "workers, six charts, three boxes"
        terminal.resize(80, 24)
        text = terminal.wait_for("Limited by the GPU", "q quit")
        terminal.wait_until(lambda text: text.count("╭") == 5, "fewer boxes")
        terminal.wait_for("all", "1 gpu 1")
        terminal.press("\x1b[B" * 6)
        terminal.wait_for("7 gpu 7")
        terminal.resize(40, 12)
        terminal.wait_for("gumbel", "q quit")
        os.kill(terminal.process.pid, signal.SIGTERM)
        assert terminal.ended() == 128 + signal.SIGTERM
        assert terminal.is_restored


@pytest.mark.thorough
def test_a_run_that_stops_says_so_and_a_newer_one_appears(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Terminal(["watch"]) as terminal:
        terminal.wait_for("no run in runs yet", "it appears here as soon as one begins")
        made = selfplay_run(Path("runs/first"))
        terminal.wait_for("first", "Limited by the CPU")
        made.status(state="stopped", why="SIGINT")
        terminal.wait_for("■ stopped", "stopped with Ctrl-C", "12 games recorded")
        assert "vecchess selfplay --run-dir runs/first --resume" in terminal.text
        made.status(state="playing")
        terminal.wait_for("● playing")
        made.status(state="failed", why="no room on the disk")
        terminal.wait_for("failed: no room on the disk")
        second = training_run(Path("runs/second"), 1, 2)
        os.utime(second.run.config, (4e9, 4e9))
        terminal.wait_for("second", "learning", "120/300 updates", "812 samples/s", "40%")
        terminal.press("\x03")
        assert terminal.ended() == 130
        assert terminal.is_restored


def test_without_colours_there_are_none(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path / "first")
    with Terminal(["watch", str(made.path)], NO_COLOR="1") as terminal:
        terminal.wait_for("Limited by the CPU", "mean 60")
        os.kill(terminal.process.pid, signal.SIGINT)
        assert terminal.ended() == 130
        assert terminal.is_restored
    codes = [
        int(code or 0)
        for found in re.findall(rb"\x1b\[([0-9;]*)m", terminal.written)
        for code in found.split(b";")
    ]
    to_default = (39, 49)
    assert not [c for c in codes if (30 <= c <= 49 or c >= 90) and c not in to_default]


def test_a_terminal_that_can_do_nothing_gets_lines(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path / "first")
    made.status(state="done")
    with Terminal(["watch", str(made.path)], 200, 60, TERM="dumb") as terminal:
        assert terminal.ended() == 0
        assert "all done in 0:01:35" in terminal.text
        assert b"\x1b" not in terminal.written
