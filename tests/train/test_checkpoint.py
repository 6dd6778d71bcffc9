"""Checkpoints: what is written is read, whole or not at all."""

import hashlib
import json
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from vecchess.errors import ConfigError, DataError, VecchessError
from vecchess.train.checkpoint.checkpoint_folder import (
    MANIFEST_FILE,
    STATE_FILE,
    CheckpointFolder,
    load,
)
from vecchess.train.checkpoint.state_dict import (
    load_optimizer_state,
    optimizer_state,
    packed,
    unpacked,
)

STATE = {
    "net": {"stem": torch.arange(6, dtype=torch.float32).reshape(2, 3), "k": torch.tensor(7)},
    "window": np.arange(5, dtype=np.uint64) + np.uint64(2**63),
    "keys": {3: np.array([True, False]), "none": None},
    "counters": [1, 2.5, "word", {"nested": [True]}],
}


def facts(iteration: int, **more: Any) -> dict[str, Any]:
    return {"iteration": iteration, "step": 10 * iteration} | more


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def silent(line: str) -> None:
    raise AssertionError(line)


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path / "checkpoints")
    assert folder.latest(silent) is None
    path = folder.save("it-1", STATE, facts(1, world_size=2))
    loaded = folder.latest(silent)
    assert loaded is not None
    assert (loaded.path, loaded.facts) == (path, facts(1, world_size=2))
    state = loaded.state
    assert state["net"]["stem"].equal(STATE["net"]["stem"])  # type: ignore[call-overload]
    assert state["window"].dtype == np.uint64
    assert (state["window"] == STATE["window"]).all()
    assert state["keys"][3].tolist() == [True, False]
    assert state["counters"] == STATE["counters"]


def test_a_view_is_saved_without_its_base(tmp_path: Path) -> None:
    base = torch.zeros(1_000_000)
    path = CheckpointFolder(tmp_path).save("it-1", {"view": base[:2]}, facts(1))
    assert (path / STATE_FILE).stat().st_size < 10_000


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({"a": [1, object()]}, r"state\['a'\]\[1\] is a object"),
        ({"a": np.array(["x"])}, r"state\['a'\] is a ndarray"),
        ({(1, 2): 3}, "state has a key of type tuple"),
        ({"ndarray:": 3}, "which marks arrays"),
    ],
)
def test_what_could_only_be_pickled_is_refused(value: Any, where: str) -> None:
    with pytest.raises(TypeError, match=where):
        packed(value)


def test_the_last_and_every_mth_are_kept(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path, keep_last=2, keep_every=3)
    for iteration in range(1, 9):
        folder.save(f"it-{iteration}", {"i": iteration}, facts(iteration))
    assert names(tmp_path) == ["it-3", "it-6", "it-7", "it-8"]


def test_a_run_that_went_back_may_use_a_name_again(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path, keep_last=1)
    folder.save("it-1", {"try": 1}, facts(1))
    path = folder.save("it-1", {"try": 2}, facts(1))
    loaded = folder.latest(silent)
    assert loaded is not None
    assert loaded.state == {"try": 2}
    assert names(tmp_path) == [path.name]


@pytest.mark.parametrize("damage", ["flipped", "short", "no state", "no manifest", "torn manifest"])
def test_a_damaged_checkpoint_is_passed_over(tmp_path: Path, damage: str) -> None:
    folder = CheckpointFolder(tmp_path)
    folder.save("it-1", {"i": 1}, facts(1))
    newest = folder.save("it-2", {"i": 2}, facts(2))
    file = newest / (MANIFEST_FILE if "manifest" in damage else STATE_FILE)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    if damage.startswith("no"):
        file.unlink()
    else:
        file.write_bytes(data if damage == "flipped" else data[:-20])
    lines: list[str] = []
    loaded = folder.latest(lines.append)
    assert loaded is not None
    assert loaded.state == {"i": 1}
    assert len(lines) == 1
    assert str(newest) in lines[0]


def test_without_a_whole_one_nothing_begins_anew(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path)
    (folder.save("it-1", {"i": 1}, facts(1)) / STATE_FILE).write_bytes(b"")
    with pytest.raises(DataError, match="none of the 1 checkpoints"):
        folder.latest(lambda line: None)


