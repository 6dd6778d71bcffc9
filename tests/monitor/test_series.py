"""Lines of metrics.jsonl: found, sampled, followed while the file grows, is cut or replaced."""

import errno
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from vecchess.monitor import changing_file as tail
from vecchess.monitor import series as module
from vecchess.monitor.series import Series
from vecchess.store.metrics import MetricsLog


def line(kind: str, place: int, **values: Any) -> bytes:
    head = {"schema": 1, "kind": kind, "iteration": 1, "step": place, "samples": 0}
    return json.dumps(head | {"time_unix": 0.0} | values).encode() + b"\n"


def opened(file: Path, data: bytes) -> Series:
    file.write_bytes(data)
    series = Series(file)
    series.refresh()
    return series


def steps(series: Series, kind: str, most: int = 600) -> list[int]:
    return [one["step"] for one in series.lines(kind, most)]


def test_kinds_are_counted_and_found_across_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "BLOCK_BYTES", 700)
    kinds = ["load", "learn", "publish", "examine", "another-kind"]
    data = b"".join(line(kinds[n % 5], n, long="x" * (n * 7 % 900)) for n in range(200))
    series = opened(tmp_path / "m", data)
    assert series.kinds == dict.fromkeys(kinds, 40)
    assert steps(series, "examine") == list(range(3, 200, 5))
    assert series.last("load") == {**json.loads(line("load", 195)), "long": "x" * (195 * 7 % 900)}


def test_what_the_log_writes_is_read(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path)
    for place in range(3):
        log.write("learn", 1, place, 0, {"loss": float(place)})
    series = Series(log.path)
    series.refresh()
    assert [one["loss"] for one in series.lines("learn")] == [0.0, 1.0, 2.0]
    assert series.kinds == {"learn": 3}


@pytest.mark.parametrize("most", [2, 3, 7, 64, 600])
@pytest.mark.parametrize("count", [1, 2, 3, 7, 63, 64, 65, 1000])
def test_samples_are_even_and_hold_both_ends(count: int, most: int) -> None:
    chosen = module._sample(count, most)
    assert chosen[0] == 0
    assert chosen[-1] == count - 1
    assert len(chosen) <= max(most, 1)
    assert chosen == sorted(set(chosen))
    assert len({b - a for a, b in pairwise(chosen[:-1])}) <= 1
    assert len(chosen) == min(count, most) or 2 * len(chosen) + 1 >= most


def test_only_sampled_lines_are_parsed_and_most_of_them_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[bytes] = []
    real = module._parsed
    monkeypatch.setattr(module, "_parsed", lambda t, k: parsed.append(t) or real(t, k))
    series = opened(tmp_path / "m", b"".join(line("learn", n) for n in range(5000)))
    assert parsed == []
    assert len(series.lines("learn", 100)) == len(parsed) <= 100
    parsed.clear()
    with (tmp_path / "m").open("ab") as file:
        file.write(line("learn", 5000))
    series.refresh()
    assert steps(series, "learn", 100)[-1] == 5000
    assert len(parsed) == 1


@pytest.mark.parametrize("kind", ["eval", "gate"])
def test_matches_are_all_there_for_pairings_take_turns(kind: str, tmp_path: Path) -> None:
    data = b"".join(line(kind, n) + line("learn", n) for n in range(1400))
    series = opened(tmp_path / "m", data)
    assert steps(series, kind) == steps(series, kind, 100) == list(range(1400))
    assert len(steps(series, "learn")) <= 600
    assert [one["step"] for one in series.ends(kind)] == [0, 1399]
    assert (series.last(kind) or {})["step"] == 1399


def test_a_torn_line_waits_for_its_end(tmp_path: Path) -> None:
    file, last = tmp_path / "m", line("learn", 1)
    series = opened(file, line("learn", 0) + last[:30])
    series.refresh()
    assert series.kinds == {"learn": 1}
    with file.open("ab") as out:
        out.write(last[30:])
    series.refresh()
    assert steps(series, "learn") == [0, 1]


