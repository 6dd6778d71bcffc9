"""Reads ``metrics.jsonl``: lines are indexed by kind and place, and parsed only when wanted.

    {"schema": 1, "kind": "learn", "iteration": 3, ...

Indexing reads the kind of a line only, so that files of a million lines open quickly. Samples are
taken at distances that are powers of two, so that most stay the same while a file grows. Matches
are not sampled: pairings take turns, and a sample at even distances would never have some of them.

Decision 153.
"""

from array import array
from collections import OrderedDict
from pathlib import Path
from typing import Any

from vecchess.monitor.changing_file import LogTail
from vecchess.safe_parse import MOST_BYTES, open_regular, parse_json_object, to_json_value

PREFIX = b'{"schema": 1, "kind": "'
HEAD_BYTES = 40
"""Prefix and kind are within so many."""
MOST_KINDS = 64
"""Further kinds are ignored."""
MATCHES = ("eval", "gate")
"""Kinds with a line for each match."""
MOST_MATCHES = 1 << 14
"""Lines of such a kind at most; a training plays a few matches every some minutes."""
NUM_REMEMBERED = 16
"""Samples of so many (kind, most) are kept."""

Line = dict[str, Any]


class Series:
    """The measurements of a run. Returned lines are shared and must not be changed."""

    def __init__(self, path: Path) -> None:
        """The file is first read by ``refresh``, and need not exist."""
        self._tail = LogTail(path)
        self._places: dict[str, array[int]] = {}
        self._parsed: OrderedDict[tuple[str, int], dict[int, Line]] = OrderedDict()

    def refresh(self) -> None:
        """Index new lines."""
        if self._tail.was_replaced():
            self._places.clear()
            self._parsed.clear()
        for first, block in self._tail.blocks():
            self._index(first, block)

    @property
    def kinds(self) -> dict[str, int]:
        """Lines of each kind."""
        return {kind: len(places) for kind, places in self._places.items()}

    def lines(self, kind: str, most: int = 600) -> list[Line]:
        """At most so many lines of a kind (two at least), at even distances, the first and the last
        among them; of ``MATCHES`` all, up to ``MOST_MATCHES``. Lines that are damaged are left
        out."""
        return self._sampled(kind, MOST_MATCHES if kind in MATCHES else most)

    def ends(self, kind: str) -> list[Line]:
        """The first and the last line of a kind, or as many as there are."""
        return self._sampled(kind, 2)

    def last(self, kind: str) -> Line | None:
        """The newest line of a kind; None where there is none."""
        found = self.ends(kind)
        return found[-1] if found else None

    def _sampled(self, kind: str, most: int) -> list[Line]:
        places = self._places.get(kind)
        if not places:
            return []
        chosen = _sample(len(places), max(most, 2))
        before = self._parsed.pop((kind, most), {})
        found = {index: before[index] for index in chosen if index in before}
        missing = [index for index in chosen if index not in found]
        found |= self._read(kind, missing)
        self._parsed[kind, most] = found
        if len(self._parsed) > NUM_REMEMBERED:
            self._parsed.popitem(last=False)
        return [found[index] for index in chosen if index in found]

    def _index(self, first: int, block: memoryview) -> None:
        """Note where the lines of ``block`` begin, which begins at byte ``first``."""
        for line in bytes(block).splitlines(keepends=True):
            if line.startswith(PREFIX):
                head = line[len(PREFIX) : HEAD_BYTES]
                places = self._places_of(head.partition(b'"')[0].decode(errors="replace"))
                if places is not None:
                    places.append(first)
            first += len(line)

    def _places_of(self, kind: str) -> "array[int] | None":
        """Where the lines of a kind begin; None for one kind too many."""
        if kind not in self._places and len(self._places) < MOST_KINDS:
            self._places[kind] = array("q")
        return self._places.get(kind)

    def _read(self, kind: str, chosen: list[int]) -> dict[int, Line]:
        """Parse the lines of these numbers; those that changed since are left out."""
        if not chosen:
            return {}
        found, places = {}, self._places[kind]
        try:
            with open_regular(self._tail.path) as file:
                for index in chosen:
                    file.seek(places[index])
                    line = _parsed(file.readline(MOST_BYTES), kind)
                    if line is not None:
                        found[index] = line
        except OSError:
            pass
        return found


def _sample(count: int, most: int) -> list[int]:
    """Numbers below ``count``, every so-many-th, with the first and the last."""
    step = 1
    while -(-count // step) + 1 > most and count > most:
        step *= 2
    chosen = list(range(0, count, step))
    return chosen if chosen[-1] == count - 1 else [*chosen, count - 1]


def _parsed(text: bytes, kind: str) -> Line | None:
    try:
        line: Line = to_json_value(parse_json_object(text))
    except ValueError:
        return None
    return line if line.get("kind") == kind else None
