"""What a UCI engine says of a position: its ``info`` lines, read once its search has ended.

A search prints one report after the other. With MultiPV a report has several lines, numbered from
1. A search that its nodes end may leave the last report unfinished, or with bounds where scores
belong: the last report that is whole counts.

Decision 233.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from chess.engine import Cp, Mate, Score, Wdl

WDL_MODEL: Final = "sf15.1"
"""Win and draw by score and ply, for engines that do not give them: those of Stockfish 15.1
(``win_rate_model`` in its ``uci.cpp``, fitted to its own games), as python-chess has them."""
_SCORE = re.compile(r" score (cp|mate) (-?\d{1,9})(?!\d)( lowerbound| upperbound)?")
_RANK = re.compile(r" multipv (\d{1,4})")
_NODES = re.compile(r" nodes (\d{1,18})")
_WDL = re.compile(r" wdl (\d{1,9}) (\d{1,9}) (\d{1,9})")
_MOVE = re.compile(r" pv (\S+)")


@dataclass(frozen=True)
class EngineLine:
    """One line of a report. Point of view: the mover's."""

    move: str
    """Its first move, as the engine wrote it; "" where it gave none."""
    score: Score
    """Centipawns, or moves to mate."""
    wdl: Wdl | None = None
    """Win, draw and loss, where the engine gives them."""


@dataclass(frozen=True)
class EngineEvaluation:
    """How an engine rates a position. Point of view: the mover's."""

    nodes: int
    """Positions it looked at, above 0."""
    win: float
    """Probability, 0 to 1."""
    draw: float
    lines: tuple[EngineLine, ...] = ()
    """The last whole report, the best line first."""


def read_evaluation(infos: Sequence[str], ply: int, nodes: int) -> EngineEvaluation | None:
    """What the ``info`` lines of one search say; None where none has a score.

    Win and draw are the engine's own, else those of WDL_MODEL. ply: of the position. nodes: stand
    in where the engine does not report its own.
    """
    infos = [line.partition(" string ")[0] for line in infos]
    lines = tuple(map(_parse_line, _last_report(infos)))
    if not lines:
        return None
    wdl = lines[0].wdl or lines[0].score.wdl(model=WDL_MODEL, ply=ply)
    counted = next((found for line in reversed(infos) if (found := _NODES.search(line))), None)
    return EngineEvaluation(
        max(1, int(counted[1]) if counted else nodes),
        wdl.wins / wdl.total(),
        wdl.draws / wdl.total(),
        lines,
    )


def _last_report(infos: Sequence[str]) -> list[str]:
    """The lines of the last whole report, which has as many as any; bounds only where the engine
    gives nothing else."""
    scored = [(line, found[3]) for line in infos if (found := _SCORE.search(line))]
    takes_bounds = all(bound for _, bound in scored)
    whole: list[str] = []
    report: list[str] = []
    for line, bound in scored:
        rank = _RANK.search(line)
        place = int(rank[1]) if rank else 1
        if place == 1:
            report = []
        if place == len(report) + 1 and (takes_bounds or not bound):
            report.append(line)
            if len(report) >= len(whole):
                whole = report
    return whole


def _parse_line(line: str) -> EngineLine:
    score, wdl, move = _SCORE.search(line), _WDL.search(line), _MOVE.search(line)
    assert score
    kind = Cp if score[1] == "cp" else Mate
    outcomes = Wdl(*map(int, wdl.groups())) if wdl else None
    return EngineLine(
        move[1] if move else "",
        kind(int(score[2])),
        outcomes if outcomes and outcomes.total() else None,
    )
