"""JSON and TOML from untrusted files: plain values, or a ValueError with the reason.

The standard readers raise RecursionError for a few kilobytes of brackets, and make objects of
some twenty times the text's size, for TOML some five hundred times, and for a key with many dots
the square of its length. So texts that are too long or nested too deeply are refused.

Decision 179.
"""

import errno
import json
import os
import re
import stat
import sys
import tomllib
from collections.abc import Mapping
from io import BufferedReader
from pathlib import Path
from typing import Any

MOST_BYTES = 1 << 20
"""Limit of one document, or of one line of many. Those of vecchess have some kilobytes."""
MOST_TOML_BYTES = 1 << 18
MOST_LEVELS = 64
"""Limit of values within values. Those of vecchess have 6; Python's functions fail at hundreds."""
MOST_DOTS = 31
"""Limit of one key in TOML. Those of vecchess have one."""
_CHUNK_BYTES = 1 << 16
_TOO_DEEP = "it is nested too deeply"
_NESTS = (dict, list)
_STRINGS = re.compile(
    r"""  "{3} (?: [^"\\]+ | \\. | "(?!"") )*+ "{0,5}
        | '{3} (?: [^']+ | '(?!'') )*+ '{0,5}
        | "    (?: [^"\\\n]+ | \\. )*+ "?
        | '    [^'\n]*+ '?
        | \#   [^\n]*+
    """,
    re.VERBOSE | re.DOTALL,
)
"""Strings and comments of TOML, up to where ``tomllib`` would end or refuse them."""
_DOTTED = re.compile(rf"(?:\.[^.=,\n\[\]{{}}]*+){{{MOST_DOTS + 1}}}")
"""Too many dots in one key."""
_LONG_NUMBER = re.compile(r"\b0[box]\w{100}")
"""Python reads any number of such digits, but does not write them in decimal."""
_MOST_DIGITS = 18
_LARGEST = sys.float_info.max
MOST_NUMBER = 1e15
"""Larger numbers of a file that others may have written are neither counted nor drawn."""
Values = dict[str, Any]


class NotRegular(OSError):  # noqa: N818
    """A folder, a pipe or a device where a file should be: it is read in vain however often."""


def parse_json(data: bytes | str, most_bytes: int = MOST_BYTES) -> Any:
    """The value of a JSON text. Raises ValueError where it is not valid, too long or too deep."""
    _check_length(len(data), most_bytes)
    try:
        value = json.loads(data)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    _check_depth(value)
    return value


def parse_json_object(data: bytes | str, most_bytes: int = MOST_BYTES) -> dict[str, Any]:
    """The object of a JSON text; raises as ``parse_json``, and where it is another value."""
    value = parse_json(data, most_bytes)
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")
    return value


def parse_toml(data: bytes | str) -> dict[str, Any]:
    """The tables of a TOML text. Raises ValueError where it is not valid, too long or too deep."""
    _check_length(len(data), MOST_TOML_BYTES)
    text = data.decode() if isinstance(data, bytes) else data
    bare = _STRINGS.sub("''", text)
    if _DOTTED.search(bare):
        raise ValueError(f"it has a key with more than {MOST_DOTS} dots")
    if _LONG_NUMBER.search(bare):
        raise ValueError("it has a number of more than 100 digits")
    try:
        value = tomllib.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    _check_depth(value)
    return value


def read_bytes(path: Path, most_bytes: int = MOST_BYTES, of_any_kind: bool = False) -> bytes:
    """All bytes of a file. Raises ValueError for a longer file, OSError as ``open_regular``.

    of_any_kind: also a pipe or a device, for files named by users: ``<(...)``, /dev/stdin.
    """
    with path.open("rb") if of_any_kind else open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        _check_length(size, most_bytes)
        data = bytearray(file.read(size))
        while piece := file.read(_CHUNK_BYTES):  # pipes have no size, and files may grow
            data += piece
            _check_length(len(data), most_bytes)
        return bytes(data)


def open_regular(path: Path) -> BufferedReader:
    """An untrusted file, opened to be read. Raises OSError as ``open`` does, and NotRegular if it
    is no regular file: reading a named pipe among the files of a run would block."""
    try:
        return open(path, "rb", opener=_open_without_blocking)
    except ValueError as error:  # a name that no file can have
        raise FileNotFoundError(errno.ENOENT, str(error), str(path)) from None


def to_json_value(value: Any) -> Any:
    """``value`` in the types of JSON: null for a number that is no finite float, text for a date, a
    question mark for half a surrogate pair."""
    if isinstance(value, Mapping):
        return {encodable(str(name)): to_json_value(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_json_value(inner) for inner in value]
    if isinstance(value, int | float):
        return value if -_LARGEST <= value <= _LARGEST else None
    return None if value is None else encodable(str(value))


def is_number(value: object) -> bool:
    """Whether ``value`` is a number up to ``MOST_NUMBER``; true and false are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= MOST_NUMBER


def number(values: Values, key: str) -> float:
    """A number of ``values``; 0 where there is none."""
    value = values.get(key)
    return float(value) if value is not None and is_number(value) else 0.0


def text_of(values: Values, key: str) -> str:
    """A text of ``values``; "" where there is none."""
    value = values.get(key)
    return value if isinstance(value, str) else ""


def mapping(values: Values, key: str) -> Values:
    """An object of ``values``; {} where there is none."""
    value = values.get(key)
    return value if isinstance(value, dict) else {}


def mappings(values: Values, key: str) -> list[Values]:
    """The objects of a list of ``values``; [] where there is none."""
    value = values.get(key)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def encodable(text: str) -> str:
    """``text`` with a question mark for each character that UTF-8 cannot encode: half a surrogate
    pair, which JSON can contain, and which stands for odd bytes in names of files."""
    return text.encode("utf-8", "replace").decode()


def printable(text: str) -> str:
    """Untrusted text without what changes a terminal or hides its letters: escapes, controls and
    marks of direction become "?"; ends of lines and tabs stay."""
    if text.isprintable():
        return text
    return "".join(mark if mark.isprintable() or mark in "\n\t" else "?" for mark in text)


def is_count(text: str) -> bool:
    """Whether ``text`` is a whole number of at most 18 decimal digits: Python raises ValueError for
    one of thousands, and others have no room for it."""
    return text.isdecimal() and len(text) <= _MOST_DIGITS


def is_schema(found: object, schema: int) -> bool:
    """Whether a file has this schema: the number, not what Python takes for equal to it."""
    return type(found) is int and found == schema


def clip_line(text: object, most: int = 200) -> str:
    """Untrusted text as one line of at most so many characters."""
    line = " ".join(str(text).split())
    return line if len(line) <= most else f"{line[:most]} ..."


def _check_length(num_bytes: int, most_bytes: int) -> None:
    if num_bytes > most_bytes:
        raise ValueError(f"it has {num_bytes} bytes, {most_bytes} are the most")


def _check_depth(value: Any) -> None:
    level: list[Any] = [[value]]
    for _ in range(MOST_LEVELS + 1):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, _NESTS)
        ]
        if not level:
            return
    raise ValueError(_TOO_DEEP)


def _open_without_blocking(path: str, flags: int) -> int:
    file = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    raise NotRegular(errno.EINVAL, "it is no regular file")
