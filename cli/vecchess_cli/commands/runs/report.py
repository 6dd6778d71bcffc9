"""``vecchess report``: settings and results of runs as one HTML file."""

from pathlib import Path
from typing import Annotated

import typer

from vecchess_cli.options import Runs, beside, command_app, run_here
from vecchess_cli.output import Json, print_json, require_one_output, results

SCHEMA = 1


def report(
    runs: Runs,
    out: Annotated[
        Path | None,
        typer.Option(
            help='File to write, "-" for stdout.',
            show_default="RUN/report.html; report.html for several",
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Write a report on runs: one HTML file that needs no network, to keep, send or print.

    It has settings, the reason of the end, throughput, learning curves, spike rates of layers,
    strength with intervals, results, lengths, time steps and a few games, on the pages of
    `vecchess dash`. Of a run in progress it has what is known so far.

    Examples:  vecchess report runs/first

    vecchess report runs/a runs/b --out a-and-b.html
    """
    require_one_output(out, json)
    from vecchess.dash.write_report import REPORT_NAME, write_report
    from vecchess.runtime.atomic_output import in_run_folder

    folders = [run_here(run) for run in runs]
    if out is None and len(runs) == 1:
        out = beside(runs[0], folders[0], REPORT_NAME)
    elif out is None:
        out = in_run_folder(Path(REPORT_NAME))
    write_report(folders, out)
    if str(out) != "-":
        results(json).print(f"written to {out}", markup=False)
    if json:
        print_json({"schema": SCHEMA, "file": str(out), "runs": runs})
    return 0


app = command_app(report)