@pytest.mark.parametrize("replaced", [True, False])
def test_a_file_that_was_cut_is_read_anew(replaced: bool, tmp_path: Path) -> None:
    file = tmp_path / "m"
    series = opened(file, b"".join(line("learn", n) for n in range(9)))
    assert steps(series, "learn")[-1] == 8
    data = b"".join(line("learn", n, other=True) for n in (0, 1, 20, 21, 22, 23, 24, 25, 26))
    if replaced:
        (tmp_path / "n").write_bytes(data)
        (tmp_path / "n").replace(file)
    else:
        file.write_bytes(data)
    series.refresh()
    assert steps(series, "learn") == [0, 1, *range(20, 27)]


def test_what_is_no_line_is_left_out(tmp_path: Path) -> None:
    bad = b"\n\xff\xfe garbage\n" + b'{"schema": 1, "kind": "learn", broken\n' + b"x" * 9000 + b"\n"
    series = opened(tmp_path / "m", line("learn", 0) + bad + line("learn", 1))
    assert steps(series, "learn") == [0, 1]
    (tmp_path / "m").unlink()
    series.refresh()
    assert series.kinds == {}
    assert series.lines("learn") == []
    assert series.last("learn") is None


def test_lines_that_vanish_before_they_are_read_are_left_out(tmp_path: Path) -> None:
    series = opened(tmp_path / "m", line("learn", 0) + line("load", 1))
    (tmp_path / "m").write_bytes(line("load", 1) + line("learn", 0))
    assert steps(series, "learn") in ([], [0])
    (tmp_path / "m").unlink()
    assert series.lines("load") == []


def test_a_log_that_could_not_be_read_once_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too many files were open, or the disk of another machine was away: the file is the same."""

    def failing(path: Path) -> Any:
        raise OSError(errno.EMFILE, "Too many open files")

    file, opened = tmp_path / "m", tail.open_regular
    file.write_bytes(line("learn", 1) + line("learn", 2))
    series = Series(file)
    small = tail.SmallFile(file, len, 0)
    monkeypatch.setattr(tail, "open_regular", failing)
    monkeypatch.setattr(tail, "read_bytes", lambda path, most: failing(path))
    series.refresh()
    assert series.kinds == {}
    assert not small.refresh()
    monkeypatch.undo()
    assert tail.open_regular is opened
    assert small.refresh()
    assert small.value == file.stat().st_size
    series.refresh()
    assert steps(series, "learn") == [1, 2]
    monkeypatch.setattr(tail, "read_bytes", lambda path, most: failing(path))
    file.write_bytes(line("learn", 1))
    assert not small.refresh()
    assert small.value > file.stat().st_size  # what was known stays
    file.unlink()
    monkeypatch.undo()
    assert small.refresh()
    assert small.value == 0


def test_a_look_that_fails_voids_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ESTALE, "Stale file handle")

    file = tmp_path / "m"
    series = opened(file, line("learn", 1))
    monkeypatch.setattr(Path, "stat", failing)
    series.refresh()
    assert series.kinds == {"learn": 1}
    monkeypatch.undo()
    series.refresh()
    assert series.kinds == {"learn": 1}
    with file.open("ab") as out:
        out.write(line("learn", 2))
    monkeypatch.setattr(tail, "open_regular", failing)
    series.refresh()
    assert series.kinds == {"learn": 1}
    monkeypatch.undo()
    series.refresh()
    assert steps(series, "learn") == [1, 2]


def test_a_file_that_was_away_is_read_anew(tmp_path: Path) -> None:
    series = opened(tmp_path / "m", line("learn", 1) + line("learn", 2))
    (tmp_path / "m").rename(tmp_path / "n")
    series.refresh()
    assert series.kinds == {}
    (tmp_path / "n").rename(tmp_path / "m")
    series.refresh()
    assert steps(series, "learn") == [1, 2]
