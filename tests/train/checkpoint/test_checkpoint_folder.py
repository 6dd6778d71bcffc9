"""Checkpoints are read as they were written, whole or not at all."""

import os
import resource
from pathlib import Path
from typing import Any

import pytest
import torch

from vecchess.errors import DataError
from vecchess.train.checkpoint.checkpoint_folder import CheckpointFolder, encode_checkpoint


def state(number: int, size: int = 10) -> bytes:
    return encode_checkpoint({"net": torch.zeros(size)}, {}, {"number": number})


def save(folder: CheckpointFolder, iteration: int, data: bytes | None = None) -> Path:
    file = folder.file_of(iteration, 10 * iteration)
    folder.save(file, data or state(iteration))
    return file


def iterations(folder: Path) -> list[int]:
    return sorted(int(file.name[:6]) for file in folder.iterdir())


def silent(line: str) -> None:
    raise AssertionError(line)


def test_a_checkpoint_is_read_as_it_was_saved(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path / "checkpoints")
    assert folder.latest(silent) is None
    assert save(folder, 1).name == "000001-000000010.safetensors"
    assert folder.latest(silent) == state(1)


def test_the_last_and_every_mth_are_kept(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path, keep_last=2, keep_every=3)
    for iteration in range(1, 9):
        save(folder, iteration)
    assert iterations(tmp_path) == [3, 6, 7, 8]


def test_a_run_that_went_back_writes_a_checkpoint_again(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path, keep_last=1)
    damaged = save(folder, 2)
    damaged.write_bytes(b"")
    save(folder, 1)
    assert iterations(tmp_path) == [1, 2]
    assert folder.latest(lambda line: None) == state(1)
    save(folder, 2, state(7))
    assert folder.latest(silent) == state(7)
    assert iterations(tmp_path) == [2]


@pytest.mark.parametrize("damage", ["flipped", "short", "empty", "pipe"])
def test_a_damaged_checkpoint_is_passed_over(tmp_path: Path, damage: str) -> None:
    folder = CheckpointFolder(tmp_path)
    save(folder, 1)
    newest = save(folder, 2)
    data = bytearray(newest.read_bytes())
    data[len(data) // 2] ^= 1
    if damage == "pipe":
        newest.unlink()
        os.mkfifo(newest)
    else:
        newest.write_bytes({"flipped": data, "short": data[:-20], "empty": b""}[damage])
    lines: list[str] = []
    assert folder.latest(lines.append) == state(1)
    assert len(lines) == 1
    assert str(newest) in lines[0]


def test_without_a_whole_one_nothing_begins_anew(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path)
    save(folder, 1).write_bytes(b"")
    with pytest.raises(DataError, match="none of the 1 checkpoints"):
        folder.latest(lambda line: None)


def test_other_files_are_no_checkpoints(tmp_path: Path) -> None:
    for name in ("1-2.safetensors", "000001-x.safetensors", "000001-000000001", "notes.txt"):
        (tmp_path / name).touch()
    folder = CheckpointFolder(tmp_path, keep_last=1)
    assert folder.latest(silent) is None
    save(folder, 1)
    assert len(list(tmp_path.iterdir())) == 5


class Killed(BaseException):
    """Stands for SIGKILL: no code may catch it, or clean up after it."""


def kill(*_: Any, **__: Any) -> None:
    raise Killed


POINTS = {
    "written": ("runtime.atomic_write.os.fsync", 1),
    "before the rename": ("runtime.atomic_write._rename", 1),
    "after the rename": ("train.checkpoint.checkpoint_folder.CheckpointFolder._prune", 2),
    "before the old one is removed": ("train.checkpoint.checkpoint_folder.Path.unlink", 2),
}


@pytest.mark.parametrize("point", POINTS)
def test_a_save_cut_short_leaves_a_whole_one(
    tmp_path: Path, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = CheckpointFolder(tmp_path, keep_last=1)
    save(folder, 1)
    where, survivor = POINTS[point]
    with monkeypatch.context() as patch:
        patch.setattr("vecchess.runtime.atomic_write._remove", lambda partial: None)
        patch.setattr(f"vecchess.{where}", kill)
        with pytest.raises(Killed):
            save(folder, 2)
    assert any(path.name.startswith(".") for path in tmp_path.iterdir()) or survivor == 2
    again = CheckpointFolder(tmp_path, keep_last=1)
    assert again.latest(silent) == state(survivor)
    save(again, 3)
    assert iterations(tmp_path) == [3]


def test_a_full_disk_leaves_the_earlier_ones(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path, keep_last=1)
    save(folder, 1)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6000, limits[1]))
    try:
        with pytest.raises(DataError, match=r"cannot write .*000002-.*: File too large; earlier"):
            save(folder, 2, state(2, size=10_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert iterations(tmp_path) == [1]
    assert folder.latest(silent) == state(1)
