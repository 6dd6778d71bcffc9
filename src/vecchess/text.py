"""JSON and TOML that anybody may have written: plain values, or a ValueError that says why not.

The standard readers raise RecursionError for a few kilobytes of brackets, and make objects of
some twenty times the text's size: so what is nested too deeply is refused, and what is too long.
"""

import json
import math
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MOST_BYTES = 1 << 20
"""Of one document, or of one line of many. Ours have some kilobytes."""
_TOO_DEEP = "it is nested too deeply"


def json_of(data: bytes | str, most_bytes: int = MOST_BYTES) -> Any:
    """The value of a JSON text. Raises ValueError where it is none, too long or too deep."""
    _check_length(len(data), most_bytes)
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def json_object(data: bytes | str, most_bytes: int = MOST_BYTES) -> dict[str, Any]:
    """As ``json_of``, for a text that has to be an object."""
    value = json_of(data, most_bytes)
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")
    return value


def toml_of(data: bytes | str) -> dict[str, Any]:
    """The tables of a TOML text. Raises ValueError where it is none, too long or too deep."""
    _check_length(len(data), MOST_BYTES)
    try:
        return tomllib.loads(data.decode() if isinstance(data, bytes) else data)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def contents(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """All bytes of a file. Raises ValueError where there are more, OSError as ``open`` does."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        _check_length(size, most_bytes)
        return file.read(size)


def plain(value: Any) -> Any:
    """``value`` as JSON can say it: null for a number that is not finite, text for a date."""
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def clipped(text: object, most: int = 200) -> str:
    """One line of at most so many characters, of what somebody else has written."""
    line = " ".join(str(text).split())
    return line if len(line) <= most else f"{line[:most]} ..."


def _check_length(num_bytes: int, most_bytes: int) -> None:
    if num_bytes > most_bytes:
        raise ValueError(f"it has {num_bytes} bytes, {most_bytes} are the most")
