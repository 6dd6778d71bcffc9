"""Inputs made of others: bytes turned over, words and numbers exchanged, structure kept or not."""

import io
import json
import re
import zipfile
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from tests.fuzz.target import Shape

MOST_BYTES = 1 << 16
NUMBERS = (
    0,
    1,
    -1,
    2,
    7,
    8,
    63,
    64,
    127,
    128,
    255,
    256,
    4671,
    4672,
    32767,
    32768,
    65535,
    65536,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32,
    2**40,
    2**53,
    2**62,
    2**63 - 1,
    2**63,
    -(2**63),
    2**64,
    10**30,
    10**400,
)
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    "",
    "x",
    "../x",
    "/etc/passwd",
    "..",
    "a\0b",
    "\ud800",
    "\u202e",
    [],
    {},
    [[]],
    [0] * 100,
    {"kind": "x"},
    1.5,
    -0.0,
    5e-324,
    1e308,
    float("nan"),
    float("inf"),
    "9" * 5000,
    *NUMBERS,
)
KEYS = ("", "x", "schema", "kind", "1", "5", "999999999", "\0")
BRACKETS = (
    b"[" * 20_000,
    b"{" * 20_000,
    b'{"a":' * 9_000,
    b"(" * 20_000,
    b"[[" * 9_000 + b"]" * 9_000,
)
_NUMBER = re.compile(rb"-?\d+")
_WORD = re.compile(rb"[^\s,;:=\[\]{}()\"'/]+")


