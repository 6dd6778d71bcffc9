"""The files of a run as onlookers read them: the terminal, the dashboard, the report."""

import io
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from tests.fuzz.file_targets import JSON_WORDS, NPY_WORDS, ZIP_WORDS, shards
from tests.fuzz.target import Read, Shape, Target
from tests.fuzz.text_targets import TOML_FLOOR_MIB, TOML_WORDS
from tests.monitor.runs import MadeRun, selfplay_run, training_run
from vecchess.dash.views.board_grid import BoardGrid
from vecchess.dash.views.game_values import game_view
from vecchess.dash.views.run_reader import RunRegistry
from vecchess.dash.views.run_values import newest, run_details, series_columns
from vecchess.dash.write_report import report_answers
from vecchess.monitor.run_view import RunView
from vecchess.selfplay.supervisor.status_view import status_line
from vecchess.store.metrics import MetricsLog, read_metrics
from vecchess.watch.plain_lines import _News
from vecchess.watch.screen import PAGES, Screen

Opened = Callable[[Path], AbstractContextManager[Read]]


def short_selfplay(path: Path) -> MadeRun:
    made = selfplay_run(path, seconds=10)
    made.status(notes=[{"time_unix": 1_790_000_000.0, "line": "cpu#0 died"}])
    return made


def short_training(path: Path) -> MadeRun:
    return training_run(path, iterations=1, steps=2)


@cache
def files_of(make: Callable[[Path], MadeRun]) -> dict[str, bytes]:
    """The small files of a run by name."""
    with TemporaryDirectory() as folder:
        made = make(Path(folder) / "run")
        names = ("status.json", "metrics.jsonl", "config.toml", "games/manifest.jsonl")
        return {name: (made.path / name).read_bytes() for name in names}


def in_run(name: str, look: Callable[[RunView], object], training: bool = False) -> Opened:
    """``opened`` of a look at a run, in which the file ``name`` is the input."""

    @contextmanager
    def opened(folder: Path) -> Iterator[Read]:
        made = (short_training if training else short_selfplay)(folder / "run")
        path = made.path / name
        path.parent.mkdir(exist_ok=True)

        def read(data: bytes) -> None:
            path.write_bytes(data)
            look(RunView(made.path))

        yield read

    return opened


def as_text(values: Any) -> None:
    """What there is to be said can be said: in JSON, and in UTF-8."""
    json.dumps(values, allow_nan=False, ensure_ascii=False).encode()


def tell(view: RunView) -> None:
    """As the dashboard and plain lines tell it."""
    as_text([run_details("x", view), view.config, view.elo()])
    status_line(view.status.to_dict()).encode()


def measure(view: RunView) -> None:
    told = [newest(view.series)]
    told += [series_columns(view.series, kind, 50) for kind in view.series.kinds]
    as_text(told)


def show(view: RunView) -> None:
    BoardGrid().boards(view)
    as_text([game_view(view, game.number) for game in view.live_games()])


def list_games(view: RunView) -> None:
    tell(view)
    for number in view.recorded.outcomes().numbers[-3:].tolist():
        view.game(number)


def watch(view: RunView) -> None:
    """As a terminal shows it, all pages of the screen, and in lines."""
    with io.TextIOWrapper(io.BytesIO(), encoding="utf-8") as file:
        for page, (width, height) in product(range(len(PAGES)), ((90, 24), (150, 40))):
            screen = Screen(page, is_paused=True).draw(view, "", width, height)
            console = Console(file=file, width=width, height=height, force_terminal=True)
            console.print(screen)
        file.writelines(_News().lines(view))


def report(view: RunView) -> None:
    as_text(report_answers(RunRegistry([view.path])))


@contextmanager
def metrics_of_a_resumed_run(folder: Path) -> Iterator[Read]:
    def read(data: bytes) -> None:
        (folder / "metrics.jsonl").write_bytes(data)
        MetricsLog(folder, after=(1, 50)).close()
        read_metrics(folder)

    yield read


def small(name: str, training: bool = False) -> Callable[[], list[bytes]]:
    return lambda: [files_of(short_training if training else short_selfplay)[name]]


def both(name: str) -> Callable[[], list[bytes]]:
    return lambda: [files_of(short_selfplay)[name], files_of(short_training)[name]]


HISTORY = json.dumps({"schema": 1, "curve": [{"player": "a", "samples": 1, "elo": 3.5}]}).encode()
STATUS, METRICS, MANIFEST = "status.json", "metrics.jsonl", "games/manifest.jsonl"


def seen(what: str, look: Callable[[RunView], object], name: str) -> Target:
    """A training as people look at it, with another file ``name``."""
    shape: Shape = "json" if name == STATUS else "lines"
    opened = in_run(name, look, training=True)
    return Target(what, both(name), opened, shape, JSON_WORDS, is_slow=True)


TARGETS = (
    Target("status", small(STATUS), in_run(STATUS, tell), "json", JSON_WORDS, is_slow=True),
    Target(
        "status-train",
        small(STATUS, True),
        in_run(STATUS, tell, True),
        "json",
        JSON_WORDS,
        is_slow=True,
    ),
    Target("metrics", small(METRICS), in_run(METRICS, measure), "lines", JSON_WORDS, is_slow=True),
    Target("metrics-resumed", small(METRICS, True), metrics_of_a_resumed_run, "lines", JSON_WORDS),
    Target(
        "live",
        shards,
        in_run("live/000.npz", show),
        "zip",
        ZIP_WORDS + NPY_WORDS,
        floor_mib=48,
        is_slow=True,
    ),
    Target(
        "run-config",
        small("config.toml"),
        in_run("config.toml", tell),
        "text",
        TOML_WORDS,
        TOML_FLOOR_MIB,
        is_slow=True,
    ),
    Target(
        "history",
        lambda: [HISTORY],
        in_run("eval/history.json", tell),
        "json",
        JSON_WORDS,
        is_slow=True,
    ),
    Target(
        "run-manifest",
        small("games/manifest.jsonl"),
        in_run("games/manifest.jsonl", list_games),
        "lines",
        JSON_WORDS,
        is_slow=True,
    ),
    seen("report-status", report, STATUS),
    seen("report-metrics", report, METRICS),
    seen("report-manifest", report, MANIFEST),
    seen("watch-status", watch, STATUS),
    seen("watch-metrics", watch, METRICS),
    seen("watch-manifest", watch, MANIFEST),
)
