"""Files with one field at an extreme. The fields are found by reading the file itself: members and
cells of arrays, keys of JSON and TOML, tensors and their metadata, numbers in texts.

Decision 294."""

import copy
import io
import json
import re
import tomllib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import tomli_w
from numpy.typing import NDArray

from tests.fuzz.target import Target

Variant = tuple[str, bytes]
"""Which field has which value, and the file."""
LARGEST = 1.7976931348623157e308
VALUES: tuple[Any, ...] = (
    0, -1, float("nan"), float("inf"), -float("inf"), LARGEST, 2**31, 2**62, 2**63 - 1, 2**64,
    0.5, True, None, "", "\x1b]0;x\x07", [], {},
)  # fmt: skip
TEXTS = (b"", b"0", b"-1", b"nan", b"inf", b"1e999", b"9" * 20, b"9" * 5000)
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_DTYPES = {"I8": np.int8, "U8": np.uint8, "I32": np.int32, "F32": np.float32, "BF16": np.uint16,
           "I64": np.int64, "F64": np.float64, "F16": np.float16}  # fmt: skip


def variants(target: Target, data: bytes) -> Iterator[Variant]:
    """The file ``data`` of a target once with each field at each extreme."""
    if data[:2] == b"PK":
        yield from _of_npz(data)
    elif target.shape == "json":
        yield from ((where, text.encode()) for where, text in _of_json(data.decode()))
    elif target.shape == "lines":
        yield from _of_lines(data)
    elif data[8:9] == b"{":
        yield from _of_safetensors(data)
    elif b" = " in data and not data.startswith(b"["):
        yield from _of_toml(data)
    else:
        yield from _of_text(data)


def _of_json(text: str) -> Iterator[tuple[str, str]]:
    value = json.loads(text)
    for path in _paths(value):
        for where, changed in _changes(value, path, VALUES):
            yield where, json.dumps(changed)


def _of_toml(data: bytes) -> Iterator[Variant]:
    value = tomllib.loads(data.decode())
    for path in _paths(value):
        for where, changed in _changes(value, path, VALUES):
            with suppress(TypeError):  # TOML has no null, and its root is a table
                if isinstance(changed, dict):
                    yield where, tomli_w.dumps(changed).encode()


def _of_lines(data: bytes) -> Iterator[Variant]:
    lines = data.splitlines(keepends=True)
    for number, line in enumerate(lines):
        for where, text in _of_json(line.decode()):
            changed = [*lines[:number], text.encode() + b"\n", *lines[number + 1 :]]
            yield f"line {number}, {where}", b"".join(changed)
    for number in range(len(lines)):
        yield f"line {number} twice", b"".join([*lines[: number + 1], *lines[number:]])
        yield f"no line {number}", b"".join([*lines[:number], *lines[number + 1 :]])


def _of_text(data: bytes) -> Iterator[Variant]:
    for found in _NUMBER.finditer(data):
        first, end = found.span()
        for text in TEXTS:
            yield f"{found[0]!r} at {first}: {text[:20]!r}", data[:first] + text + data[end:]


def _of_npz(data: bytes) -> Iterator[Variant]:
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    for name, array in arrays.items():
        for what, changed in _of_array(array):
            yield f"{name}: {what}", _npz(arrays | {name: changed})
        yield f"no {name}", _npz({key: arrays[key] for key in arrays if key != name})


def _npz(arrays: dict[str, NDArray[Any]]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def _of_array(array: NDArray[Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    """Extremes in all cells, the first, the middle and the last; other lengths, types, orders."""
    places: tuple[Any, ...] = (..., 0, array.size // 2, -1) if array.size else ()
    for value in _extremes(array.dtype):
        for place in places:
            changed = array.copy()
            changed.reshape(-1)[place] = value
            yield f"[{place}] = {value!r}", changed
    yield "another type", array.astype("S8" if array.dtype.kind == "U" else np.complex64)
    yield (
        "a wider type",
        array.astype(f"<U{array.dtype.itemsize}" if array.dtype.kind == "U" else "f8"),
    )
    yield "one dimension more", array[..., None]
    if array.ndim:
        yield "empty", array[:0]
        yield "one less", array[:-1]
        yield (
            "one more",
            np.concatenate(
                [
                    array,
                    array[-1:] if len(array) else np.zeros_like(array, shape=(1, *array.shape[1:])),
                ]
            ),
        )
        yield "turned about", array[::-1]
        yield "neighbours exchanged", np.concatenate([array[1::-1], array[2:]])


def _extremes(dtype: np.dtype[Any]) -> list[Any]:
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return sorted({0, 1, limits.min, limits.max, limits.max // 2, -1 if limits.min else 0})
    if dtype.kind == "f":
        return [0.0, -1.0, np.nan, np.inf, -np.inf, np.finfo(dtype).max, np.finfo(dtype).tiny]
    return ["", "\x1b[2J", "\u202e"] if dtype.kind == "U" else []


def _of_safetensors(data: bytes) -> Iterator[Variant]:
    """Of the header, of the description within it, and of the tensors."""
    size = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + size]), data[8 + size :]
    for where, text in _of_json(json.dumps({k: v for k, v in header.items() if k[:2] != "__"})):
        with suppress(TypeError):
            yield (
                where,
                _safetensors(json.loads(text) | {"__metadata__": header["__metadata__"]}, body),
            )
    for key, said in header["__metadata__"].items():
        for where, text in _of_json(said):
            yield f"{key}{where}", _safetensors(header | {"__metadata__": {key: text}}, body)
    for name, facts in header.items():
        if name == "__metadata__":
            continue
        first, end = facts["data_offsets"]
        array = np.frombuffer(body[first:end], _DTYPES[facts["dtype"]])
        for what, changed in _of_array(array):
            if changed.shape == array.shape and changed.dtype == array.dtype:
                yield (
                    f"{name}: {what}",
                    _safetensors(header, body[:first] + changed.tobytes() + body[end:]),
                )


def _safetensors(header: Any, body: bytes) -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from _paths(value[key], (*path, key))


def _changes(value: Any, path: tuple[Any, ...], by: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    """``value`` with others at ``path``; a list also one shorter and longer, a key left out."""
    old = value
    for key in path:
        old = old[key]
    found = list(by)
    if isinstance(old, list) and old:
        found += [old[:-1], [*old, old[-1]], old[::-1]]
    for new in found:
        yield f"{path}: {str(new)[:60]!r}", _with(value, path, new)
    if path and isinstance(path[-1], str):
        yield f"no {path}", _with(value, path, _LEFT_OUT)


_LEFT_OUT = object()


def _with(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    changed = copy.deepcopy(value)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    if new is _LEFT_OUT:
        del inner[path[-1]]
    else:
        inner[path[-1]] = new
    return changed


@contextmanager
def no_warnings() -> Iterator[None]:
    """Warnings about numbers are errors within."""
    with warnings.catch_warnings():
        for kind in (RuntimeWarning, UserWarning):
            warnings.simplefilter("error", kind)
        yield
