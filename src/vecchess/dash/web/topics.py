"""Topics that a page can subscribe to: named in the address, and events of the same name.

"runs", "run/NAME", "series/NAME", "boards/NAME/16", "game/NAME/12"
"""

import re
from typing import Any

from vecchess.dash.views.game_values import game_view
from vecchess.dash.views.run_reader import RunReader
from vecchess.dash.views.run_values import newest, run_details, run_rows
from vecchess.errors import ConfigError

_RUN = r"[\w-](?:[\w.-]*[\w-])?"
"""A name as ``safe_name`` makes it."""
_TOPIC = re.compile(
    # few numbers of boards, so that clients share events
    rf"runs|(?:run|series)/{_RUN}|boards/{_RUN}/(?:16|32|64|128|256)|game/{_RUN}/\d{{1,15}}",
    re.ASCII,
)
MOST_TOPICS = 8
"""Topics of one page at most."""


def parse_topics(texts: list[str]) -> tuple[str, ...]:
    """The topics of a page. Raises ConfigError for none, too many, or an unknown one."""
    if not 0 < len(texts) <= MOST_TOPICS:
        raise ConfigError(f"a page takes 1 to {MOST_TOPICS} topics: ?t=runs, ?t=run/NAME, ...")
    for text in texts:
        if not _TOPIC.fullmatch(text):
            raise ConfigError(f"there is no topic {text[:80]!r}")
    return tuple(dict.fromkeys(texts))


def read_topic(topic: str, reader: RunReader) -> Any:
    """The topic's value now, plain. Raises DataError where run or game is gone."""
    kind, *rest = topic.split("/")
    if kind == "runs":
        return run_rows(reader.registry)
    name, view = rest[0], reader.registry.view(rest[0])
    if kind == "run":
        return run_details(name, view)
    if kind == "series":
        return newest(view.series)
    if kind == "game":
        return game_view(view, int(rest[1]))
    boards = reader.grids[name].boards(view)
    return {"total": len(boards), "boards": boards[: int(rest[1])]}


def keep_grids(topics: list[str], reader: RunReader) -> None:
    """Drop the grids of runs whose boards are not among ``topics``."""
    shown = {topic.split("/")[1] for topic in topics if topic.startswith("boards/")}
    for name in reader.grids.keys() - shown:
        del reader.grids[name]
