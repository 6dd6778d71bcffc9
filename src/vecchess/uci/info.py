"""``info`` and ``bestmove`` lines."""

from collections.abc import Mapping, Sequence
from math import tan
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vecchess.search.principal_variations import Line

ScoreType = str
CENTIPAWN_SLOPE = 1.5637541897
"""lc0: 90 * tan(1.5637541897 * (win - loss)), in its search/classic/search.cc."""
CENTIPAWN_UNIT = 90
NO_MOVE = "(none)"
"""The move of a side without legal moves, as Stockfish writes it."""


def score(line: "Line", kind: ScoreType, show_wdl: bool) -> str:
    """``score`` and what follows it, for the side to move."""
    words = f"score mate {line.mate}" if line.mate is not None else f"score cp {points(line, kind)}"
    return f"{words} {wdl(line)}" if show_wdl else words


def points(line: "Line", kind: ScoreType) -> int:
    """A score of the given type, named as in lc0: cp, or 1/100 % or 1/10,000."""
    estimate = line.estimate
    balance = estimate.win - estimate.loss
    if kind == "win_percentage":
        return round(5000 * (1 + balance))
    if kind == "Q":
        return round(10_000 * estimate.value)
    if kind == "W-L":
        return round(10_000 * balance)
    return round(CENTIPAWN_UNIT * tan(CENTIPAWN_SLOPE * balance))


def wdl(line: "Line") -> str:
    """Wins, draws and losses in 1/1000, which sum to 1000."""
    win, loss = round(1000 * line.estimate.win), round(1000 * line.estimate.loss)
    loss = min(loss, 1000 - win)
    return f"wdl {win} {1000 - win - loss} {loss}"


def info_line(
    figures: Mapping[str, int],
    line: "Line",
    rank: int,
    moves: Sequence[str],
    kind: ScoreType,
    show_wdl: bool,
) -> str:
    """One ``info`` line: the move of rank ``rank``, from 1, and what follows it.

    figures: of ``SearchSnapshot.figures``, the depths first.
    """
    words = [f"{name} {value}" for name, value in figures.items()]
    said = score(line, kind, show_wdl)
    return (
        f"info {' '.join(words[:2])} multipv {rank} {said} {' '.join(words[2:])} "
        f"pv {' '.join(moves)}"
    )


def best_move(moves: Sequence[str]) -> str:
    """``bestmove``, with the reply that is expected, if there is one."""
    if not moves:
        return f"bestmove {NO_MOVE}"
    return f"bestmove {moves[0]}" + (f" ponder {moves[1]}" if len(moves) > 1 else "")
