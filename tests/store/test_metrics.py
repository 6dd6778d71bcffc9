"""The log of measurements, and what of it a resumed run takes back."""

import math
import resource
import sys
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from vecchess.errors import DataError
from vecchess.monitor.series import Series
from vecchess.store import metrics
from vecchess.store.metrics import (
    MetricsLog,
    TensorboardFile,
    is_plotted,
    plotted_match,
    read_metrics,
    scalars,
    thinned,
)

pytestmark = pytest.mark.plain


def fill(log: MetricsLog) -> None:
    for iteration, step in ((0, 0), (1, 10), (1, 20), (2, 20), (2, 30)):
        log.write("learn", iteration, step, 64 * step, {"loss_policy": 3.0 - step / 10})


def steps(run: Path) -> list[tuple[int, int]]:
    return [(line["iteration"], line["step"]) for line in read_metrics(run)]


def test_lines_are_objects_with_all_that_was_said(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path)
    log.write("play", 1, 10, 640, {"games": 5, "ends": {"mate": 2}, "loss": math.nan, "net": "a"})
    [line] = read_metrics(tmp_path)
    assert line.pop("time_unix") > 1.7e9
    assert line == {
        "schema": 1,
        "kind": "play",
        "iteration": 1,
        "step": 10,
        "samples": 640,
        "games": 5,
        "ends": {"mate": 2},
        "loss": None,
        "net": "a",
    }


def test_a_resumed_run_takes_back_what_came_after_its_checkpoint(tmp_path: Path) -> None:
    fill(MetricsLog(tmp_path))
    MetricsLog(tmp_path, after=(1, 20))
    assert steps(tmp_path) == [(0, 0), (1, 10), (1, 20)]


