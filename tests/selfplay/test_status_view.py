"""The state of a run in the terminal, by the facts of its status."""

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from tests.monitor.runs import load, losses, worker
from vecchess.runtime.progress import ProgressDisplay
from vecchess.selfplay.supervisor.status_view import (
    match_line,
    progress_of,
    show_status,
    status_line,
    status_picture,
    worker_table,
)

PLAYING = {
    "kind": "train", "state": "playing", "iteration": 3, "iterations": 6, "games": 120,
    "target": 4096, "eta_s": 31.5, "started_unix": 1000.0, "updated_unix": 1095.0,
    "load": load(sims_per_s=16_000.0, cache_hit_rate=0.4),
    "workers": [worker(0, gpu=True), worker(1, games=0, stage="compiling", seated=0, load={})],
    "stats": {"games": 9, "white_wins": 3, "draws": 4, "black_wins": 2},
}  # fmt: skip


def drawn(status: dict[str, Any], width: int = 110) -> str:
    console = Console(file=(out := StringIO()), width=width)
    console.print(status_picture(status, width))
    return out.getvalue()


def test_a_line_tells_of_every_worker() -> None:
    assert status_line(PLAYING) == (
        " 0:01:35  [3/6]  playing  120/4,096 games  9,418 plies/s  16,000 sims/s  cache 40%  "
        "fill 97%  network 91%  movers 11%  2.66 steps  +3 =4 -2  ETA 0:00:32  "
        "[gpu 0#0 60 games  cpu#1 compiling]"
    )
    assert "  12 blocks checked  [gpu 0" in status_line(PLAYING | {"blocks_checked": 12})


def test_a_picture_has_workers_gpus_and_progress() -> None:
    all_of, first, second, progress = drawn(PLAYING).splitlines()[1:]
    assert all_of.split()[:3] == ["all", "120", "9,418"]
    assert first.split()[:5] == ["0", "gpu", "0", "playing", "64"]
    assert "8.1 of 144 GB" in first
    assert "412 W" in first
    assert second.split() == ["1", "cpu", "compiling", "0"]
    assert progress.startswith("iteration 3 of 6  120/4,096 games  ━")
    assert "3%" in progress
    assert progress.endswith("+3 =4 -2  0:01:35  ETA 0:00:32")
    assert max(map(len, drawn(PLAYING, 80).splitlines())) <= 80


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100])
def test_the_table_leaves_out_columns_rather_than_letters(width: int) -> None:
    console = Console(file=(out := StringIO()), width=max(width, 40))
    console.print(worker_table(PLAYING, width))
    lines = out.getvalue().splitlines()
    assert "…" not in out.getvalue()
    assert lines[0].split()[:2] == ["worker", "stage"]
    assert lines[3].split() == ["1", "cpu", "compiling", *["0"] * (width > 20)]
    assert ("plies/s" in lines[0]) == (width >= 40)
    assert ("GPU" in lines[0]) == (width >= 80)


def test_learning_has_its_own_figures_and_time_left() -> None:
    learning = {"step": 120, "steps": 300, "samples_per_s": 812.0, "eta_s": 12.0} | losses(10)
    status = PLAYING | {"state": "learning", "learning": learning, "load": {}, "workers": []}
    line = status_line(status)
    assert line.startswith(" 0:01:35  [3/6]  learning  120/300 updates  812 samples/s  loss 3.94")
    assert line.endswith("ETA 0:00:12")
    assert "learning  120/300 updates  812 samples/s  loss 3.94" in drawn(status)
    assert progress_of(status) == pytest.approx(0.4)


@pytest.mark.parametrize(
    "odd",
    [
        {}, {"load": 7, "workers": [3, {}], "stats": [], "games": "many", "eta_s": "x"},
        {"state": "learning", "learning": {"step": None, "loss": "nan"}}, {"started_unix": 1e300},
    ],
)  # fmt: skip
def test_any_status_can_be_drawn(odd: dict[str, Any]) -> None:
    status_line(odd)
    drawn(odd)
    Console(file=StringIO()).print(worker_table(odd, 60))


def test_matches_are_told_with_what_is_known() -> None:
    match = {"player": "policy", "opponent": "random", "score": 0.7}
    assert match_line("[2]", match, None) == "[2]  policy against random: 70.0%"
    counted = match | {"wins": 6, "draws": 2, "losses": 2}
    wanted = "[2]  policy against random: 70.0% [60.0%, 80.0%]  +6 =2 -2"
    assert match_line("[2]", counted, (0.6, 0.8)) == wanted


def test_every_kind_of_display_shows_a_status(monkeypatch: pytest.MonkeyPatch) -> None:
    live, log = StringIO(), StringIO()
    with ProgressDisplay(Console(file=live, force_terminal=True, width=110)) as display:
        show_status(display, lambda: PLAYING, "  rank 0: 64 rows")
    assert "120/4,096 games" in live.getvalue()
    assert "rank 0" in live.getvalue()
    plain = ProgressDisplay(Console(file=log))
    monkeypatch.setattr(plain, "_next", 0.0)
    show_status(plain, lambda: PLAYING, "  rank 0: 64 rows")
    assert log.getvalue().splitlines() == [status_line(PLAYING), "  rank 0: 64 rows"]
