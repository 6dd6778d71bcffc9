import errno
import json
import os
import zipfile
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from tests.store.games import made_up, same, shard
from vecchess.errors import DataError, FileUnreadable
from vecchess.runtime import retried_read
from vecchess.store import shard as shards
from vecchess.store.manifest import Manifest, ShardEntry
from vecchess.store.records import (
    SCHEMA,
)
from vecchess.store.shard import read_numbers, read_shard, write_shard

pytestmark = pytest.mark.plain


def test_what_is_written_reads_back(tmp_path: Path) -> None:
    games = made_up(list(range(30)))
    sha256 = write_shard(tmp_path / "a.npz", games)
    back = read_shard(tmp_path / "a.npz", sha256)
    assert same(back, games)
    assert back.nets == games.nets
    assert read_numbers(tmp_path / "a.npz").tolist() == list(range(30))
    assert os.listdir(tmp_path) == ["a.npz"]


def rewrite(path: Path, schema: int, without: tuple[str, ...] = ()) -> None:
    """Give a shard another schema and take columns away."""
    with np.load(path) as file:
        columns = {name: file[name] for name in file if name not in without}
    np.savez_compressed(path, **columns | {"schema": np.int64(schema)})


def test_other_schemas_and_missing_columns_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    write_shard(path, made_up([1, 2]))
    rewrite(path, SCHEMA + 1)
    with pytest.raises(DataError, match=f"it has schema {SCHEMA + 1}"):
        read_shard(path)
    rewrite(path, SCHEMA, without=("target_prob",))
    with pytest.raises(DataError, match="target_prob"):
        read_shard(path)


def test_every_flipped_or_missing_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    sha256 = write_shard(path, made_up([1, 2]))
    data = path.read_bytes()
    for place in range(0, len(data), 97):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(DataError):
            read_shard(path, sha256)
        path.write_bytes(data[:place])
        with pytest.raises(DataError):
            read_shard(path)


def test_pickles_are_never_loaded(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", numbers=np.array([print], dtype=object))
    for read in (read_shard, read_numbers):
        with pytest.raises(DataError):
            read(tmp_path / "a.npz")


def test_declared_sizes_are_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, numbers=np.zeros(20_000_000, np.int64))
    assert path.stat().st_size < 200_000
    for read in (read_shard, read_numbers):
        with pytest.raises(DataError, match="declares to unpack to 160000"):
            read(path)
    with zipfile.ZipFile(path, "w") as archive:
        header = b"{'descr': '<i8', 'fortran_order': False, 'shape': (1000000000000,), }\n"
        archive.writestr("numbers.npy", b"\x93NUMPY\x01\x00" + bytes([len(header), 0]) + header)
    with pytest.raises(DataError, match="does not hold the array"):
        read_numbers(path)


def test_starts_and_codes_of_no_game_are_refused(tmp_path: Path) -> None:
    path, games = tmp_path / "a.npz", made_up([1, 2])
    for word in range(7):  # the eighth counts plies
        start = games.start.copy()
        start[1, word] ^= np.uint64(1 << 27)
        write_shard(path, replace(games, start=start))
        with pytest.raises(DataError, match="no position"):
            read_shard(path)
    wrong = {"action": 4672, "target_action": 65535, "result": -128, "numbers": -1}
    for name, value in wrong.items():
        column = getattr(games, name).copy()
        column[0] = value
        write_shard(path, replace(games, **{name: column}))
        with pytest.raises(DataError):
            read_shard(path)
    write_shard(path, replace(games, action=games.action.astype(np.float64)))
    with pytest.raises(DataError, match="holds float64, not uint16"):
        read_shard(path)


@pytest.mark.parametrize("name", ["action", "numbers", "nets"])
def test_columns_of_other_shapes_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.npz"
    for shape in ((1, -1), ()):
        write_shard(path, made_up([1]))
        with np.load(path) as file:
            columns = {key: file[key] for key in file}
        column = columns[name]
        columns[name] = column.reshape(shape) if shape else column[0]
        np.savez_compressed(path, **columns)
        with pytest.raises(DataError, match="not a readable shard"):
            read_shard(path)


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(DataError, match="No space left"):
        write_shard(tmp_path / "a.npz", made_up([1]))
    assert os.listdir(tmp_path) == []


def test_the_manifest_counts_what_was_appended(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path)
    for name, numbers in (("a.npz", [0, 2]), ("b.npz", [1])):
        manifest.append(shard(tmp_path, name, numbers))
    again = Manifest(tmp_path)
    assert again.entries == manifest.entries
    assert again.stats.games == 3
    assert [shard.read().numbers.tolist() for shard in again.shards] == [[0, 2], [1]]


def test_what_others_leave_behind_the_last_line_is_cut_off_too(tmp_path: Path) -> None:
    """The file is read again only where it is not as long as this writer left it."""
    manifest = Manifest(tmp_path)
    manifest.append(shard(tmp_path, "a.npz", [0]))
    manifest.append(shard(tmp_path, "b.npz", [1]))
    with manifest.path.open("a") as file:
        file.write('{"schema": 1, "fi')
    manifest.append(shard(tmp_path, "c.npz", [2]))
    assert [entry.file for entry in Manifest(tmp_path).entries] == ["a.npz", "b.npz", "c.npz"]


