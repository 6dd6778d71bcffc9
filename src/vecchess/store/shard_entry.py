"""One line of the manifest: a shard, its checksum, the numbers of its games, counts over them.

In a training also the segments (``seating.py``) in which they ended, and a checksum of the file in
``cuts`` with the games that these segments left unfinished, whose name is the shard's.
"""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from vecchess.safe_parse import clip_line, parse_json_object
from vecchess.store.id_set import IdSet, Range, parse_steps
from vecchess.store.records import GameRecords
from vecchess.store.stats import GameStats

NAME = re.compile(r"\w[\w.-]{0,199}\.npz", re.ASCII)
"""It cannot leave its folder, nor name a file that is no shard."""
_SHA256 = re.compile("[0-9a-f]{64}")
LONGEST_LINE = 1 << 24
_KEYS = {"file", "sha256", "games", "stats"}
_OF_SEGMENTS = {"segments", "cut"}


@dataclass(frozen=True)
class ShardEntry:
    """One line of the manifest."""

    file: str
    sha256: str
    ids: IdSet
    """The numbers of its games."""
    stats: GameStats
    segments: IdSet = field(default_factory=IdSet)
    """The segments of a training in which its games ended; all are over."""
    cut: str = ""
    """sha256 of the file with the games that are unfinished; "" where a compaction dropped it."""

    @classmethod
    def of(cls, file: str, sha256: str, records: GameRecords) -> "ShardEntry":
        """The line of a shard with the games ``records``."""
        return cls(file, sha256, IdSet.of(records.numbers), GameStats.of(records))

    @property
    def age_span(self) -> Range:
        """The first and the end of its segments, or without any of its games: shards are old, and
        lie in generations, by these."""
        return (self.segments or self.ids).span

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as in a line of the manifest. Counts of zero are left out."""
        values = {
            "file": self.file,
            "sha256": self.sha256,
            "games": self.ids.steps,
            "stats": {name: count for name, count in self.stats.to_dict().items() if count},
        }
        if self.segments:
            values |= {"segments": self.segments.steps, "cut": self.cut}
        return values

    @classmethod
    def from_dict(cls, values: Any) -> "ShardEntry":
        """The inverse of ``to_dict``. Raises ValueError or TypeError for anything else."""
        return cls.from_dicts([values])[0]

    @classmethod
    def from_dicts(cls, values: Sequence[Any]) -> list["ShardEntry"]:
        """``from_dict`` of each of ``values``; many are checked in little time, field by field."""
        keys = (_KEYS, _KEYS | _OF_SEGMENTS)
        if not all(isinstance(each, dict) and each.keys() in keys for each in values):
            raise ValueError("a line has a file, its sha256, games and stats, and nothing else")
        files, sums = [each["file"] for each in values], [each["sha256"] for each in values]
        if not all(map(NAME.fullmatch, files)):
            raise ValueError(
                "a shard's name must not leave its folder: it is a word that ends in .npz"
            )
        if not all(map(_SHA256.fullmatch, sums)):
            raise ValueError("its sha256 is not one")
        stats = GameStats.from_dicts([each["stats"] for each in values])
        edges, counts = parse_steps([each["games"] for each in values])
        if counts != [each.games for each in stats]:
            raise ValueError("its games are not as many as its stats say")
        parts, _ = parse_steps([each.get("segments", []) for each in values])
        cuts = [each.get("cut", "") for each in values]
        if not all(cut == "" or _SHA256.fullmatch(cut) for cut in cuts):
            raise ValueError("the sha256 of its cut is not one")
        ids, segments = (map(IdSet.of_edges, each) for each in (edges, parts))
        return list(map(cls, files, sums, ids, stats, segments, cuts))


def parse_lines(lines: list[bytes], first: int = 1) -> list[ShardEntry]:
    """The entries of ``lines``. Raises ValueError that names the damaged one; ``first`` is the
    number of the first of them.

    They are parsed at once, in half the time; one by one only to find what is damaged.
    """
    with suppress(ValueError, TypeError, RecursionError):
        values = json.loads(b"[%b]" % b",".join(lines))
        if len(values) == len(lines):
            return ShardEntry.from_dicts(values)
    for number, line in enumerate(lines, first):
        try:
            ShardEntry.from_dict(parse_json_object(line, LONGEST_LINE))
        except (ValueError, TypeError) as error:
            raise ValueError(f"line {number} is damaged: {clip_line(error)}") from None
    raise ValueError("it has lines that are none")
