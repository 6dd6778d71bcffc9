"""JSON and TOML that anybody may have written: plain values, or a ValueError that says why not.

The standard readers raise RecursionError for a few kilobytes of brackets, and make objects of
some twenty times the text's size, or of TOML some five hundred times, and of a key with many dots
the square of its length: so what is nested too deeply is refused, and what is too long.
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
"""Of one document, or of one line of many. Ours have some kilobytes."""
MOST_TOML_BYTES = 1 << 18
MOST_LEVELS = 64
"""Of values within values. Ours have 6; Python's own functions give up at some hundreds."""
MOST_DOTS = 31
"""Of one key in TOML. Ours have one."""
_PIECE = 1 << 16
_TOO_DEEP = "it is nested too deeply"
_NESTS = (dict, list)
_WORDS = re.compile(
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
"""Too many dots with nothing between them but parts of a key."""
_LONG_NUMBER = re.compile(r"\b0[box]\w{100}")
"""Python reads any number of such digits, and then refuses to write them in decimal."""
_LARGEST = sys.float_info.max


def parse_json(data: bytes | str, most_bytes: int = MOST_BYTES) -> Any:
    """The value of a JSON text. Raises ValueError where it is none, too long or too deep."""
    _check_length(len(data), most_bytes)
    try:
        value = json.loads(data)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    _check_depth(value)
    return value


def parse_json_object(data: bytes | str, most_bytes: int = MOST_BYTES) -> dict[str, Any]:
    """As ``parse_json``, for a text that has to be an object."""
    value = parse_json(data, most_bytes)
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")
    return value


def parse_toml(data: bytes | str) -> dict[str, Any]:
    """The tables of a TOML text. Raises ValueError where it is none, too long or too deep."""
    _check_length(len(data), MOST_TOML_BYTES)
    text = data.decode() if isinstance(data, bytes) else data
    bare = _WORDS.sub("''", text)
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

    of_any_kind: it may be a pipe or a device, as what people name is: ``<(...)``, /dev/stdin.
    """
    with path.open("rb") if of_any_kind else open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        _check_length(size, most_bytes)
        data = bytearray(file.read(size))
        while piece := file.read(_PIECE):  # pipes have no size, and files may grow
            data += piece
            _check_length(len(data), most_bytes)
        return bytes(data)


def open_regular(path: Path) -> BufferedReader:
    """A file of somebody else's, opened to be read. Raises OSError as ``open`` does, and for what
    is none: a named pipe among the files of a run would be waited for without end."""
    return open(path, "rb", opener=_open_at_once)


def to_json_value(value: Any) -> Any:
    """``value`` as JSON in UTF-8 can say it: null for a number that is no finite float, text for a
    date, and a question mark for half a surrogate pair."""
    if isinstance(value, Mapping):
        return {encodable(str(name)): to_json_value(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_json_value(inner) for inner in value]
    if isinstance(value, int | float):
        return value if -_LARGEST <= value <= _LARGEST else None
    return None if value is None else encodable(str(value))


def encodable(text: str) -> str:
    """``text`` with a question mark for each character that UTF-8 does not have: half a surrogate
    pair, which JSON can spell, and which stands for odd bytes in the names of files."""
    return text.encode("utf-8", "replace").decode()


def clip_line(text: object, most: int = 200) -> str:
    """One line of at most so many characters, of what somebody else has written."""
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


def _open_at_once(path: str, flags: int) -> int:
    file = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    raise OSError(errno.EINVAL, "it is no regular file")
