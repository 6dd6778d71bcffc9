"""Shards that no line of the manifest knows: each game counts once, and nothing is lost."""

from pathlib import Path

import numpy as np
import pytest

from tests.store.games import made_up
from vecchess.errors import DataError
from vecchess.store.manifest import Manifest, ShardEntry
from vecchess.store.shard import NO_RUN, ShardFile, read_shards, write_shard
from vecchess.store.stats import GameStats

pytestmark = pytest.mark.plain


def write(folder: Path, name: str, numbers: list[int]) -> str:
    return write_shard(folder / name, made_up(numbers, seed=sum(numbers)))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class Recorded:
    """Which games count already; notes what it was asked."""

    def __init__(self, *numbers: int) -> None:
        self.numbers, self.asked = set(numbers), list[list[int]]()

    def __call__(self, numbers: np.ndarray) -> bool:
        self.asked.append(numbers.tolist())
        return bool(self.numbers & set(numbers.tolist()))


def test_a_shard_without_a_line_gets_one(tmp_path: Path) -> None:
    sha256 = write(tmp_path, "w0-1.npz", [4, 2])
    manifest, is_recorded = Manifest(tmp_path), Recorded(7)
    assert len(list(manifest.adopt(is_recorded))) == 1
    assert is_recorded.asked == [[4, 2]]
    [entry] = Manifest(tmp_path).entries
    assert (entry.file, entry.sha256) == ("w0-1.npz", sha256)
    assert entry.stats == GameStats.of(made_up([4, 2], seed=6))
    assert manifest.stats == entry.stats
    assert len(list(manifest.adopt(is_recorded))) == 0  # it has one now
    assert names(tmp_path) == ["manifest.jsonl", "w0-1.npz"]


@pytest.mark.parametrize("fault", ["recorded", "twice", "damaged", "name", "foreign"])
def test_a_shard_that_must_not_count_is_set_aside(tmp_path: Path, fault: str) -> None:
    name = "w0 1.npz" if fault == "name" else "w0-1.npz"
    foreign = "f" * 32 if fault == "foreign" else NO_RUN
    write_shard(tmp_path / name, made_up([4, 4] if fault == "twice" else [4, 2]), foreign)
    if fault == "damaged":
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-9])
    write(tmp_path, "w0-2.npz", [5])
    manifest, lines = Manifest(tmp_path), list[str]()
    is_recorded = Recorded(2) if fault == "recorded" else Recorded()
    assert len(list(manifest.adopt(is_recorded, report_line=lines.append))) == 1
    assert len(lines) == 1
    assert lines[0].startswith("a shard without a line is set aside: ")
    assert [entry.file for entry in manifest.entries] == ["w0-2.npz"]
    assert names(tmp_path) == sorted([f"{name}.set-aside", "manifest.jsonl", "w0-2.npz"])


def test_only_the_shards_of_the_named_worker_are_looked_at(tmp_path: Path) -> None:
    for name, number in (("w0-1.npz", 1), ("w1-1.npz", 2)):
        write(tmp_path, name, [number])
    for name in (".partial-w0-2.npz", ".partial-w1-2.npz"):
        (tmp_path / name).write_bytes(b"half")
    manifest = Manifest(tmp_path)
    assert len(list(manifest.adopt(Recorded(), prefix="w1-"))) == 1
    assert names(tmp_path) == [".partial-w0-2.npz", "manifest.jsonl", "w0-1.npz", "w1-1.npz"]
    assert len(list(manifest.adopt(Recorded()))) == 1
    assert names(tmp_path) == ["manifest.jsonl", "w0-1.npz", "w1-1.npz"]
    assert [entry.file for entry in manifest.entries] == ["w1-1.npz", "w0-1.npz"]


def test_a_shard_is_read_by_its_sum_or_said_to_be_aside(tmp_path: Path) -> None:
    sha256 = write(tmp_path, "a.npz", [3])
    shard = ShardFile(tmp_path / "a.npz", sha256)
    assert shard.set_aside_path == tmp_path / "a.npz.set-aside"
    assert shard.read().numbers.tolist() == [3]
    assert ShardFile(tmp_path / "a.npz").read().numbers.tolist() == [3]
    with pytest.raises(DataError, match="its sha256 differs"):
        ShardFile(tmp_path / "a.npz", "0" * 64).read()
    (tmp_path / "b.npz").write_bytes(b"")
    (tmp_path / "b.npz.set-aside").write_bytes(b"")
    with pytest.raises(DataError, match="not a readable shard"):
        ShardFile(tmp_path / "b.npz").read()  # it is there, whatever was set aside
    (tmp_path / "a.npz").rename(shard.set_aside_path)
    with pytest.raises(DataError, match=r"a\.npz was set aside, for it could not be read"):
        shard.read()
    with pytest.raises(DataError, match=r"cannot read .*c\.npz: No such file"):
        ShardFile(tmp_path / "c.npz").read()


def test_shards_that_cannot_be_read_are_left_out_where_somebody_hears_of_it(tmp_path: Path) -> None:
    write(tmp_path, "a.npz", [3])
    write(tmp_path, "c.npz", [5])
    shards, said = [ShardFile(tmp_path / f"{name}.npz") for name in "abc"], list[str]()
    found = [part.numbers.tolist() for part in read_shards(shards, said.append)]
    assert found == [[3], [5]]
    assert said == [f"a shard is left out: cannot read {tmp_path}/b.npz: No such file or directory"]
    with pytest.raises(DataError, match="cannot read"):
        list(read_shards(shards, None))


def test_entries_are_kept_with_all_that_they_say(tmp_path: Path) -> None:
    stats = GameStats.of(made_up([1, 2, 3]))
    entry = ShardEntry("a.npz", "0" * 64, stats)
    assert ShardEntry.from_dict(entry.to_dict()) == entry
    for schema in (0, 1, "2"):
        with pytest.raises(ValueError, match=f"schema {schema}; this vecchess reads 2"):
            ShardEntry.from_dict(entry.to_dict() | {"schema": schema})
    for sha256 in ("0" * 63, "0" * 65, "g" * 64, "A" * 64):
        with pytest.raises(ValueError, match="its sha256 is not one"):
            ShardEntry.from_dict(entry.to_dict() | {"sha256": sha256})


def test_a_shard_of_the_run_is_adopted_and_one_of_no_run_is_not(tmp_path: Path) -> None:
    write_shard(tmp_path / "a.npz", made_up([1]), "a" * 32)
    write_shard(tmp_path / "b.npz", made_up([2]))
    adopted = Manifest(tmp_path).adopt(Recorded(), run_id="a" * 32)
    assert [entry.file for entry, _ in adopted] == ["a.npz"]
    assert names(tmp_path) == ["a.npz", "b.npz.set-aside", "manifest.jsonl"]
