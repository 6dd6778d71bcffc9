"""Tables of ``vecchess eval`` and ``vecchess compare``."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from vecchess.evaluate.checkpoint_ratings import RatingHistory
from vecchess.evaluate.milestones import milestones
from vecchess.evaluate.pair_result import joint_counts

if TYPE_CHECKING:
    from rich.console import Console

    from vecchess.evaluate.compare_evaluations import Comparison
    from vecchess.evaluate.evaluation import EvaluationReport
    from vecchess.evaluate.participant import Participant

NOTHING = ""
LONG_HEAD = 16


def show_found(console: "Console", found: "EvaluationReport | RatingHistory") -> None:
    """Tables of an evaluation, or of the history of a run."""
    if isinstance(found, RatingHistory):
        show_history(console, found)
    else:
        show_evaluation(console, found)


def show_evaluation(console: "Console", evaluation: "EvaluationReport") -> None:
    """All players by strength, and for each that is rated its scores and milestones."""
    _print(console, _ratings(evaluation, evaluation.rated))
    console.print(_footnote(evaluation))
    for player in evaluation.rated:
        table = _milestones(evaluation, player)
        if table.row_count:
            _print(console, table)
    _warn(console, evaluation)


def show_history(console: "Console", history: RatingHistory) -> None:
    """The curve, and the ladder it is measured by."""
    evaluation = history.evaluation
    table = _table("samples", "network", "Elo", "95 %", "gain", "95 %", "LOS")
    for number, point in enumerate(history.curve):
        rating, gain, samples = point.rating, point.gain, point.checkpoint.samples
        gains = [f"{gain.elo:+.0f}", _interval(gain.low, gain.high), f"{gain.los:.1%}"]
        _add(
            table,
            NOTHING if samples is None else f"{samples:,}",
            rating.first,
            f"{rating.elo:.0f}",
            _interval(rating.low, rating.high),
            *(gains if number else [NOTHING] * 3),
        )
    _print(console, table)
    own = {one.name for one in evaluation.rated}
    _print(console, _ratings(evaluation, (), leave_out=own))
    console.print(_footnote(evaluation))
    _warn(console, evaluation)


def show_comparison(console: "Console", comparison: "Comparison") -> None:
    """Ratings, scores against the same opponents side by side, and differences."""
    evaluation = comparison.evaluation
    _print(console, _ratings(evaluation, (), found_in=comparison.found_in))
    console.print(_footnote(evaluation))
    _print(console, _scores(comparison))
    table = _table("player", "above", "Elo", "95 %", "LOS")
    for one in comparison.differences:
        interval = _interval(one.low, one.high)
        _add(table, one.first, one.second, f"{one.elo:+.0f}", interval, f"{one.los:.1%}")
    if comparison.differences:
        _print(console, table)
    _warn(console, evaluation)


def _ratings(
    evaluation: "EvaluationReport",
    rated: Sequence["Participant"],
    leave_out: Collection[str] = (),
    found_in: dict[str, list[str]] | None = None,
) -> Table:
    """Players by strength; columns of scores and LOS for those ``rated``."""
    ratings = evaluation.ratings
    heads = _score_heads(rated) + (["in"] if found_in else [])
    table = _table("player", "Elo", "95 %", "games", *heads)
    names = {one.name: one for one in evaluation.participants}
    for row in ratings.to_dict()["ratings"]:
        if row["player"] in leave_out:
            continue
        other = names[row["player"]]
        cells = [cell for one in rated for cell in _against(evaluation, one, other)]
        if found_in:
            cells.append(", ".join(found_in.get(other.name, [])))
        bounds = _interval(row["elo_low"], row["elo_high"])
        is_anchor = other.name == ratings.anchor
        _add(
            table, other.name, f"{row['elo']:.0f}", NOTHING if is_anchor else bounds,
            f"{row['games']:,}", *cells, style="bold" if other in rated else "",
        )  # fmt: skip
    return table


def _against(evaluation: "EvaluationReport", one: "Participant", other: "Participant") -> list[str]:
    """Score of ``one`` in its games against ``other``, interval, and LOS by all games."""
    if one == other:
        return [NOTHING] * 3
    los = f"{evaluation.ratings.difference(one.name, other.name).los:.1%}"
    counts = joint_counts(evaluation.results, one.identity, other.identity)
    if counts is None:
        return [NOTHING, NOTHING, los]
    score = counts.score
    low, high = score.interval
    return [f"{score.score:.1%}", f"{low:.1%} .. {high:.1%}", los]


def _score_heads(rated: Sequence["Participant"]) -> list[str]:
    """Headings of three columns for each player; its name without the part that all share stands
    above the first."""
    words = [one.name.split() for one in rated]
    while len(words) > 1 and len({tuple(name[:1]) for name in words}) == 1:
        words = [name[1:] for name in words]
    heads = [" ".join(name) for name in words] if len(words) > 1 else ["its"] * len(words)
    return [text for head in heads for text in (f"{head} score", "95 %", "LOS")]


def _scores(comparison: "Comparison") -> Table:
    """A row for each opponent, a column for each player: points a game."""
    rated = comparison.evaluation.rated
    table = _table("score against", *(one.name for one in rated))
    for opponent in comparison.opponents:
        cells = [comparison.score(one, opponent) for one in rated]
        told = [NOTHING if cell is None else f"{cell[0]:.1%} of {cell[1]:,}" for cell in cells]
        _add(table, opponent.name, *told)
    return table


def _milestones(evaluation: "EvaluationReport", player: "Participant") -> Table:
    table = _table("milestones" if len(evaluation.rated) == 1 else player.name, "is at", "95 %", "")
    table.columns[3].justify = "left"
    for mark in milestones(player, evaluation.results, evaluation.ratings):
        if mark.target < 1:
            value, bounds = f"{mark.value:.1%}", f"{mark.low:.1%} .. {mark.high:.1%}"
        else:
            value, bounds = f"{mark.value:.0f}", _interval(mark.low, mark.high)
        _add(table, mark.name, value, bounds, mark.state)
    return table


def _footnote(evaluation: "EvaluationReport") -> Text:
    ratings = evaluation.ratings
    games = sum(result.games for result in evaluation.results)
    words = (
        f"{ratings.anchor} is 0 by definition; {games:,} games, and a prior that weighs like "
        f"{ratings.virtual_draws:,} drawn ones"
    )
    return Text(words, style="dim")


def _warn(console: "Console", evaluation: "EvaluationReport") -> None:
    for line in evaluation.warnings:
        console.print(Text(f"warning: {line}"))


def _interval(low: float, high: float) -> str:
    return f"{round(low)} .. {round(high)}"


def _table(*heads: str) -> Table:
    """A table with texts to the left and figures to the right."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    words = ("player", "network", "above", "score against", "milestones", "in")
    for number, head in enumerate(heads):
        is_words = head in words or (number == 0 and head != "samples")
        may_fold = is_words or len(head) > LONG_HEAD
        table.add_column(
            Text(head), justify="left" if is_words else "right", no_wrap=not may_fold,
            overflow="fold",
        )  # fmt: skip
    return table


def _print(console: "Console", table: Table) -> None:
    """An empty line, and the table."""
    console.print()
    console.print(table)


def _add(table: Table, *cells: str, style: str = "") -> None:
    table.add_row(*map(Text, cells), style=style)
