"""Files of arrays that are not what they say: each is refused with the reason."""

import io
import zipfile

import numpy as np
import pytest
from numpy.lib import format as npy

from vecchess.errors import DataError
from vecchess.store import shard
from vecchess.store.shard import read_columns

pytestmark = pytest.mark.plain
WANTED = {"a": np.dtype(np.int64), "b": np.dtype(np.uint8)}
NEGATIVE = "{'descr': '<i8', 'fortran_order': False, 'shape': (-1, -1), }"
A, B = np.arange(6, dtype=np.int64).reshape(2, 3), np.arange(5, dtype=np.uint8)


def packed(*members: tuple[str, bytes], method: int = zipfile.ZIP_STORED) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return file


def member(array: np.ndarray, version: tuple[int, int] = (1, 0)) -> bytes:
    file = io.BytesIO()
    npy.write_array(file, array, version)
    return file.getvalue()


def with_header(header: str, data: bytes = b"") -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_what_is_wanted_is_read_and_the_rest_left_alone(method: int) -> None:
    members = ("a.npy", member(A)), ("c.npy", b"anything"), ("b", member(B))
    found = read_columns(packed(*members, method=method), WANTED)
    assert found.keys() == {"a", "b"}
    assert (found["a"] == A).all()
    assert (found["b"] == B).all()
    assert read_columns(packed(*members), {}) == {}
    empty = read_columns(packed(("a.npy", member(A[:0]))), WANTED)
    assert empty["a"].shape == (0, 3)


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (io.BytesIO(b""), "it is no npz file, or cut short"),
        (io.BytesIO(b"x" * 100_000), "it is no npz file, or cut short"),
        (io.BytesIO(packed(("a.npy", member(A))).getvalue()[:-1]), "no npz file, or cut short"),
        (packed(("a.npy", member(A)), ("a", member(A))), 'column "a" is there twice'),
        (packed(("a.npy", member(A)), method=zipfile.ZIP_LZMA), "packed in a way that is not read"),
        (packed(("a.npy", member(A)), method=zipfile.ZIP_BZIP2), "packed in a way that is not"),
        (packed(("a.npy", member(A, (2, 0)))), "a.npy has a header of another version"),
        (packed(("a.npy", member(B))), "a.npy holds uint8, not int64"),
        (packed(("a.npy", member(A)[:-1])), "does not hold the array its header tells of"),
        (packed(("a.npy", member(A) + b"1")), "does not hold the array its header tells of"),
        (packed(("a.npy", member(A)[:60])), "EOF"),
        (packed(("a.npy", b"no magic at all")), "magic"),
        (packed(("a.npy", with_header(NEGATIVE, b"12345678"))), "does not hold the array"),
        (packed(*((f"member-{number:04}", b"") for number in range(400))), "lists more members"),
    ],
)  # fmt: skip
def test_what_is_not_so_is_refused(file: io.BytesIO, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        read_columns(file, WANTED)


def test_a_list_of_members_has_room_for_those_of_a_shard() -> None:
    many = packed(*((f"member-{number:04}", b"") for number in range(240)), ("b.npy", member(B)))
    assert (read_columns(many, WANTED)["b"] == B).all()


def test_a_comment_may_stand_at_the_end() -> None:
    file = packed(("a.npy", member(A)))
    with zipfile.ZipFile(file, "a") as archive:
        archive.comment = b"x" * 60_000
    assert (read_columns(file, WANTED)["a"] == A).all()


def test_zip64_is_not_read() -> None:
    data = packed(("a.npy", member(A))).getvalue()
    end = data.rfind(b"PK\5\6")
    locator = b"PK\6\7" + bytes(16)
    with pytest.raises(DataError, match="lists more members than a shard has"):
        read_columns(io.BytesIO(data[:end] + locator + data[end:]), WANTED)


def test_files_unpack_in_proportion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard, "ROOM_BYTES", 1000)
    file = packed(("b.npy", member(np.zeros(20_000, np.uint8))), method=zipfile.ZIP_DEFLATED)
    size = len(file.getvalue())
    with pytest.raises(DataError, match=f"it has {size} bytes and declares to unpack to 20128"):
        read_columns(file, WANTED)
    assert read_columns(file, {"a": WANTED["a"]}) == {}  # what is not wanted is not unpacked
    monkeypatch.setattr(shard, "ROOM_BYTES", 20128 - 10 * size)
    assert len(read_columns(file, WANTED)["b"]) == 20_000
    monkeypatch.setattr(shard, "ROOM_BYTES", 20127 - 10 * size)
    with pytest.raises(DataError, match="declares to unpack"):
        read_columns(file, WANTED)