def test_a_torn_line_is_cut(tmp_path: Path) -> None:
    fill(MetricsLog(tmp_path))
    path = tmp_path / "metrics.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"schema": 1, "kind": "le')
    log = MetricsLog(tmp_path)
    assert path.read_bytes() == whole
    log.write("eval", 3, 30, 0, {"elo": 1})
    assert steps(tmp_path)[-1] == (3, 30)


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"kind": "learn"}\n{"kind": \n')
    with pytest.raises(DataError, match=r"metrics.jsonl is damaged: "):
        read_metrics(tmp_path)


def test_thinning_drops_every_second_of_the_older_half() -> None:
    lines = [b'{"schema": 1, "kind": "learn", "step": %d}\n' % step for step in range(10)]
    other = b'{"schema": 1, "kind": "play"}\n'
    assert thinned([*lines, other]) == [*(lines[step] for step in (0, 2, 4, 5, 6, 7, 8, 9)), other]


def test_no_line_is_lost_while_another_thread_thins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = MetricsLog(tmp_path, most_bytes=1)
    other = Thread(target=log.write, args=("load", 2, 20, 0, {}))

    def slowly(lines: list[bytes]) -> list[bytes]:
        if other.ident is None:
            other.start()
            other.join(0.3)
        return lines

    monkeypatch.setattr(metrics, "thinned", slowly)
    log.write("eval", 1, 10, 0, {})
    other.join()
    assert steps(tmp_path) == [(1, 10), (2, 20)]


def test_a_full_disk_leaves_whole_lines(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path)
    fill(log)
    size = log.path.stat().st_size
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, limits[1]))
    try:
        with pytest.raises(DataError, match=r"cannot write .*metrics.jsonl: File too large"):
            log.write("learn", 3, 40, 0, {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert log.path.stat().st_size == size


def test_a_full_disk_is_told_by_tensorboard_too(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    board = TensorboardFile(tmp_path, None)
    board.add({"loss": 1.0}, 1)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (board.path.stat().st_size + 20, limits[1]))
    try:
        with pytest.raises(DataError, match=r"cannot write .*tfevents.*: File too large"):
            board.add({"loss": 1.0}, 2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    board.close()
    assert capfd.readouterr() == ("", "")


def test_numbers_have_tags() -> None:
    values = {"loss": 1, "spikes": {"block0": 0.1}, "ok": True, "name": "x", "bad": math.inf}
    assert list(scalars("train", values)) == [("train/loss", 1.0), ("train/spikes/block0", 0.1)]


def test_tensorboard_shows_the_run_once(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    def fail(line: str) -> None:
        raise AssertionError(line)

    log = MetricsLog(tmp_path, report_line=fail)
    assert not (tmp_path / "tensorboard").exists()  # it is imported and opened with a point
    fill(log)
    log.close()
    log = MetricsLog(tmp_path, after=(1, 20), report_line=fail)
    log.write("learn", 2, 30, 0, {"loss_policy": 7.0})
    log.write("play", 2, 30, 0, {"games_per_s": 9.0})
    log.close()
    shown = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    points = [(point.step, point.value) for point in shown.Scalars("train/loss_policy")]
    assert points[-1] == (30, 7.0)
    assert [step for step, _ in points] == [0, 10, 20, 20, 30]
    assert shown.Tags()["scalars"] == ["train/loss_policy", "selfplay/games_per_s"]


def test_without_tensorboard_a_line_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard.compat.proto.event_pb2", None)
    lines: list[str] = []
    log = MetricsLog(tmp_path, report_line=lines.append)
    fill(log)
    log.close()
    (line,) = lines
    assert line.startswith("tensorboard is not installed: pip install 'vecchess[tensorboard]'; ")
    assert not (tmp_path / "tensorboard").exists()
    assert log.path.read_text().count("\n") == 5


def test_a_long_log_keeps_what_is_new_and_thins_out_what_is_old(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path, most_bytes=1 << 16)
    series = Series(log.path)
    for step in range(4000):
        log.write("learn", step // 100, step, 0, {"loss": 1.0})
        log.write("load", step // 100, step, 0, {"plies_per_s": 1.0})
        if step % 100 == 0:
            log.write("play", step // 100, step, 0, {"games": 5})
        assert log.path.stat().st_size < 1 << 17
        if step % 500 == 0:
            series.refresh()
            assert series.last("learn") == read_metrics(tmp_path)[-2 - (step % 100 == 0)]
    lines = read_metrics(tmp_path)
    kept = {kind: [line["step"] for line in lines if line["kind"] == kind] for kind in series.kinds}
    assert kept["play"] == list(range(0, 4000, 100))
    assert kept["learn"] == sorted(kept["learn"])
    assert kept["learn"][-50:] == list(range(3950, 4000))
    assert kept["load"][0] == 0
    gaps = [b - a for a, b in pairwise(kept["load"])]
    assert max(gaps) >= 8
    assert sum(gaps[: len(gaps) // 4]) > 4 * sum(gaps[-len(gaps) // 4 :])
    series.refresh()
    assert series.kinds == {kind: len(steps) for kind, steps in kept.items()}


def test_a_log_of_what_must_stay_is_not_gone_through_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, reads = MetricsLog(tmp_path, most_bytes=1000), []
    read_bytes = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: reads.append(path) or read_bytes(path))
    for step in range(400):
        log.write("play", step, step, 0, {"games": 5})
    assert len(read_metrics(tmp_path)) == 400
    assert len(reads) < 30


def test_tensorboard_gets_fewer_points_the_longer_a_run_goes_on() -> None:
    plotted = [count for count in range(1 << 16) if is_plotted(count)]
    assert plotted[:4096] == list(range(4096))
    assert [b - a for a, b in pairwise(plotted)][-1] == 16
    assert len(plotted) < 6 * 4096


def match(player: str, opponent: str) -> dict[str, Any]:
    return {"player": player, "opponent": opponent, "elo": 12.5, "score": 0.52, "games": 100}


@pytest.mark.parametrize(("player", "opponent"), [("policy", "random"), ("gumbel 16", "greedy")])
def test_each_pairing_has_tags_of_its_own(player: str, opponent: str) -> None:
    name = f"{player}-{opponent}".replace(" ", "_")
    wanted = {f"elo/{name}": 12.5, f"score/{name}": 0.52}
    assert plotted_match(match(player, opponent), best="gumbel 16") == wanted


def test_the_strongest_player_against_random_moves_is_the_networks_elo() -> None:
    assert plotted_match(match("gumbel 16", "random"), best="gumbel 16")["elo"] == 12.5
    assert plotted_match(match("policy", "random"), best="policy")["elo"] == 12.5
