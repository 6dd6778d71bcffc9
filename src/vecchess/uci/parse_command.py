"""The lines of a GUI as values: the UCI protocol of April 2006 and its usual additions.

Nothing here raises: what cannot be read is named in ``errors`` and left out, as engines do.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

STARTPOS = "startpos"
MOST = 1 << 53
"""Larger numbers count as this one."""


@dataclass(frozen=True)
class Position:
    """``position``: a FEN or STARTPOS, and UCI moves from there."""

    fen: str = STARTPOS
    moves: tuple[str, ...] = ()


@dataclass(frozen=True)
class Go:
    """``go``: how long to search, and which moves. None and () where nothing was given.

    time_ms, increment_ms: of White and Black. moves_to_go: until the next time control.
    """

    time_ms: tuple[int | None, int | None] = (None, None)
    increment_ms: tuple[int, int] = (0, 0)
    moves_to_go: int | None = None
    movetime_ms: int | None = None
    depth: int | None = None
    nodes: int | None = None
    mate: int | None = None
    perft: int | None = None
    infinite: bool = False
    ponder: bool = False
    search_moves: tuple[str, ...] = ()
    errors: tuple[str, ...] = field(default=(), compare=False)


_NUMBERS = {
    "movestogo": "moves_to_go",
    "movetime": "movetime_ms",
    **dict.fromkeys(("wtime", "btime", "winc", "binc", "depth", "nodes", "mate", "perft")),
}
"""Word of ``go`` -> field of ``Go``, where it has another name."""
_FLAGS = ("infinite", "ponder")
_SEARCH_MOVES = "searchmoves"
_WORDS = {*_NUMBERS, *_FLAGS, _SEARCH_MOVES}


def split(line: str) -> tuple[str, list[str]]:
    """The verb of a line and the words after it; "" for an empty line or a comment."""
    words = line.split()
    return (words[0], words[1:]) if words and not words[0].startswith("#") else ("", [])


def parse_position(words: Sequence[str]) -> Position | None:
    """``position`` from the words after it; None where it names no position."""
    if not words or words[0] not in (STARTPOS, "fen"):
        return None
    cut = words.index("moves") if "moves" in words else len(words)
    moves = tuple(words[cut + 1 :])
    if words[0] == STARTPOS:
        return Position(STARTPOS, moves)
    return Position(" ".join(words[1:cut]), moves)


def parse_set_option(words: Sequence[str]) -> tuple[str, str] | None:
    """``setoption`` from the words after it: name and value as written, "" for no value; None where
    it names no option."""
    if not words or words[0] != "name":
        return None
    cut = words.index("value") if "value" in words else len(words)
    name = " ".join(words[1:cut])
    return (name, " ".join(words[cut + 1 :])) if name else None


def parse_go(words: Sequence[str]) -> Go:
    """``go`` from the words after it."""
    given: dict[str, Any] = {}
    moves, errors, rest = list[str](), list[str](), deque(words)
    while rest:
        word = rest.popleft()
        if word == _SEARCH_MOVES:
            while rest and rest[0] not in _WORDS:
                moves.append(rest.popleft())
        elif word in _FLAGS:
            given[word] = True
        elif word in _NUMBERS:
            text = rest.popleft() if rest and rest[0] not in _WORDS else ""
            number = _number(text)
            if number is None:
                errors.append(f'go: {word} takes a number, not "{text}"; it is left out')
            else:
                given[_NUMBERS[word] or word] = number
        else:
            errors.append(f'go: "{word}" is unknown and left out')
    times = (given.pop("wtime", None), given.pop("btime", None))
    increments = (max(0, given.pop("winc", 0)), max(0, given.pop("binc", 0)))
    return Go(times, increments, search_moves=tuple(moves), errors=tuple(errors), **given)


def _number(text: str) -> int | None:
    try:
        return max(-MOST, min(MOST, int(text)))
    except ValueError:
        return None
