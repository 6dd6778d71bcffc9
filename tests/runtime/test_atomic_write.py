"""What disks do at the worst moment: torn lines, no room, lost answers."""

import errno
import os
from pathlib import Path

import pytest

from vecchess.errors import DataError, DiskFull, WriteLater
from vecchess.runtime import atomic_write as disk
from vecchess.runtime.atomic_write import append_line, truncate_partial_line, write_atomically

pytestmark = pytest.mark.plain


def failing(number: int):  # type: ignore[no-untyped-def]
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, DiskFull),
        (errno.EDQUOT, DiskFull),
        (errno.EMFILE, WriteLater),
        (errno.EIO, DataError),
        (errno.EROFS, DataError),
    ],
)
def test_a_disk_that_refuses_leaves_what_was_there(
    number: int, kind: type[DataError], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"before\n")
    monkeypatch.setattr(os, "fsync", failing(number))
    for change in (write_atomically, append_line):
        with pytest.raises(DataError, match=str(path)) as caught:
            change(path, b"after\n")
        assert type(caught.value) is kind
        assert os.listdir(tmp_path) == ["file"]
        assert path.read_bytes() == b"before\n"


def test_a_line_for_which_there_is_no_room_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lines"
    for where, name in ((os, "open"), (os, "fsync")):
        with monkeypatch.context() as patch:
            patch.setattr(where, name, failing(errno.ENOSPC))
            with pytest.raises(DiskFull, match="No space left"):
                append_line(path, b"one\n")
    assert os.listdir(tmp_path) == []
    assert append_line(path, b"one\n") == 4


def test_lines(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    truncate_partial_line(path)
    assert not path.exists()
    assert append_line(path, b"one\n") == 4
    assert append_line(path, b"two\n") == 8
    with path.open("ab") as file:
        file.write(b"thr")
    truncate_partial_line(path)
    truncate_partial_line(path)
    assert path.read_bytes() == b"one\ntwo\n"


def test_a_rename_whose_answer_got_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As over NFS: it was done, the answer is lost, and the second try finds nothing to rename."""
    path = tmp_path / "file"
    rename = Path.replace

    def twice(self: Path, target: Path) -> None:
        rename(self, target)
        rename(self, target)

    monkeypatch.setattr(Path, "replace", twice)
    write_atomically(path, b"data")
    assert path.read_bytes() == b"data"

    def never(self: Path, target: Path) -> None:
        self.unlink()
        raise FileNotFoundError(errno.ENOENT, "No such file or directory")

    monkeypatch.setattr(Path, "replace", never)
    with pytest.raises(DataError, match="No such file"):
        write_atomically(path, b"other")
    assert path.read_bytes() == b"data"


def test_a_folder_that_cannot_be_synced_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = os.fsync

    def fsync(handle: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{handle}"):
            raise OSError(errno.EINVAL, "Invalid argument")
        sync(handle)

    monkeypatch.setattr(disk.os, "fsync", fsync)
    write_atomically(tmp_path / "file", b"data")
    assert (tmp_path / "file").read_bytes() == b"data"


@pytest.mark.parametrize("block", [1, 3, 4, 5, 1000])
def test_a_torn_line_is_found_however_long_it_is(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "_BLOCK_BYTES", block)
    path = tmp_path / "lines"
    for whole, torn in (
        (b"one\ntwo\n", b"three and more"),
        (b"", b"torn"),
        (b"one\n", b""),
        (b"", b""),
    ):
        path.write_bytes(whole + torn)
        truncate_partial_line(path)
        assert path.read_bytes() == whole


def test_a_folder_that_cannot_be_synced_is_left_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk.sync_directory(tmp_path / "none")
    open_files = len(os.listdir("/proc/self/fd"))
    for number in (errno.EINVAL, errno.ENOTSUP):
        monkeypatch.setattr(os, "fsync", failing(number))
        disk.sync_directory(tmp_path)
    monkeypatch.setattr(os, "fsync", failing(errno.EIO))
    with pytest.raises(OSError, match="Input/output error"):
        disk.sync_directory(tmp_path)
    assert len(os.listdir("/proc/self/fd")) == open_files
