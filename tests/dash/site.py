"""A dashboard in this process, over runs that are made up."""

from pathlib import Path

from starlette.applications import Starlette

from tests.monitor.runs import MadeRun
from vecchess.dash.views.run_reader import RunReader, RunRegistry
from vecchess.dash.web.asgi_app import make_app
from vecchess.dash.web.assets import PageFiles
from vecchess.dash.web.event_hub import EventHub

HOST = "http://127.0.0.1:8765"


def made_pages(folder: Path) -> Path:
    """A folder like the one that web/build.mjs makes."""
    folder.mkdir()
    (folder / "index.html").write_text("<!doctype html><title>vecchess</title>")
    (folder / "main-ABCD.js").write_text("export {};\n" * 400)
    (folder / ".built_from").write_text("1 2")
    return folder


def small_run(path: Path, lines: int = 0) -> MadeRun:
    """A run that plays, with lines of its load and no games."""
    made = MadeRun(path)
    for tick in range(lines):
        made.measure("load", plies_per_s=100.0 + tick, verdict="starved")
    made.status()
    return made


def make_site(
    folder: Path,
    *places: Path,
    token: str = "",
    any_host: bool = False,
) -> Starlette:
    """The application, with pages of its own in ``folder``."""
    pages = PageFiles(made_pages(folder / "pages"))
    reader = RunReader(RunRegistry(places))
    hub = EventHub(reader)
    return make_app(reader, hub, pages, token, any_host)