def test_what_is_no_checkpoint_of_ours(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a checkpoint: it has no manifest"):
        load(tmp_path)
    path = CheckpointFolder(tmp_path).save("it-1", {}, facts(1, net={"blocks": 2, "channels": 24}))
    assert load(path, {"blocks": 2}).facts["iteration"] == 1
    with pytest.raises(ConfigError, match="has channels = 24, this run has channels = 32"):
        load(path, {"blocks": 2, "channels": 32})
    manifest = json.loads((path / MANIFEST_FILE).read_text())
    (path / MANIFEST_FILE).write_text(json.dumps(manifest | {"schema": 9}))
    with pytest.raises(DataError, match="has schema 9, this vecchess reads up to 1"):
        load(path)


@pytest.mark.parametrize(
    "spoilt",
    [
        {"schema": 10**4000},
        {"schema": 9, "vecchess": "9\n" * 10_000},
        {"facts": facts(1, net={"blocks": "2\n" * 10_000})},
    ],
)
def test_refusals_are_short_whatever_a_manifest_says(
    tmp_path: Path, spoilt: dict[str, Any]
) -> None:
    path = CheckpointFolder(tmp_path).save("it-1", {}, facts(1))
    manifest = json.loads((path / MANIFEST_FILE).read_text())
    (path / MANIFEST_FILE).write_text(json.dumps(manifest | spoilt))
    with pytest.raises(VecchessError) as caught:
        load(path, {"blocks": 2})
    assert len(str(caught.value)) < len(str(path)) + 600
    assert "\n" not in str(caught.value)


def test_a_file_with_code_in_it_is_not_run(tmp_path: Path) -> None:
    path = CheckpointFolder(tmp_path).save("it-1", {}, facts(1))
    torch.save({"x": Path("/")}, path / STATE_FILE)  # a class, which only unpickling code makes
    manifest = json.loads((path / MANIFEST_FILE).read_text())
    data = (path / STATE_FILE).read_bytes()
    manifest["files"][STATE_FILE] = {
        "size": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    (path / MANIFEST_FILE).write_text(json.dumps(manifest))
    with pytest.raises(DataError, match="is damaged"):
        load(path)


class Killed(BaseException):
    """Stands for SIGKILL: nothing may catch it, or clean up after it."""


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
    folder.save("it-1", {"i": 1}, facts(1))
    where, instead, survivor = POINTS[point]
    with monkeypatch.context() as patch:
        patch.setattr(f"vecchess.train.checkpoint.checkpoint_folder.{where}", instead)
        with pytest.raises(Killed):
            folder.save("it-2", {"i": 2}, facts(2))
    assert any(path.name.startswith(".") for path in tmp_path.iterdir()) or survivor == "it-2"
    loaded = CheckpointFolder(tmp_path, keep_last=1).latest(silent)
    assert loaded is not None
    assert loaded.path.name == survivor
    assert not list(tmp_path.glob(".*"))


def test_a_full_disk_leaves_the_earlier_ones(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path, keep_last=1)
    folder.save("it-1", {"i": 1}, facts(1))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6000, limits[1]))
    try:
        with pytest.raises(
            DataError, match=r"cannot write the checkpoint .*it-2: File too large; "
        ):
            folder.save("it-2", {"i": torch.randn(10_000)}, facts(2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert names(tmp_path) == ["it-1"]
    loaded = folder.latest(silent)
    assert loaded is not None
    assert loaded.state == {"i": 1}


def test_what_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path, keep_last=1)
    folder.save("it-1", {"i": 1}, facts(1))
    with pytest.raises(DataError, match=r"cannot write .*it-2, for .*more words .*earlier"):
        folder.save("it-2", {"i": [[] for _ in range(600_000)]}, facts(2))
    assert names(tmp_path) == ["it-1"]
    loaded = folder.latest(silent)
    assert loaded is not None
    assert loaded.state == {"i": 1}


def trained(model: nn.Module, groups: list[list[str]], steps: int) -> torch.optim.Adam:
    named = dict(model.named_parameters())
    optimizer = torch.optim.Adam([{"params": [named[n] for n in group]} for group in groups])
    for step in range(steps):
        optimizer.zero_grad()
        model(torch.full((2, 3), float(step + 1))).sum().backward()
        optimizer.step()
    return optimizer


def test_optimisers_find_their_memory_in_other_groups() -> None:
    torch.manual_seed(1)
    model = nn.Linear(3, 4)
    optimizer = trained(model, [["weight", "bias"]], 3)
    stored = unpacked(packed(optimizer_state(optimizer, model)))
    other = nn.Linear(3, 4)
    other.load_state_dict(model.state_dict())
    again = trained(other, [["bias"], ["weight"]], 0)
    load_optimizer_state(again, other, stored)
    for one, optim in ((model, optimizer), (other, again)):
        optim.zero_grad()
        one(torch.ones(2, 3)).sum().backward()
        optim.step()
    assert other.weight.equal(model.weight)
    assert other.bias.equal(model.bias)


def test_another_networks_optimiser_is_refused() -> None:
    model = nn.Linear(3, 4)
    stored = optimizer_state(trained(model, [["weight", "bias"]], 1), model)
    larger = nn.Linear(3, 5)
    with pytest.raises(DataError, match=r"weight.exp_avg of shape \[4, 3\], not \[5, 3\]"):
        load_optimizer_state(trained(larger, [["weight"]], 0), larger, stored)
    tower = nn.Sequential(model)
    with pytest.raises(DataError, match=r"knows weight, which the network lacks"):
        load_optimizer_state(trained(tower, [["0.weight"]], 0), tower, stored)
