"""Tables of ``vecchess eval`` and ``vecchess compare``."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from vecchess.evaluate.milestones import milestones
from vecchess.evaluate.pair_result import joint_counts
from vecchess_cli.output import print_rows

if TYPE_CHECKING:
    from rich.console import Console

    from vecchess.evaluate.checkpoint_ratings import RatingHistory
    from vecchess.evaluate.compare_evaluations import Comparison
    from vecchess.evaluate.evaluation import EvaluationReport
    from vecchess.evaluate.participant import Participant

NOTHING = ""


def show_evaluation(console: "Console", evaluation: "EvaluationReport") -> None:
    """All players by strength, and for each that is rated its scores and milestones."""
    _show_ratings(console, evaluation, evaluation.rated)
    for player in evaluation.rated:
        _show_milestones(console, evaluation, player)
    _warn(console, evaluation)


def show_history(console: "Console", history: "RatingHistory") -> None:
    """The curve, and the ladder it is measured by."""
    evaluation = history.evaluation
    rows = []
    costs = [point.checkpoint.cost for point in history.curve]
    unit = next((cost.unit for cost in reversed(costs) if cost), NOTHING)
    for number, point in enumerate(history.curve):
        rating, gain, samples = point.rating, point.gain, point.checkpoint.samples
        cost = point.checkpoint.cost
        gains = [f"{gain.elo:+.0f}", _interval(gain.low, gain.high), f"{gain.los:.1%}"]
        rows.append(
            [
                rating.first,
                NOTHING if samples is None else f"{samples:,}",
                *([NOTHING if cost is None else f"{cost.hours:.3g}"] if unit else []),
                f"{rating.elo:.0f}",
                _interval(rating.low, rating.high),
                *(gains if number else [NOTHING] * 3),
            ]
        )
    columns = [
        "network",
        "samples",
        *([unit] if unit else []),
        "Elo",
        "95 %",
        "gain",
        "95 %",
        "LOS",
    ]
    print_rows(console, NOTHING, columns, rows)
    own = {one.name for one in evaluation.rated}
    _show_ratings(console, evaluation, leave_out=own)
    _warn(console, evaluation)


def show_comparison(console: "Console", comparison: "Comparison") -> None:
    """Ratings, scores against the same opponents side by side, and differences."""
    evaluation = comparison.evaluation
    _show_ratings(console, evaluation, found_in=comparison.found_in)
    _show_scores(console, comparison)
    rows = [
        [one.first, one.second, f"{one.elo:+.0f}", _interval(one.low, one.high), f"{one.los:.1%}"]
        for one in comparison.differences
    ]
    if rows:
        columns = ["player", "above", "Elo", "95 %", "LOS"]
        console.print()
        print_rows(console, NOTHING, columns, rows, words=["above"])
    _warn(console, evaluation)


def _show_ratings(
    console: "Console",
    evaluation: "EvaluationReport",
    rated: Sequence["Participant"] = (),
    leave_out: Collection[str] = (),
    found_in: dict[str, list[str]] | None = None,
) -> None:
    """Players by strength; columns of scores and LOS for those ``rated``."""
    ratings = evaluation.ratings
    names = {one.name: one for one in evaluation.participants}
    rows = []
    for facts in ratings.to_dict()["ratings"]:
        if (name := facts["player"]) in leave_out:
            continue
        bounds = _interval(facts["elo_low"], facts["elo_high"])
        cells = [name, f"{facts['elo']:.0f}", NOTHING if name == ratings.anchor else bounds]
        cells.append(f"{facts['games']:,}")
        cells += [cell for one in rated for cell in _against(evaluation, one, names[name])]
        if found_in:
            cells.append(", ".join(found_in.get(name, [])))
        rows.append([Text(cell, "bold" if names[name] in rated else "") for cell in cells])
    columns = [
        "player",
        "Elo",
        "95 %",
        "games",
        *_score_heads(rated),
        *(["in"] if found_in else []),
    ]
    console.print()
    print_rows(console, NOTHING, columns, rows, words=["in"])
    games = sum(result.games for result in evaluation.results)
    footnote = (
        f"{ratings.anchor} is 0 by definition; {games:,} games, and a prior that weighs like "
        f"{ratings.virtual_draws:,} drawn ones"
    )
    console.print(Text(footnote, style="dim"))


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


def _show_scores(console: "Console", comparison: "Comparison") -> None:
    """A row for each opponent, a column for each player: points a game."""
    rated = comparison.evaluation.rated
    rows = []
    for opponent in comparison.opponents:
        cells = [comparison.score(one, opponent) for one in rated]
        told = [NOTHING if cell is None else f"{cell[0]:.1%} of {cell[1]:,}" for cell in cells]
        rows.append([opponent.name, *told])
    console.print()
    print_rows(console, NOTHING, ["score against", *(one.name for one in rated)], rows)


def _show_milestones(
    console: "Console", evaluation: "EvaluationReport", player: "Participant"
) -> None:
    rows = []
    for mark in milestones(player, evaluation.results, evaluation.ratings):
        if mark.target < 1:
            value, bounds = f"{mark.value:.1%}", f"{mark.low:.1%} .. {mark.high:.1%}"
        else:
            value, bounds = f"{mark.value:.0f}", _interval(mark.low, mark.high)
        rows.append([mark.name, value, bounds, mark.state])
    if rows:
        head = "milestones" if len(evaluation.rated) == 1 else player.name
        console.print()
        print_rows(console, NOTHING, [head, "is at", "95 %", NOTHING], rows, words=[NOTHING])


def _warn(console: "Console", evaluation: "EvaluationReport") -> None:
    for line in evaluation.warnings:
        console.print(Text(f"warning: {line}"))


def _interval(low: float, high: float) -> str:
    return f"{round(low)} .. {round(high)}"
