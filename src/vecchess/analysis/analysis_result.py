"""The result of an analysis: lines with the names of their moves, and figures of the search."""

from dataclasses import asdict, dataclass
from typing import Any

from vecchess.search.principal_variations import Line, WdlEstimate

SCHEMA = 1
ENDS = ("simulations", "proof", "seconds", "SIGINT")
"""Why a search ended: all simulations done, the result proven, the time limit, or a signal."""


@dataclass(frozen=True)
class Variation:
    """A line, and its moves in UCI and in SAN."""

    line: Line
    moves: tuple[str, ...]
    """UCI"""
    san: tuple[str, ...]


@dataclass(frozen=True)
class Analysis:
    """The analysis of a position, at the end of its search or during it."""

    fen: str
    best: tuple[str, str]
    """The move to play, UCI and SAN."""
    variations: list[Variation]
    estimate: WdlEstimate
    simulations: int
    seconds: float
    nodes: int
    unexpanded: int
    """Positions whose moves did not fit into the tree."""
    mean_depth: float
    cache_hit_rate: float
    evaluations: int
    """Positions that the network evaluated."""
    mean_time_steps: float
    """Mean over these evaluations."""
    lanes: int
    stopped_by: str = ""
    """One of ``ENDS``, or "" during the search."""

    @property
    def simulations_per_s(self) -> float:
        """Simulations a second so far."""
        return self.simulations / max(self.seconds, 1e-9)

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON. Point of view: the side to move."""
        estimate = self.estimate
        return {
            "schema": SCHEMA,
            "fen": self.fen,
            "best": {"uci": self.best[0], "san": self.best[1]},
            "wdl": [round(share, 6) for share in (estimate.win, estimate.draw, estimate.loss)],
            "visits": self.simulations,
            "lines": [_variation_facts(variation) for variation in self.variations],
            "simulations": self.simulations,
            "simulations_per_s": round(self.simulations_per_s, 1),
            "seconds": round(self.seconds, 4),
            "nodes": self.nodes,
            "unexpanded": self.unexpanded,
            "mean_depth": round(self.mean_depth, 3),
            "cache_hit_rate": round(self.cache_hit_rate, 4),
            "evaluations": self.evaluations,
            "mean_time_steps": round(self.mean_time_steps, 3),
            "lanes": self.lanes,
            "stopped_by": self.stopped_by,
        }


def _variation_facts(variation: Variation) -> dict[str, Any]:
    line = variation.line
    proven = {1: "win", 0: None, -1: "loss"}[line.outcome]
    return {
        "moves": list(variation.moves),
        "san": list(variation.san),
        "visits": line.visits,
        **{name: round(share, 6) for name, share in asdict(line.estimate).items()},
        "prior": round(line.prior, 6),
        "proven": proven,
        "mate": line.mate,
        "depth": len(line.actions),
    }
