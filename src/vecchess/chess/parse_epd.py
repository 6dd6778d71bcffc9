"""Lines of EPD and FEN files: a position, its clocks wherever they stand, and operations.

    4k3/8/8/8/8/8/8/R3K3 w Q - bm O-O-O Ra8+; hmvc 3; c0 "905 90 5"; id "endings.17";

An operation is a word and what follows up to the next ";" outside of quotes; where that is missing,
up to a word that names an operation with numbers or moves ("bm Rc8+ dm 26"). Clocks are the fifth
and sixth field, as in a FEN, or ``hmvc`` and ``fmvn``; 0 and 1 where there are none.
"""

import re
from typing import NamedTuple

from vecchess.errors import ConfigError
from vecchess.safe_parse import is_count

FIELDS = 4
_OPERATION = re.compile(r'\s*([^\s;"]+)((?:"[^"]*(?:"|$)|[^";])*)(?:;|$)')
_GLUED = re.compile(r"(?<=[wb] - -)(?=\d)")
"""Between no square of en passant and a clock that nothing separates from it."""
_NAMES = r"a[cm][dns]?|am|bm|c[e09]|dm|fmvn|hmvc|id|pm|pv|sm"
_JOINED = re.compile(rf"\s(?=(?:{_NAMES})\s)")
"""Where a next operation begins without a ";". ``c1`` to ``c8`` may be moves of a pawn."""


class EpdLine(NamedTuple):
    """A position and what is said about it."""

    fen: str
    operations: dict[str, str]
    """Operation -> its operands as they are written, but for quotes around all of them."""


def parse_epd(line: str) -> EpdLine:
    """The parts of a line; the position is not checked. Raises ConfigError for less than four
    fields."""
    fields = _GLUED.sub(" ", line).split(None, FIELDS)
    if len(fields) < FIELDS:
        raise ConfigError(f"it has {len(fields)} fields; a position has {FIELDS} or more")
    rest = fields[FIELDS] if len(fields) > FIELDS else ""
    if fields[FIELDS - 1].endswith(";"):
        fields[FIELDS - 1] = fields[FIELDS - 1].rstrip(";")
    clocks = re.match(r"(\d+)\s+(\d+)(?![^\s;])", rest)
    operations: dict[str, str] = {}
    for word, operands in _OPERATION.findall(rest[clocks.end() :] if clocks else rest):
        whole = f"{word} {operands.strip()}"
        parts = [whole] if '"' in operands else _JOINED.split(whole)
        for name, _, text in (part.partition(" ") for part in parts):
            operations.setdefault(name, _unquoted(text.strip()))
    half, full = clocks.groups() if clocks else (operations.get("hmvc"), operations.get("fmvn"))
    numbers = (_number(half, "0"), _number(full, "1"))
    return EpdLine(" ".join([*fields[:FIELDS], *numbers]), operations)


def _number(text: str | None, otherwise: str) -> str:
    return text if text and is_count(text) else otherwise


def _unquoted(operands: str) -> str:
    is_quoted = operands.startswith('"') and operands.find('"', 1) in (-1, len(operands) - 1)
    return operands.strip('"') if is_quoted else operands