def test_a_torn_last_line_is_cut_off(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path)
    manifest.append(shard(tmp_path, "a.npz", [0]))
    whole = manifest.path.read_bytes()
    torn = whole + whole.splitlines()[1][:99]
    manifest.path.write_bytes(torn)
    again = Manifest(tmp_path)
    assert manifest.path.read_bytes() == torn  # a reader changes nothing
    assert [entry.file for entry in again.entries] == ["a.npz"]
    again.append(shard(tmp_path, "b.npz", [1]))
    assert [entry.file for entry in Manifest(tmp_path).entries] == ["a.npz", "b.npz"]


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path)
    manifest.append(shard(tmp_path, "a.npz", [0]))
    header, line = manifest.path.read_bytes().splitlines(keepends=True)
    for lines in ((header, b"{}\n", line), (header, line[:9] + b"\n", line)):
        manifest.path.write_bytes(b"".join(lines))
        with pytest.raises(DataError, match="line 2 is damaged"):
            Manifest(tmp_path)
    manifest.path.write_bytes(header + line + b"[]\n")
    with pytest.raises(DataError, match="line 3 is damaged"):
        manifest.refresh()
    manifest.path.write_bytes(line)
    with pytest.raises(DataError, match="line 1 is damaged"):
        Manifest(tmp_path)


def test_lines_that_are_no_entries_are_damage(tmp_path: Path) -> None:
    good = shard(tmp_path, "a.npz", [0]).to_dict()
    Manifest(tmp_path).replace([])
    header = (tmp_path / "manifest.jsonl").read_text()
    stats = good["stats"]
    wrong: list[object] = [
        [],
        good | {"sha256": ["a"]},
        good | {"stats": []},
        *(good | {"file": name} for name in ("..", "", "a\0.npz", "a/b.npz", "C:a.npz", 7)),
        *(
            good | {"stats": stats | {"games": value}}
            for value in (-1, 1.5, "3", True, None, 1e400)
        ),
        good | {"stats": stats | {"lengths": {"x": 1}}},
        good | {"stats": stats | {"unknown": 1}},
    ]
    lines = [json.dumps(values) for values in wrong] + ["[" * 100_000, "1" * 9_999]
    for line in lines:
        (tmp_path / "manifest.jsonl").write_text(header + line + "\n")
        with pytest.raises(DataError, match="line 2 is damaged"):
            Manifest(tmp_path)


def test_a_shard_name_cannot_leave_the_folder(tmp_path: Path) -> None:
    entry = shard(tmp_path, "a.npz", [0]).to_dict() | {"file": "../a.npz"}
    with pytest.raises(ValueError, match="leave"):
        ShardEntry.from_dict(entry)


def test_a_failed_append_leaves_the_manifest_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = Manifest(tmp_path)
    first, second = shard(tmp_path, "a.npz", [0]), shard(tmp_path, "b.npz", [1])
    manifest.append(first)
    before = manifest.path.read_bytes()

    def refuse(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(DataError, match="No space left"):
        manifest.append(second)
    assert manifest.path.read_bytes() == before


def test_what_packs_too_well_is_not_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers refuse a file that unpacks to more than its size lets them expect."""
    games, empty = made_up(list(range(400)), searched=False), made_up([1])
    for name in ("action", "steps", "win", "draw", "prob", "tag", "fingerprint", "start"):
        getattr(games, name)[:] = games.start[0] if name == "start" else 0
    sizes = {}
    for room in (shards.ROOM_BYTES, 0):
        monkeypatch.setattr(shards, "ROOM_BYTES", room)
        for name, records in (("few", empty), ("many", games)):
            write_shard(tmp_path / name, records)
            assert same(read_shard(tmp_path / name), records)
            sizes[name, room > 0] = (tmp_path / name).stat().st_size
    assert sizes["many", False] > 10 * sizes["many", True]
    assert sizes["few", False] == sizes["few", True]


class BadSector(BytesIO):
    """A file whose end cannot be read."""

    def read(self, size: int | None = -1) -> bytes:
        if self.tell() > 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return super().read(size)


@pytest.mark.parametrize("read", [read_shard, read_numbers])
def test_a_read_that_fails_half_way_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Path], object]
) -> None:
    write_shard(tmp_path / "a.npz", made_up([1]))
    data = (tmp_path / "a.npz").read_bytes()

    def opened(path: Path) -> BytesIO:
        file = BadSector(data)
        file.seek(1)
        return file

    for module in (shards, retried_read):
        monkeypatch.setattr(module, "open_regular", opened)
    with pytest.raises(FileUnreadable, match=r"cannot read .*a\.npz: Input/output error"):
        read(tmp_path / "a.npz")
