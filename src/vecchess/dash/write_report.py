"""Writes the report on runs: the pages of the dashboard and all their answers in one HTML file.

    index.html       <link main.css>      ->  <style>
                     <script main.js>     ->  <script>, the answers before it as <script> of JSON

The pages ask the answers instead of a server (``web/src/api.ts``). A policy in the file forbids
all other scripts and every connection.
"""

import base64
import hashlib
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vecchess import __version__
from vecchess.dash.answers import as_json
from vecchess.dash.views.example_games import example_games
from vecchess.dash.views.run_facts import run_facts
from vecchess.dash.views.run_reader import RunRegistry
from vecchess.dash.views.run_values import run_details, run_rows, series_columns
from vecchess.dash.web.assets import FOLDER, check_built
from vecchess.errors import ConfigError
from vecchess.monitor.charts import CHARTS
from vecchess.monitor.run_view import RunView
from vecchess.runtime.atomic_output import text_file
from vecchess.store.run_folder import RunFolder

REPORT_NAME = "report.html"
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
NUM_LINES = 600
"""Lines of a kind of measurements at most."""


def write_report(runs: Sequence[Path], out: Path) -> None:
    """Write the report on ``runs`` to ``out``, whole or not at all; "-" is stdout.

    Raises ConfigError where a run is none or named twice or the pages were not built, DataError
    where the disk refuses.
    """
    page = report_page(runs)
    with text_file(out) as file:
        file.write(page)


def report_page(runs: Sequence[Path], pages: Path = FOLDER) -> str:
    """The report as one page, of the built ``pages``."""
    check_built(pages)
    if len({run.resolve() for run in runs}) < len(runs):
        raise ConfigError("a run is named twice")
    for run in runs:
        RunFolder.existing(run)
    registry = RunRegistry(runs)
    answers = report_answers(registry)
    names = list(registry.views())
    start = f"#/run/{names[0]}" if len(names) == 1 else f"#/compare?runs={','.join(names)}"
    report = {
        "version": __version__,
        "written_unix": round(time.time()),
        "start": start,
        "answers": answers,
    }
    return _one_file(pages, as_json(report).decode())


def report_answers(registry: RunRegistry) -> dict[str, Any]:
    """What the pages ask of a report, by path, as ``dash/web/asgi_app.py`` answers it."""
    answers: dict[str, Any] = {
        "/api/runs": run_rows(registry),
        "/api/charts": [spec.to_dict() for spec in CHARTS],
    }
    for name, view in registry.views().items():
        answers |= {f"/api/runs/{name}{path}": value for path, value in _of_run(name, view).items()}
    return answers


def _of_run(name: str, view: RunView) -> dict[str, Any]:
    kinds = ("learn", "load", "eval", "gate", "examine", "play")
    series = {f"/series/{kind}": series_columns(view.series, kind, NUM_LINES) for kind in kinds}
    examples = example_games(view)
    return series | {
        "": run_details(name, view),
        "/config": view.config,
        "/facts": run_facts(view),
        "/elo": view.elo(),
        "/costs": view.costs(),
        "/games": {
            "total": len(examples),
            "first": 0,
            "per_page": len(examples),
            "games": [
                {key: game[key] for key in ("number", "result", "termination", "why")}
                | {"plies": len(game["ucis"])}
                for game in examples
            ],
        },
        **{f"/games/{game['number']}": game for game in examples},
    }


def _one_file(pages: Path, report: str) -> str:
    """``index.html`` with its style and script inside, and before the script the ``report``.

    Within JSON, a "<" stands as its number: neither an end of the script nor a comment can begin.
    """
    page = (pages / "index.html").read_text("utf-8")
    style, script = (
        "".join(file.read_text("utf-8") for file in sorted(pages.glob(f"main-*.{kind}")))
        for kind in ("css", "js")
    )
    script = re.sub("</(script)", r"<\\/\1", script, flags=re.IGNORECASE)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"{POLICY}; script-src 'sha256-{digest}'"
    data = report.replace("<", "\\u003c")
    head = re.sub(r"[ \t]*<(?:link|script)\b[^>]*>(?:</script>)?\n", "", page)
    before, _, after = head.partition("</head>")
    body, _, end = after.partition("</body>")
    return (
        f'{before}<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<style>{style.replace('</style', '')}</style></head>{body}"
        f'<script type="application/json" id="report">{data}</script>\n'
        f'<script type="module">{script}</script>\n</body>{end}'
    )
