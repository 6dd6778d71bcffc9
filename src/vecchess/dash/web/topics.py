"""Topics that a page can subscribe to: named in the address, and events of the same name."""

from dataclasses import dataclass
from typing import Any

from vecchess.dash.views.game_values import game_view
from vecchess.dash.views.run_reader import RunReader, safe_name
from vecchess.dash.views.run_values import newest, run_details, run_rows
from vecchess.errors import ConfigError

BOARDS = (16, 32, 64, 128, 256)
"""Numbers of boards in an event; few choices, so that clients share events."""
MOST_TOPICS = 8
"""Topics of one page at most."""


@dataclass(frozen=True)
class Topic:
    """ "runs", "run/NAME", "series/NAME", "boards/NAME/16", "game/NAME/12"."""

    kind: str
    run: str = ""
    number: int = 0

    @classmethod
    def parse(cls, text: str) -> "Topic":
        """The topic named ``text``. Raises ConfigError where there is none."""
        kind, *rest = text.split("/")
        named = bool(rest) and rest[0] != "" and safe_name(rest[0]) == rest[0]
        if kind == "runs" and not rest:
            return cls(kind)
        if kind in ("run", "series") and len(rest) == 1 and named:
            return cls(kind, rest[0])
        if kind in ("boards", "game") and len(rest) == 2 and named and is_number(rest[1]):
            topic = cls(kind, rest[0], int(rest[1]))
            if kind == "game" or topic.number in BOARDS:
                return topic
        raise ConfigError(f"there is no topic {text[:80]!r}")

    @property
    def text(self) -> str:
        """The name of the topic."""
        parts = [self.kind, self.run, str(self.number)]
        return "/".join(parts[: {"runs": 1, "run": 2, "series": 2}.get(self.kind, 3)])

    def value(self, reader: RunReader) -> Any:
        """The topic's value now, plain. Raises DataError where run or game is gone."""
        if self.kind == "runs":
            return run_rows(reader.registry)
        view = reader.registry.view(self.run)
        if self.kind == "run":
            return run_details(self.run, view)
        if self.kind == "series":
            return newest(view.series)
        if self.kind == "game":
            return game_view(view, self.number)
        boards = reader.grids.grid(self.run).boards(view)
        return {"total": len(boards), "boards": boards[: self.number]}


def parse_topics(texts: list[str]) -> tuple[Topic, ...]:
    """The topics of a page. Raises ConfigError for none, too many, or an unknown one."""
    if not 0 < len(texts) <= MOST_TOPICS:
        raise ConfigError(f"a page takes 1 to {MOST_TOPICS} topics: ?t=runs, ?t=run/NAME, ...")
    return tuple(dict.fromkeys(Topic.parse(text) for text in texts))


def is_number(text: str) -> bool:
    """Whether ``text`` is a count: digits, and not so many that ``int`` refuses them."""
    return text.isascii() and text.isdecimal() and len(text) <= 15
