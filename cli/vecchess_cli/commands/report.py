"""``vecchess report``: what runs were and came to, as one HTML file."""

from pathlib import Path
from typing import Annotated

import typer

from vecchess_cli.output import Json, people, print_json

SCHEMA = 1


def report(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs; several are compared.")],
    out: Annotated[
        Path | None,
        typer.Option(help="The file, - for stdout. [RUN/report.html; report.html for several]"),
    ] = None,
    json: Json = False,
) -> int:
    """Write a report on runs: one HTML file that needs no network, to keep, send or print.

    Settings, why it ended, throughput, curves of learning, spike rates of layers, strength with
    intervals, results, lengths, time steps, a few games. Runs that go on, and those of earlier
    versions, are told as far as they are known.

    Examples:  vecchess report runs/first

    vecchess report runs/a runs/b --out a-and-b.html
    """
    from vecchess.report.write_report import write_report

    place = write_report(runs, out)
    if str(place) != "-":
        people().print(f"written to {place}", markup=False)
    if json:
        print_json({"schema": SCHEMA, "file": str(place), "runs": [str(run) for run in runs]})
    return 0
