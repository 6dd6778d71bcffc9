"""Files of checkpoints: read as they were written, or refused with one line."""

import json
from typing import Any

import pytest
import torch

from vecchess.errors import DataError
from vecchess.train.checkpoint import checkpoint_folder
from vecchess.train.checkpoint.checkpoint_folder import (
    MOST_HEADER_BYTES,
    decode_checkpoint,
    encode_checkpoint,
)

TENSORS = {
    "net/stem": torch.arange(6, dtype=torch.float32).reshape(2, 3),
    "net/half": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
    "optimiser/stem/step": torch.tensor(7.0),
    "net/empty": torch.zeros(0, 4),
    "rng": torch.tensor([0, 255], dtype=torch.uint8),
}
VALUES = {"steps": 3, "rate": 0.1 + 0.2, "names": ["a", None, True], "source": {"spans": [[0, 1]]}}
WHOLE = encode_checkpoint(TENSORS, {"step": 3}, VALUES)


def safetensors(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def tensor(dtype: str = "F32", shape: Any = (1,), offsets: Any = (0, 4)) -> dict[str, Any]:
    return {"w": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}


def refusal(data: bytes) -> str:
    """The line with which ``data`` is refused."""
    with pytest.raises(DataError) as caught:
        decode_checkpoint(data)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600
    return str(caught.value)


def test_a_state_is_read_as_it_was_written() -> None:
    tensors, entry = decode_checkpoint(WHOLE)
    assert tensors.keys() == TENSORS.keys()
    for name, expected in TENSORS.items():
        assert tensors[name].dtype == expected.dtype
        assert torch.equal(tensors[name], expected)
    assert (entry["facts"], entry["values"]) == ({"step": 3}, VALUES)


def test_a_view_is_written_without_its_base() -> None:
    base = torch.zeros(1000, 1000)
    data = encode_checkpoint({"view": base[:2, :3], "turned": base[:3, :2].T}, {}, {})
    assert len(data) < 1000
    assert decode_checkpoint(data)[0]["turned"].shape == (2, 3)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff" * 8,
        (1 << 40).to_bytes(8, "little") + b"{}",
        safetensors(b"[" * 200_000),
        safetensors({"w": 3}),
        safetensors(tensor(), b"123"),
        safetensors(tensor(), b"12345"),
        safetensors(tensor(dtype="F33"), b"1234"),
        safetensors(tensor(shape=[10**30]), b"1234"),
        safetensors(tensor(shape=[1 << 62, 4]), b"1234"),
        safetensors(tensor(shape=[-1]), b"1234"),
        safetensors(tensor(offsets=[0, 1 << 63]), b"1234"),
        safetensors(tensor(offsets=[4, 0]), b"1234"),
        safetensors(b'{"w": {"dtype": "F32", "shape": [1e400], "data_offsets": [0, 4]}}', b"1234"),
        safetensors(tensor(), b"1234"),
        *(
            safetensors(tensor() | {"__metadata__": {"vecchess": text}}, b"1234")
            for text in ("[1]", "{", '{"a":' * 100_000, "[" * 100_000, "{}")
        ),
    ],
)
def test_what_is_no_checkpoint_is_one_line(data: bytes) -> None:
    assert "truncated or no checkpoint" in refusal(data)


def test_a_truncated_or_changed_file_is_one_line() -> None:
    for place in range(0, len(WHOLE), 23):
        refusal(WHOLE[:place])
        changed = bytearray(WHOLE)
        changed[place] ^= 1
        refusal(bytes(changed))


@pytest.mark.parametrize("schema", [1, 9, 10**4000, "9\n" * 10_000, [[]]])
def test_another_schema_is_named(schema: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint_folder, "SCHEMA", schema)
        data = encode_checkpoint({}, {}, {})
    assert "this vecchess reads 2: it was written by" in refusal(data)


def test_a_state_that_could_not_be_read_again_is_not_written() -> None:
    for tensors, values in (
        ({}, {"text": "x" * MOST_HEADER_BYTES}),
        ({"x" * MOST_HEADER_BYTES: torch.zeros(1)}, {}),
    ):
        with pytest.raises(DataError, match="its header has more than"):
            encode_checkpoint(tensors, {}, values)
