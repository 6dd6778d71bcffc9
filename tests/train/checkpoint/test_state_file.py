"""The files of a training's state: read as they were written, or refused with one line."""

import json
from typing import Any

import pytest
import torch

from vecchess.errors import DataError
from vecchess.train.checkpoint.state_file import (
    MOST_JSON_BYTES,
    TENSORS_FILE,
    VALUES_FILE,
    decode_state,
    encode_state,
)

TENSORS = {
    "net/stem": torch.arange(6, dtype=torch.float32).reshape(2, 3),
    "net/half": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
    "optimiser/stem/step": torch.tensor(7.0),
    "net/empty": torch.zeros(0, 4),
    "rng": torch.tensor([0, 255], dtype=torch.uint8),
}
VALUES = {"steps": 3, "rate": 0.1 + 0.2, "names": ["a", None, True], "source": {"spans": [[0, 1]]}}


def safetensors(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def tensor(dtype: str = "F32", shape: Any = (1,), offsets: Any = (0, 4)) -> dict[str, Any]:
    return {"w": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}


def test_a_state_is_read_as_it_was_written() -> None:
    tensors, values = decode_state(encode_state(TENSORS, VALUES))
    assert tensors.keys() == TENSORS.keys()
    for name, expected in TENSORS.items():
        assert tensors[name].dtype == expected.dtype
        assert torch.equal(tensors[name], expected)
    assert values == VALUES


def test_a_view_is_written_without_its_base() -> None:
    base = torch.zeros(1000, 1000)
    files = encode_state({"view": base[:2, :3], "turned": base[:3, :2].T}, {})
    assert len(files[TENSORS_FILE]) < 1000
    assert decode_state(files)[0]["turned"].shape == (2, 3)


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
    ],
)
def test_damaged_tensors_are_one_line(data: bytes) -> None:
    with pytest.raises(DataError, match=TENSORS_FILE) as caught:
        decode_state({TENSORS_FILE: data, VALUES_FILE: b"{}"})
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_truncated_file_is_one_line() -> None:
    files = encode_state(TENSORS, VALUES)
    for name, data in files.items():
        for length in range(0, len(data), 23):
            with pytest.raises(DataError, match=name) as caught:
                decode_state(files | {name: data[:length]})
            assert "\n" not in str(caught.value)


@pytest.mark.parametrize("data", [b"[1]", b"{", b'{"a":' * 100_000, b"[" * 100_000, b"\xff\xfe{}"])
def test_values_that_are_no_plain_object_are_one_line(data: bytes) -> None:
    files = encode_state(TENSORS, {})
    with pytest.raises(DataError, match=VALUES_FILE) as caught:
        decode_state(files | {VALUES_FILE: data})
    assert "\n" not in str(caught.value)


def test_a_state_that_could_not_be_read_again_is_not_written() -> None:
    with pytest.raises(DataError, match=rf"{VALUES_FILE} has more than {MOST_JSON_BYTES} bytes"):
        encode_state({}, {"text": "x" * MOST_JSON_BYTES})
    with pytest.raises(DataError, match=rf"{TENSORS_FILE}: its header has more than"):
        encode_state({"x" * MOST_JSON_BYTES: torch.zeros(1)}, {})
