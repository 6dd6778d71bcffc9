"""What is saved of games in progress, and when it may replace what was saved before."""

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.store.games import made_up
from vecchess.runtime import async_file as latest_files
from vecchess.runtime.async_file import LatestFile
from vecchess.selfplay.worker.inflight_saver import InflightSaver
from vecchess.store.inflight import SavedGames
from vecchess.store.shard import read_numbers


def saved(*numbers: int) -> SavedGames:
    """Games in progress: all of their plies but what comes."""
    records = made_up(list(numbers))
    rows = len(numbers)
    return SavedGames(records, np.zeros((rows, 2), np.uint8), np.zeros(rows, np.uint8))


def numbers_in(path: Path) -> list[int]:
    """Of the games that are saved; none before there is a file."""
    return read_numbers(path).tolist() if path.exists() else []


def test_a_game_that_ended_stays_saved_until_it_is_written(tmp_path: Path) -> None:
    """A kill in between takes its moves since the last saving, not the whole game."""
    path = tmp_path / "inflight" / "w.npz"
    asked, flushed = list[bool](), list[bool]()
    server: Any = SimpleNamespace(
        is_saved=True, saved=saved(1, 2), request_saved=lambda: asked.append(True)
    )
    writer: Any = SimpleNamespace(plies_put=0, plies_written=0, flush=lambda: flushed.append(True))
    saver = InflightSaver(path, 1e-9, print)

    def look_until(wanted: list[int]) -> None:
        deadline = time.monotonic() + 30
        while numbers_in(path) != wanted:
            assert time.monotonic() < deadline
            saver.update(server, writer)

    look_until([1, 2])
    server.saved, writer.plies_put = saved(2, 3), 40  # game 1 has ended, and waits for the writer
    flushed.clear()
    while not flushed:
        saver.update(server, writer)
    for _ in range(5):
        saver.update(server, writer)
        time.sleep(0.01)
        assert 1 in numbers_in(path)
    writer.plies_written = 40
    look_until([2, 3])
    server.saved_now = lambda: saved(3)
    saver.close(server)
    assert numbers_in(path) == [3]
    assert len(asked) > 2


def test_trouble_that_nobody_foresaw_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = list[str]()
    errors = [MemoryError(), ZeroDivisionError("a mistake")]

    def fail(*_: object) -> None:
        raise errors.pop(0)

    monkeypatch.setattr(latest_files, "write_atomically", fail)
    file = LatestFile(tmp_path / "a.npz", bytes, durably=False, report_line=said.append)
    file.put(b"1")
    while not said:
        time.sleep(0.005)
    assert said == [f"cannot write {tmp_path / 'a.npz'}: there is too little memory"]
    file.put(b"2")
    with pytest.raises(ZeroDivisionError):
        file.close()
    with pytest.raises(ZeroDivisionError):
        file.put(b"3")
