"""What torch is never given to read, although weights_only would take it."""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from vecchess.errors import DataError
from vecchess.train.checkpoint.state_dict import packed, unpacked
from vecchess.train.checkpoint.state_file import read_state

STATE = {"w": torch.ones(3), "a": np.arange(4, dtype=np.uint16), "n": [1, 2.5, None, "x", True]}


def written(path: Path, value: Any) -> Path:
    torch.save(value, path)
    return path


def with_pickle(path: Path, pickled: bytes, compression: int = zipfile.ZIP_STORED) -> Path:
    """A file of torch's whose state is ``pickled``."""
    written(path, packed(STATE))
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in parts.items():
            archive.writestr(name, pickled if name.endswith("data.pkl") else data)
    return path


def test_our_own_states_are_read(tmp_path: Path) -> None:
    for dtype in (torch.bfloat16, torch.float16, torch.float64, torch.uint8, torch.int64):
        state = STATE | {"t": torch.ones(2, dtype=dtype), "p": torch.nn.Parameter(torch.ones(1))}
        back = unpacked(read_state(written(tmp_path / "s.pt", packed(state))))
        assert back["t"].dtype == dtype
        assert back["a"].tolist() == [0, 1, 2, 3]
        assert back["n"] == STATE["n"]


@pytest.mark.parametrize(
    "pickled",
    [
        b"\x80\x02cbuiltins\nbytearray\n\x8a\x06\x00\x00\x00\x00\x00\x40\x85R.",  # 70 TB of memory
        b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R.",
        b"\x80\x02K\x01\x85q\x00h\x00h\x00\x86q\x01h\x01h\x01\x86.",  # a tuple in a tuple, twice
        b"\x80\x02}q\x00(" + b"]" * 600_000 + b"u.",
        b"\x80\x02]q\x00h\x00a",  # no end
        b"garbage",
        b"",
    ],
)
def test_pickles_with_other_words_are_refused(tmp_path: Path, pickled: bytes) -> None:
    with pytest.raises(DataError):
        read_state(with_pickle(tmp_path / "s.pt", pickled))


def test_a_state_of_too_many_words_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="more words"):
        read_state(written(tmp_path / "s.pt", [[] for _ in range(600_000)]))


def test_parts_of_one_name_in_other_letters_are_refused(tmp_path: Path) -> None:
    hostile = b"\x80\x02cbuiltins\nbytearray\nK\x07\x85R."
    for name, reason in (
        ("s/DATA.PKL", "twice"),
        ("S/Data.pkl", "twice"),
        ("x/data.pkl", "one folder"),
        ("data.pkl", "one folder"),
    ):
        file = written(tmp_path / "s.pt", packed(STATE))
        with zipfile.ZipFile(file, "a") as archive:
            archive.writestr(name, hostile)
        with pytest.raises(DataError, match=reason):
            read_state(file)


def test_the_state_is_the_one_that_torch_takes(tmp_path: Path) -> None:
    """torch finds a part whatever the case of its name."""
    file = tmp_path / "s.pt"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/DATA.PKL", b"\x80\x02cbuiltins\nbytearray\nK\x07\x85R.")
        archive.writestr("archive/version", b"3\n")
        archive.writestr("archive/x/data.pkl", b"\x80\x02N.")
    with pytest.raises(DataError):
        read_state(file)


def test_a_zip_behind_something_else_is_refused(tmp_path: Path) -> None:
    old, file = tmp_path / "old.pt", written(tmp_path / "s.pt", packed(STATE))
    torch.save(bytearray(7), old, _use_new_zipfile_serialization=False)
    ours = file.read_bytes()
    for before in (old.read_bytes(), b"PK\3\4", ours):
        file.write_bytes(before + ours)
        with pytest.raises(DataError, match="no zip, or more than one"):
            read_state(file)


def test_a_second_directory_behind_the_first_is_refused(tmp_path: Path) -> None:
    """torch goes where the end says that the directory is, zipfile looks before the end."""
    plain, ours = io.BytesIO(), io.BytesIO()
    torch.save(packed(STATE), ours)
    with zipfile.ZipFile(ours) as archive, zipfile.ZipFile(plain, "w") as copy:
        for name in archive.namelist():
            copy.writestr(name, archive.read(name))
    for data in (ours.getvalue(), plain.getvalue()):
        file, wrong = tmp_path / "s.pt", bytearray(data)
        file.write_bytes(data)
        assert unpacked(read_state(file))["n"] == STATE["n"]
        place = len(data) - 6 if data == plain.getvalue() else len(data) - 50
        wrong[place] ^= 1  # where the directory is
        for spoilt in (bytes(wrong), data + b"\0", data[:-2] + b"\1\0x"):
            file.write_bytes(spoilt)
            with pytest.raises(DataError, match=r"no zip, or more than one|Bad magic number"):
                read_state(file)


def test_packed_parts_and_old_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="packed"):
        read_state(with_pickle(tmp_path / "s.pt", b"N.", zipfile.ZIP_DEFLATED))
    torch.save(packed(STATE), tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    with pytest.raises(DataError):
        read_state(tmp_path / "old.pt")


def test_lists_in_themselves_and_tensors_without_memory_are_refused() -> None:
    shared: list[Any] = []
    for _ in range(50):
        shared = [shared, shared]
    around: list[Any] = []
    around.append(around)
    large = torch.zeros(1).expand(1 << 40)
    for state in ([shared], around, {"t": large}, {"t": torch.zeros(2, device="meta")}, {1, 2}):
        with pytest.raises(ValueError, match="its state"):
            unpacked(state)


def test_what_torch_cannot_read_is_one_line(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    torch.save(packed(STATE), buffer)
    data = buffer.getvalue()
    for place in range(0, len(data), 61):
        (tmp_path / "s.pt").write_bytes(data[:place])
        with pytest.raises(DataError) as caught:
            read_state(tmp_path / "s.pt")
        assert "\n" not in str(caught.value)
