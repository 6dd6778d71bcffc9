"""The lines of a GUI as values: the UCI protocol of April 2006 and its usual additions.

Nothing here raises: what cannot be read is named in ``errors`` and left out, as engines do.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

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


@dataclass(frozen=True)
class SetOption:
    """``setoption``: name and value as written; "" for no value."""

    name: str
    value: str = ""


_NUMBERS = {
    "movestogo": "moves_to_go",
    "movetime": "movetime_ms",
    "depth": "depth",
    "nodes": "nodes",
    "mate": "mate",
    "perft": "perft",
}
_CLOCKS = ("wtime", "btime", "winc", "binc")
_FLAGS = ("infinite", "ponder")
_SEARCH_MOVES = "searchmoves"
_WORDS = {*_NUMBERS, *_CLOCKS, *_FLAGS, _SEARCH_MOVES}


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


def parse_set_option(words: Sequence[str]) -> SetOption | None:
    """``setoption`` from the words after it; None where it names no option."""
    if not words or words[0] != "name":
        return None
    cut = words.index("value") if "value" in words else len(words)
    name = " ".join(words[1:cut])
    return SetOption(name, " ".join(words[cut + 1 :])) if name else None


def parse_go(words: Sequence[str]) -> Go:
    """``go`` from the words after it."""
    go, errors = Go(), []
    rest = iter(words)
    word = next(rest, None)
    while word is not None:
        following: str | None = None
        if word == _SEARCH_MOVES:
            moves, following = _moves(rest)
            go = replace(go, search_moves=go.search_moves + moves)
        elif word in _FLAGS:
            go = replace(go, **{word: True})  # type: ignore[arg-type]
        elif word in _WORDS:
            given = next(rest, "")
            number = _number(given)
            if number is None:
                errors.append(f'go: {word} takes a number, not "{given}"; it is left out')
                following = given if given in _WORDS else None
            else:
                go = _with_number(go, word, number)
        else:
            errors.append(f'go: "{word}" is unknown and left out')
        word = following or next(rest, None)
    return replace(go, errors=tuple(errors))


def _moves(rest: Iterator[str]) -> tuple[tuple[str, ...], str | None]:
    """The words up to the next keyword of ``go``, and that one."""
    moves: list[str] = []
    for word in rest:
        if word in _WORDS:
            return tuple(moves), word
        moves.append(word)
    return tuple(moves), None


def _with_number(go: Go, word: str, number: int) -> Go:
    if word in _NUMBERS:
        return replace(go, **{_NUMBERS[word]: number})  # type: ignore[arg-type]
    side = int(word.startswith("b"))
    if word.endswith("time"):
        times = list(go.time_ms)
        times[side] = number
        return replace(go, time_ms=(times[0], times[1]))
    increments = list(go.increment_ms)
    increments[side] = max(0, number)
    return replace(go, increment_ms=(increments[0], increments[1]))


def _number(text: str) -> int | None:
    try:
        return max(-MOST, min(MOST, int(text)))
    except ValueError:
        return None
