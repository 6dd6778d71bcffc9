"""Writes the report on runs, one HTML file that needs no other."""

from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from pathlib import Path

from vecchess import __version__
from vecchess.errors import ConfigError
from vecchess.export.atomic_output import text_file
from vecchess.monitor.run_view import RunView
from vecchess.report.compare_runs import comparison_html
from vecchess.report.parts import run_html

REPORT_NAME = "report.html"


def write_report(runs: Sequence[Path], out: Path | None = None) -> Path:
    """Write the report on ``runs`` to ``out``, whole or not at all; returns where it is.

    None: report.html in the folder of the only run, in the current folder for several. Raises
    ConfigError where a run is none or named twice, DataError where the disk refuses.
    """
    if len({run.resolve() for run in runs}) < len(runs):
        raise ConfigError("a run is named twice")
    views = [RunView(run) for run in runs]
    place = out or (runs[0] / REPORT_NAME if len(runs) == 1 else Path(REPORT_NAME))
    page = page_of(views)
    with text_file(place) as file:
        file.write(page)
    return place


def page_of(views: Sequence[RunView]) -> str:
    """The report as one page."""
    names = _names(views)
    parts = [comparison_html(views, names)] if len(views) > 1 else []
    parts += [run_html(view, f"run-{place}") for place, view in enumerate(views)]
    title = " and ".join(names) if len(names) < 3 else f"{len(names)} runs"
    style = files("vecchess.report").joinpath("report.css").read_text()
    now = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}: vecchess report</title><style>{style}</style></head><body>"
        f"{''.join(parts)}<footer>vecchess {__version__}, {now}</footer></body></html>\n"
    )


def _names(views: Sequence[RunView]) -> list[str]:
    """The runs' names, or their paths where two have the same."""
    names = [view.name for view in views]
    return names if len(set(names)) == len(names) else [str(view.path) for view in views]
