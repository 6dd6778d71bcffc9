"""The ladder: fixed opponents from the weakest up, which networks are rated against.

Counts of nodes make Stockfish the same on every machine. Its limited strengths get nodes as well,
enough for the depths at which they choose (its ``search.cpp``: 1 + skill level, which is 0 and 4
here); ``UCI_Elo`` is a name, no rating: it was calibrated with a clock, against engines.

Decisions 142 and 147.
"""

from collections.abc import Callable, Sequence

from vecchess.errors import ConfigError
from vecchess.runtime.engines.uci_client import UciEngine, find_engine
from vecchess.runtime.reporting import ReportLine

LADDER = "ladder"
"""Stands for all of them where opponents are named."""
ENGINE = "stockfish"
SIMPLE_RUNGS = ("random", "greedy", "minimax:2", "minimax:3")
NODES = (1, 100, 1000)
ELO_STEP = 500
"""From the lowest limited strength to the other."""
ELO_NODES = 2000, 5000
"""Nodes a move of the lowest strength and of the other."""


def simple_ladder() -> list[str]:
    """The lower part, which needs nothing installed: spellings."""
    return list(SIMPLE_RUNGS)


def whole_ladder(report_line: ReportLine) -> list[str]:
    """All of it, as far as it can play here; ``report_line`` gets what is left out and why."""
    try:
        return [*SIMPLE_RUNGS, *_engine_rungs()]
    except ConfigError as error:
        report_line(f"the ladder ends at {SIMPLE_RUNGS[-1]}: {error}")
        return simple_ladder()


def _engine_rungs() -> list[str]:
    """Spellings of Stockfish's rungs; raises ConfigError where it is not installed."""
    with UciEngine(find_engine(ENGINE)) as engine:
        option = engine.options.get("UCI_Elo")
    by_nodes = [f"uci:{ENGINE}?nodes={nodes}&hash=1" for nodes in NODES]
    if option is None or option.min is None:
        return by_nodes
    weak, strong = (
        f"uci:{ENGINE}?elo={option.min + step}&nodes={nodes}&hash=1"
        for step, nodes in zip((0, ELO_STEP), ELO_NODES, strict=True)
    )
    return [weak, by_nodes[0], strong, *by_nodes[1:]]


def list_opponents(against: Sequence[str], ladder: Callable[[], list[str]]) -> list[str]:
    """Spellings in the order given, each once; "ladder", or an empty list, stands for the rungs of
    ``ladder``."""
    named = [
        rung for text in against or [LADDER] for rung in (ladder() if text == LADDER else [text])
    ]
    return list(dict.fromkeys(named))