class Mutator:
    """Makes inputs of one shape, from a seed."""

    def __init__(self, shape: Shape, words: Sequence[bytes], seed: int) -> None:
        self.draw = Random(seed)
        self._shape, self._words = shape, words
        self._changes: tuple[Callable[[bytes], bytes], ...] = (
            self._bit,
            self._byte,
            self._integer,
            self._cut,
            self._double,
            self._insert,
            self._number,
            self._word,
            self._truncate,
            self._repeat,
            self._swap_words,
            self._nest,
        )

    def made_of(self, data: bytes, other: bytes) -> bytes:
        """An input made of ``data``, with a piece of ``other`` at times."""
        kind = self.draw.random()
        if kind < 0.08:
            made = self._spliced(data, other)
        elif kind < 0.35 or self._shape in ("bytes", "text"):
            made = self._changed(data)
        else:
            made = self._structured(data)
        return made[:MOST_BYTES]

    def _structured(self, data: bytes) -> bytes:
        try:
            if self._shape == "json":
                return self._json(data)
            if self._shape == "lines":
                return self._line(data)
            return self._zip(data)
        except Exception:  # it is damaged already, and has no structure any more
            return self._changed(data)

    def _changed(self, data: bytes) -> bytes:
        for _ in range(1 << self.draw.randrange(4)):
            data = self.draw.choice(self._changes)(data)[:MOST_BYTES]
        return data

    # bytes

    def _place(self, data: bytes) -> int:
        return self.draw.randrange(len(data) + 1)

    def _span(self, data: bytes) -> tuple[int, int]:
        first = self._place(data)
        return first, min(first + 1 + int(self.draw.expovariate(1 / 12)), len(data))

    def _bit(self, data: bytes) -> bytes:
        place = self._place(data)
        return (
            data[:place]
            + bytes(b ^ 1 << self.draw.randrange(8) for b in data[place : place + 1])
            + (data[place + 1 :])
        )

    def _byte(self, data: bytes) -> bytes:
        place = self._place(data)
        return data[:place] + bytes([self.draw.randrange(256)]) + data[place + 1 :]

    def _integer(self, data: bytes) -> bytes:
        """A number of 2, 4 or 8 bytes, in either order."""
        width, order = self.draw.choice((2, 4, 8)), self.draw.choice(("little", "big"))
        place, value = self._place(data), self.draw.choice(NUMBERS) % (1 << 8 * width)
        return data[:place] + value.to_bytes(width, order) + data[place + width :]  # type: ignore[arg-type]

    def _cut(self, data: bytes) -> bytes:
        first, end = self._span(data)
        return data[:first] + data[end:]

    def _double(self, data: bytes) -> bytes:
        first, end = self._span(data)
        place = self._place(data)
        return data[:place] + data[first:end] + data[place:]

    def _insert(self, data: bytes) -> bytes:
        place = self._place(data)
        word = self.draw.choice(self._words) if self._words else self.draw.randbytes(4)
        return data[:place] + word + data[place:]

    def _number(self, data: bytes) -> bytes:
        return self._replaced(_NUMBER, data, str(self.draw.choice(NUMBERS)).encode())

    def _word(self, data: bytes) -> bytes:
        return self._replaced(_WORD, data, self.draw.choice(self._words or (b"x", b"")))

    def _replaced(self, pattern: re.Pattern[bytes], data: bytes, by: bytes) -> bytes:
        found = list(pattern.finditer(data[: 1 << 12]))
        if not found:
            return data
        first, end = self.draw.choice(found).span()
        return data[:first] + by + data[end:]

    def _truncate(self, data: bytes) -> bytes:
        return data[: self._place(data)]

    def _repeat(self, data: bytes) -> bytes:
        first, end = self._span(data)
        times = 1 << self.draw.randrange(1, 14 if self.draw.random() < 0.01 else 4)
        return data[:end] + data[first:end] * times + data[end:]

    def _swap_words(self, data: bytes) -> bytes:
        parts = data.split(self.draw.choice((b" ", b"\n", b",")), 200)
        if len(parts) < 2:
            return data
        one, other = self.draw.randrange(len(parts)), self.draw.randrange(len(parts))
        parts[one], parts[other] = parts[other], parts[one]
        return self.draw.choice((b" ", b"\n", b",")).join(parts)

    def _nest(self, data: bytes) -> bytes:
        if self.draw.random() > 0.01:
            return self._insert(data)
        place = self._place(data)
        return data[:place] + self.draw.choice(BRACKETS) + data[place:]

    def _spliced(self, data: bytes, other: bytes) -> bytes:
        first, end = sorted((self._place(other), self._place(other)))
        place = self._place(data)
        return data[:place] + other[first:end] + data[place:]

    # structures

    def _json(self, data: bytes) -> bytes:
        value = json.loads(data)
        for _ in range(self.draw.randrange(1, 4)):
            value = self._grafted(value)
        text = json.dumps(value)
        return text.encode("utf-8", "replace")

    def _grafted(self, value: Any) -> Any:
        """``value`` with something else somewhere in it."""
        inner: list[Any] = []
        if isinstance(value, dict | list):
            inner = list(value if isinstance(value, dict) else range(len(value)))
        if not inner or self.draw.random() < 0.2:
            return self.draw.choice(VALUES)
        key = self.draw.choice(inner)
        copy: Any = dict(value) if isinstance(value, dict) else list(value)
        kind = self.draw.random()
        if kind < 0.1:
            del copy[key]
        elif kind < 0.2 and isinstance(copy, dict):
            copy[self.draw.choice(KEYS)] = copy.pop(key)
        elif kind < 0.3:
            copy[key] = copy[self.draw.choice(inner)]
        else:
            copy[key] = self._grafted(copy[key])
        return copy

    def _line(self, data: bytes) -> bytes:
        lines = data.split(b"\n")
        place = self.draw.randrange(len(lines))
        change = self._json if self.draw.random() < 0.8 else self._changed
        lines[place] = change(lines[place])
        return b"\n".join(lines)

    def _zip(self, data: bytes) -> bytes:
        """The same archive with another member, sums and sizes right."""
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [
                (info.filename, info.compress_type, archive.read(info))
                for info in archive.infolist()
            ]
        for _ in range(self.draw.randrange(1, 3)):
            place = self.draw.randrange(len(members))
            name, kind, inner = members[place]
            if self.draw.random() < 0.05:
                del members[place]
            elif self.draw.random() < 0.05:
                members.append(
                    (self.draw.choice((name, "x.npy", "../x.npy", "a" * 300)), kind, inner)
                )
            else:
                members[place] = (name, kind, self._member(inner))
            if not members:
                break
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, kind, inner in members:
                archive.writestr(zipfile.ZipInfo(name), inner, kind)
        return buffer.getvalue()

    def _member(self, data: bytes) -> bytes:
        """What is behind an npy header changed without its length, or anything."""
        if not data.startswith(b"\x93NUMPY") or self.draw.random() < 0.3:
            return self._changed(data)
        head, body = data[:128], data[128:]
        if not body:
            return self._changed(data)
        for _ in range(self.draw.randrange(1, 4)):
            change = self.draw.choice((self._bit, self._byte, self._integer))
            body = change(body)[: len(body)].ljust(len(body), b"\0")
        return head + body
