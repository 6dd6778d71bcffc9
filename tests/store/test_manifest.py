"""Shards that no line of the manifest knows: each game counts once, and nothing is lost."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.store.games import made_up, shard
from vecchess.errors import DataError, FileUnreadable
from vecchess.store import manifest as manifests
from vecchess.store.id_set import IdSet
from vecchess.store.manifest import Manifest, ShardEntry
from vecchess.store.shard import NO_RUN, ShardFile, read_shards, write_shard
from vecchess.store.stats import GameStats

pytestmark = pytest.mark.plain


def write(folder: Path, name: str, numbers: list[int]) -> str:
    return write_shard(folder / name, made_up(numbers, seed=sum(numbers)))


def names(folder: Path) -> list[str]:
    """The files in a folder but for locks."""
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")


def test_a_shard_without_a_line_gets_one(tmp_path: Path) -> None:
    sha256 = write(tmp_path, "w0-1.npz", [4, 2])
    manifest = Manifest(tmp_path)
    assert len(list(manifest.adopt())) == 1
    [entry] = Manifest(tmp_path).entries
    assert (entry.file, entry.sha256) == ("w0-1.npz", sha256)
    assert entry.ids.ids.tolist() == [2, 4]
    assert entry.stats == GameStats.of(made_up([4, 2], seed=6))
    assert manifest.stats == entry.stats
    assert len(list(manifest.adopt())) == 0  # it has one now
    assert names(tmp_path) == ["manifest.jsonl", "w0-1.npz"]


@pytest.mark.parametrize("fault", ["recorded", "twice", "damaged", "name", "foreign"])
def test_a_shard_that_must_not_count_is_set_aside(tmp_path: Path, fault: str) -> None:
    name = "w0 1.npz" if fault == "name" else "w0-1.npz"
    manifest, lines = Manifest(tmp_path), list[str]()
    if fault == "recorded":
        manifest.append(shard(tmp_path, "a.npz", [2]))
    foreign = "f" * 32 if fault == "foreign" else NO_RUN
    write_shard(tmp_path / name, made_up([4, 4] if fault == "twice" else [4, 2]), foreign)
    if fault == "damaged":
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-9])
    write(tmp_path, "w0-2.npz", [5])
    before = [entry.file for entry in manifest.entries]
    assert len(list(manifest.adopt(report_line=lines.append))) == 1
    assert len(lines) == 1
    assert lines[0].startswith("a shard without a line is set aside: ")
    assert [entry.file for entry in manifest.entries] == [*before, "w0-2.npz"]
    assert names(tmp_path) == sorted(
        [f"{name}.set-aside", "manifest.jsonl", "w0-2.npz", *before],
    )


def test_only_the_shards_of_the_named_worker_are_looked_at(tmp_path: Path) -> None:
    for name, number in (("w0-1.npz", 1), ("w1-1.npz", 2)):
        write(tmp_path, name, [number])
    for name in (".partial-w0-2.npz", ".partial-w1-2.npz"):
        (tmp_path / name).write_bytes(b"half")
    manifest = Manifest(tmp_path)
    assert len(list(manifest.adopt("w1-"))) == 1
    assert names(tmp_path) == [".partial-w0-2.npz", "manifest.jsonl", "w0-1.npz", "w1-1.npz"]
    assert len(list(manifest.adopt())) == 1
    assert names(tmp_path) == ["manifest.jsonl", "w0-1.npz", "w1-1.npz"]
    assert [entry.file for entry in manifest.entries] == ["w1-1.npz", "w0-1.npz"]


def test_a_shard_is_read_by_its_checksum(tmp_path: Path) -> None:
    sha256 = write(tmp_path, "a.npz", [3])
    assert ShardFile(tmp_path / "a.npz", sha256).read().numbers.tolist() == [3]
    assert ShardFile(tmp_path / "a.npz").read().numbers.tolist() == [3]
    assert ShardFile(tmp_path / "a.npz").numbers().tolist() == [3]
    assert ShardFile(tmp_path / "x.npz", ids=IdSet([(7, 9)])).numbers().tolist() == [7, 8]
    with pytest.raises(DataError, match="its sha256 differs"):
        ShardFile(tmp_path / "a.npz", "0" * 64).read()
    (tmp_path / "b.npz").write_bytes(b"")
    with pytest.raises(DataError, match="not a readable shard"):
        ShardFile(tmp_path / "b.npz").read()


@pytest.mark.usefixtures("no_pauses")
def test_damaged_shards_are_left_out_and_missing_ones_are_not(tmp_path: Path) -> None:
    write(tmp_path, "a.npz", [3])
    (tmp_path / "b.npz").write_bytes(b"")
    write(tmp_path, "c.npz", [5])
    shards, lines = [ShardFile(tmp_path / f"{name}.npz") for name in "abc"], list[str]()
    found = [part.numbers.tolist() for part in read_shards(shards, lines.append)]
    assert found == [[3], [5]]
    assert len(lines) == 1
    assert lines[0].startswith(f"a shard is left out: {tmp_path}/b.npz is not a readable shard")
    with pytest.raises(DataError, match="not a readable shard"):
        list(read_shards(shards, None))
    (tmp_path / "b.npz").unlink()
    with pytest.raises(FileUnreadable, match=r"cannot read .*b\.npz: No such file .* 7 times"):
        list(read_shards(shards, lines.append))


def test_entries_are_kept_with_all_that_they_say(tmp_path: Path) -> None:
    entry = ShardEntry.of("a.npz", "0" * 64, made_up([1, 2, 3, 7]))
    values = entry.to_dict()
    assert values["games"] == [1, 3, 3, 1]
    assert ShardEntry.from_dict(values) == entry
    for sha256 in ("0" * 63, "0" * 65, "g" * 64, "A" * 64):
        with pytest.raises(ValueError, match="its sha256 is not one"):
            ShardEntry.from_dict(values | {"sha256": sha256})
    for games in (None, [1.0, 4], [True, 4], [1], [1, 4, 3], [1, 3, 0, 1], [-1, 4], [1 << 63, 4]):
        with pytest.raises(ValueError, match="its games"):
            ShardEntry.from_dict(values | {"games": games})
    with pytest.raises(ValueError, match="not as many as its stats say"):
        ShardEntry.from_dict(values | {"games": [1, 3]})
    for wrong in (7, {}, values | {"more": 1}):
        with pytest.raises(ValueError, match="a line has a file"):
            ShardEntry.from_dict(wrong)


def test_many_lines_are_read_as_each_of_them(tmp_path: Path) -> None:
    records = [made_up([4 * n, 4 * n + 3], seed=n) for n in range(7)]
    entries = [ShardEntry.of(f"{n}.npz", "0" * 64, each) for n, each in enumerate(records)]
    again = ShardEntry.from_dicts([entry.to_dict() for entry in entries])
    assert again == entries
    assert ShardEntry.from_dicts([]) == []
    total, one_by_one = GameStats(), GameStats()
    total.add(*(entry.stats for entry in again))
    for entry in entries:
        one_by_one.add(entry.stats)
    assert total == one_by_one


@pytest.mark.parametrize("schema", [0, 1, "2", None])
def test_a_manifest_of_another_schema_is_refused(tmp_path: Path, schema: object) -> None:
    line = json.dumps({"schema": schema, "file": "a.npz"}) + "\n"
    (tmp_path / "manifest.jsonl").write_text(line)
    fault = f"line 1 is damaged: schema {schema}; this vecchess reads 2"
    with pytest.raises(DataError, match=fault):
        Manifest(tmp_path)


def test_doubled_lines_are_refused(tmp_path: Path) -> None:
    first, second = shard(tmp_path, "a.npz", [1, 2]), shard(tmp_path, "b.npz", [2, 3])
    manifest = Manifest(tmp_path)
    manifest.append(first)
    with pytest.raises(DataError, match=r"lists a\.npz twice"):
        manifest.append(first)
    with pytest.raises(DataError, match=r"lists game 2 twice, the second time in b\.npz"):
        manifest.append(second)
    for line, fault in ((first, r"lists a\.npz twice"), (second, "lists game 2 twice")):
        whole = manifest.path.read_bytes()
        manifest.path.write_bytes(whole + json.dumps(line.to_dict()).encode() + b"\n")
        with pytest.raises(DataError, match=fault):
            Manifest(tmp_path)
        with pytest.raises(DataError, match=fault):
            manifest.refresh()
        manifest.path.write_bytes(whole)


def test_a_follower_reads_what_is_new_and_knows_a_replaced_file(tmp_path: Path) -> None:
    entries = [shard(tmp_path, f"{name}.npz", [number]) for number, name in enumerate("abcd")]
    writer, follower = Manifest(tmp_path), Manifest(tmp_path)
    assert not follower.refresh()
    for entry in entries[:3]:
        writer.append(entry)
        assert follower.refresh()
        assert not follower.refresh()
        assert (follower.entries, follower.ids) == (writer.entries, writer.ids)
    assert follower.stats == writer.stats == Manifest(tmp_path).stats
    with writer.path.open("ab") as file:
        file.write(b'{"file": "d.n')  # torn
    assert not follower.refresh()
    writer.replace(entries[1:3])
    assert follower.refresh()
    assert follower.entries == entries[1:3]
    writer.append(entries[3])
    assert follower.refresh()
    assert follower.entries == entries[1:]
    assert follower.stats == writer.stats == Manifest(tmp_path).stats
    writer.path.write_bytes(b"".join(writer.path.read_bytes().splitlines(keepends=True)[:-1]))
    assert follower.refresh()  # the last line was taken back
    assert follower.entries == entries[1:3]
    writer.append(entries[0])  # it reads what another program has changed first
    assert writer.entries == Manifest(tmp_path).entries == [*entries[1:3], entries[0]]


@pytest.mark.usefixtures("no_pauses")
def test_a_manifest_that_was_there_does_not_vanish(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path)
    manifest.append(shard(tmp_path, "a.npz", [1]))
    manifest.path.unlink()
    with pytest.raises(FileUnreadable, match="cannot read"):
        manifest.refresh()
    with pytest.raises(FileUnreadable, match="cannot read"):
        Manifest(tmp_path, must_exist=True)


@pytest.mark.usefixtures("no_pauses")
def test_missing_shards_are_noticed(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path)
    for number, name in enumerate("abc"):
        manifest.append(shard(tmp_path, f"{name}.npz", [number]))
    manifest.check_files()
    for name in "bc":
        (tmp_path / f"{name}.npz").unlink()
    with pytest.raises(FileUnreadable, match=r"lacks 2 of the shards .* b\.npz among them"):
        manifest.check_files()


def test_a_shard_of_the_run_is_adopted_and_one_of_no_run_is_not(tmp_path: Path) -> None:
    write_shard(tmp_path / "a.npz", made_up([1]), "a" * 32)
    write_shard(tmp_path / "b.npz", made_up([2]))
    adopted = Manifest(tmp_path).adopt(run_id="a" * 32)
    assert [entry.file for entry in adopted] == ["a.npz"]
    assert names(tmp_path) == ["a.npz", "b.npz.set-aside", "manifest.jsonl"]


def test_a_first_line_that_could_not_be_read_again_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = Manifest(tmp_path)
    for number in (1, 3, 5):
        sha256 = write(tmp_path, f"{number}.npz", [number])
        manifest.append(ShardEntry.of(f"{number}.npz", sha256, made_up([number])))
    before, pruned = manifest.path.read_bytes(), manifest.entries[:2]
    monkeypatch.setattr("vecchess.store.manifest.LONGEST_HEAD", 60)
    with pytest.raises(DataError, match="too many ranges of pruned games"):
        manifest.replace(manifest.entries[2:], pruned)
    assert manifest.path.read_bytes() == before


def test_entries_are_found_by_their_numbers_and_each_is_looked_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fleet asks for the entries of each block of a generation."""
    looked_at: list[int] = []

    def array(values: list[object], *rest: object) -> object:
        looked_at.append(len(values))
        return np.asarray(values, *rest)

    entries = [
        replace(shard(tmp_path, f"{n}.npz", [2 * n, 2 * n + 1]), segments=IdSet([(n, n + 1)]))
        for n in range(6)
    ]
    counting: Any = SimpleNamespace(**vars(np) | {"array": array})
    manifest = Manifest(tmp_path)
    for entry in entries[:4]:
        manifest.append(entry)
    monkeypatch.setattr(manifests, "np", counting)
    for n in range(4):
        assert manifest.entries_of(IdSet([(n, n + 1)])) == entries[n : n + 1]
        assert manifest.entries_with(2 * n + 1, 2 * n + 3) == entries[n : min(n + 2, 4)]
    assert looked_at == [4, 4]
    for entry in entries[4:]:
        manifest.append(entry)
    assert manifest.entries_of(IdSet([(3, 9)])) == entries[3:]
    assert manifest.entries_of(IdSet()) == []
    assert looked_at == [4, 4, 2]
    manifest.replace(entries[:1])
    assert manifest.entries_with(0, 99) == entries[:1]
