"""Checkpoints are read as they were written, whole or not at all."""

import json
import resource
from pathlib import Path
from typing import Any

import pytest

from vecchess.errors import ConfigError, DataError, VecchessError
from vecchess.train.checkpoint.checkpoint_folder import (
    MANIFEST_FILE,
    CheckpointFolder,
    load_checkpoint,
)
from vecchess.train.checkpoint.state_file import TENSORS_FILE, VALUES_FILE


def state(number: int) -> dict[str, bytes]:
    return {TENSORS_FILE: b"tensors " * 20, VALUES_FILE: b"%d" % number}


def facts(iteration: int, **more: Any) -> dict[str, Any]:
    return {"iteration": iteration, "step": 10 * iteration} | more


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def silent(line: str) -> None:
    raise AssertionError(line)


def test_a_checkpoint_is_read_as_it_was_saved(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path / "checkpoints")
    assert folder.latest(silent) is None
    path = folder.save("it-1", state(1), facts(1, world_size=2))
    loaded = folder.latest(silent)
    assert loaded is not None
    assert (loaded.path, loaded.files, loaded.facts) == (path, state(1), facts(1, world_size=2))


def test_the_last_and_every_mth_are_kept(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path, keep_last=2, keep_every=3)
    for iteration in range(1, 9):
        folder.save(f"it-{iteration}", state(iteration), facts(iteration))
    assert names(tmp_path) == ["it-3", "it-6", "it-7", "it-8"]


def test_a_run_that_went_back_may_use_a_name_again(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path, keep_last=1)
    folder.save("it-1", state(1), facts(1))
    path = folder.save("it-1", state(2), facts(1))
    loaded = folder.latest(silent)
    assert loaded is not None
    assert loaded.files == state(2)
    assert names(tmp_path) == [path.name]


@pytest.mark.parametrize(
    "damage",
    ["flipped", "short", "no state", "no values", "torn values", "no manifest", "torn manifest"],
)
def test_a_damaged_checkpoint_is_passed_over(tmp_path: Path, damage: str) -> None:
    folder = CheckpointFolder(tmp_path)
    folder.save("it-1", state(1), facts(1))
    newest = folder.save("it-2", state(2), facts(2))
    files = {"manifest": MANIFEST_FILE, "values": VALUES_FILE}
    file = newest / files.get(damage.split()[-1], TENSORS_FILE)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    if damage.startswith("no"):
        file.unlink()
    else:
        file.write_bytes(data if damage == "flipped" else data[:-20] or b"x")
    lines: list[str] = []
    loaded = folder.latest(lines.append)
    assert loaded is not None
    assert loaded.files == state(1)
    assert len(lines) == 1
    assert str(newest) in lines[0]


def test_without_a_whole_one_nothing_begins_anew(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path)
    (folder.save("it-1", state(1), facts(1)) / TENSORS_FILE).write_bytes(b"")
    with pytest.raises(DataError, match="none of the 1 checkpoints"):
        folder.latest(lambda line: None)


def test_folders_that_are_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a checkpoint: it has no manifest"):
        load_checkpoint(tmp_path)
    path = CheckpointFolder(tmp_path).save("it-1", state(1), facts(1))
    manifest = json.loads((path / MANIFEST_FILE).read_text())
    (path / MANIFEST_FILE).write_text(json.dumps(manifest | {"schema": 9}))
    with pytest.raises(DataError, match="has schema 9, this vecchess reads 1"):
        load_checkpoint(path)


@pytest.mark.parametrize(
    "spoilt",
    [
        {"schema": 10**4000},
        {"schema": 9, "vecchess": "9\n" * 10_000},
        {"facts": {"iteration": 10**30, "step": 1}},
        {"saved_unix": [[[[]]]]},
        {"files": {"2\n" * 10_000: {}}},
    ],
)
def test_refusals_are_short_whatever_a_manifest_contains(
    tmp_path: Path, spoilt: dict[str, Any]
) -> None:
    path = CheckpointFolder(tmp_path).save("it-1", state(1), facts(1))
    manifest = json.loads((path / MANIFEST_FILE).read_text())
    (path / MANIFEST_FILE).write_text(json.dumps(manifest | spoilt))
    with pytest.raises(VecchessError) as caught:
        load_checkpoint(path)
    assert len(str(caught.value)) < len(str(path)) + 600
    assert "\n" not in str(caught.value)


class Killed(BaseException):
    """Stands for SIGKILL: no code may catch it, or clean up after it."""


def kill(*_: Any, **__: Any) -> None:
    raise Killed


POINTS = {
    "state written": ("os.fsync", kill, "it-1"),
    "before the rename": ("Path.rename", kill, "it-1"),
    "after the rename": ("CheckpointFolder._prune", kill, "it-2"),
    "half removed": ("shutil.rmtree", kill, "it-2"),
}


@pytest.mark.parametrize("point", POINTS)
def test_a_save_cut_short_leaves_a_whole_one(
    tmp_path: Path, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = CheckpointFolder(tmp_path, keep_last=1)
    folder.save("it-1", state(1), facts(1))
    where, instead, survivor = POINTS[point]
    with monkeypatch.context() as patch:
        patch.setattr(f"vecchess.train.checkpoint.checkpoint_folder.{where}", instead)
        with pytest.raises(Killed):
            folder.save("it-2", state(2), facts(2))
    assert any(path.name.startswith(".") for path in tmp_path.iterdir()) or survivor == "it-2"
    loaded = CheckpointFolder(tmp_path, keep_last=1).latest(silent)
    assert loaded is not None
    assert loaded.path.name == survivor
    assert not list(tmp_path.glob(".*"))


def test_a_full_disk_leaves_the_earlier_ones(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path, keep_last=1)
    folder.save("it-1", state(1), facts(1))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6000, limits[1]))
    try:
        with pytest.raises(
            DataError, match=r"cannot write the checkpoint .*it-2: File too large; "
        ):
            folder.save("it-2", {TENSORS_FILE: bytes(40_000), VALUES_FILE: b"{}"}, facts(2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert names(tmp_path) == ["it-1"]
    loaded = folder.latest(silent)
    assert loaded is not None
    assert loaded.files == state(1)
