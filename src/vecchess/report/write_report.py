"""Writes the report on runs, one HTML file that needs no other."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from vecchess import __version__
from vecchess.errors import ConfigError
from vecchess.export.atomic_output import text_file
from vecchess.monitor.run_view import RunView
from vecchess.monitor.timestamps import format_time
from vecchess.report.compare_runs import RunComparison
from vecchess.report.run_section import RunSection
from vecchess.report.svg import DRAWING
from vecchess.store.stats import LENGTH_BIN

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
    return (
        templates()
        .get_template("report.html")
        .render(
            names=names,
            title=" and ".join(names) if len(names) < 3 else f"{len(names)} runs",
            style=files("vecchess.report").joinpath("report.css").read_text(),
            comparison=RunComparison(views, names) if len(views) > 1 else None,
            runs=[RunSection(view) for view in views],
            version=__version__,
            now=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        )
    )


@cache
def templates() -> Environment:
    """The page and the macros of its charts. Text from a run is escaped."""
    found = Environment(
        loader=PackageLoader("vecchess.report", ""),
        autoescape=True,
        trim_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    found.globals |= DRAWING | {"LENGTH_BIN": LENGTH_BIN}
    found.filters["words"] = lambda name: name.replace("_", " ")
    found.filters["date"] = lambda unix: format_time(unix, "%Y-%m-%d %H:%M:%S", UTC)
    return found


def _names(views: Sequence[RunView]) -> list[str]:
    """The runs' names, or their paths where two have the same."""
    names = [view.name for view in views]
    return names if len(set(names)) == len(names) else [str(view.path) for view in views]
