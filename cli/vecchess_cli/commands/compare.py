"""``vecchess compare``: evaluations side by side."""

from pathlib import Path
from typing import Annotated

import typer

from vecchess_cli.option_panels import command_app
from vecchess_cli.output import Json, print_json, results


def compare(
    reports: Annotated[
        list[Path], typer.Argument(metavar="REPORTS", help='Files of "vecchess eval --out".')
    ],
    json: Json = False,
) -> None:
    """Rate the players of several reports together, on one scale.

    Reports of "vecchess eval --out FILE" and "eval --history" keep all results, so the joint
    rating is that of one large evaluation, and differences have intervals. A game in several
    reports counts once. The reports need players in common, as the ladder.

    Example:  vecchess compare monday.json friday.json
    """
    from vecchess.evaluate.compare_evaluations import compare as library
    from vecchess.evaluate.evaluation import read_evaluation
    from vecchess_cli.tables.eval_tables import show_comparison

    comparison = library([str(file) for file in reports], [read_evaluation(f) for f in reports])
    show_comparison(results(json), comparison)
    if json:
        print_json(comparison.to_dict())


app = command_app(compare)
