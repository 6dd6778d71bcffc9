"""What torch is never given to read, although weights_only would take it."""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from vecchess.errors import DataError
from vecchess.learn.state import packed, unpacked
from vecchess.learn.state_file import read_state

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
