"""The measurements of a run in experiment trackers: trackio, Weights & Biases, MLflow.

A program of its own reads ``metrics.jsonl`` and logs it to the tracker's own library, as far as
that is installed; the run knows nothing of it, and no tracker can stop it. Tags are TensorBoard's
(``store.metrics``). Nothing leaves this machine: W&B writes offline, Trackio and MLflow keep
databases; MLflow's is another one where MLFLOW_TRACKING_URI says so.

Decision 264.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from vecchess.errors import ConfigError, DataError
from vecchess.safe_parse import clip_line
from vecchess.store.metrics import (
    METRICS_FILE,
    TAG_OF_KIND,
    THROUGHPUT,
    plotted_match,
    read_metrics,
    scalars,
)

HEAD = ("schema", "kind", "iteration", "step", "samples", "time_unix")
"""Keys of a line that are no measurements."""
MLFLOW_FILE = "mlflow.db"
"""MLflow's database in the folder of a run."""
MOST_OF_MLFLOW = 1000
"""Metrics that one call of MLflow takes."""


class Points(NamedTuple):
    """The numbers of one line of the log: values by tag, all at one step and time."""

    group: str
    """The first word of the tags: lines of a group count the same steps."""
    values: dict[str, float]
    step: int
    time_unix: float


LogPoints = Callable[[Points], object]
"""Logs the points of one line."""


def export_tracker(run: Path, tracker: str, project: str) -> int:
    """Log all measurements of ``run`` as a new run of ``project``; returns the number of points.

    Raises ConfigError for a run without measurements and for a tracker that is unknown or not
    installed, DataError for a damaged log and where the tracker's library fails.
    """
    if not (run / METRICS_FILE).is_file():
        raise ConfigError(f"{run} is no run with measurements: it has no {METRICS_FILE}")
    lines = list(run_points(run))
    begin = find_tracker(tracker)
    try:
        with begin(run, project) as log_points:
            for points in lines:
                log_points(points)
    except Exception as error:  # its libraries' errors have no common base class
        reason = clip_line(f"{tracker} failed: {str(error) or type(error).__name__}")
        raise DataError(reason) from None
    return sum(len(points.values) for points in lines)


def run_points(run: Path) -> Iterator[Points]:
    """The points of each line of a run's log, in order; lines without a number are left out, and
    those of a training's load, as TensorBoard does: they count games, not updates.

    Raises DataError for a damaged line.
    """
    lines = read_metrics(run)
    is_training = any(line.get("kind") != THROUGHPUT for line in lines)
    matches = (line for line in lines if line.get("kind") == "eval")
    best = {str(line.get("iteration")): str(line.get("player")) for line in matches}
    for number, line in enumerate(lines, 1):
        try:
            points = _points(line, best)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            where = f"line {number} of {run / METRICS_FILE}"
            reason = f"{type(error).__name__}: {error}"
            raise DataError(clip_line(f"{where} is damaged: {reason}")) from None
        if points.values and not (is_training and line["kind"] == THROUGHPUT):
            yield points


def _points(line: Mapping[str, Any], best: Mapping[str, str]) -> Points:
    """The numbers of a line, none perhaps; ``best``: the last player of each iteration."""
    kind = str(line["kind"])
    group = TAG_OF_KIND.get(kind, kind)
    step = line["games"] if kind == THROUGHPUT else line["step"]
    facts = {name: value for name, value in line.items() if name not in HEAD}
    if kind == "eval":
        facts = plotted_match(facts, best[str(line["iteration"])])
    return Points(group, dict(scalars(group, facts)), int(step), float(line["time_unix"]))


def find_tracker(tracker: str) -> Callable[[Path, str], AbstractContextManager[LogPoints]]:
    """The function that begins a new run in a tracker, named as the run's folder, in a project.

    Raises ConfigError for a tracker that is unknown or not installed.
    """
    if tracker not in TRACKERS:
        raise ConfigError(f"no tracker '{tracker}'; there are {', '.join(TRACKERS)}")
    try:
        library = import_module(tracker)
    except ImportError:
        raise ConfigError(f"{tracker} is not installed: pip install {tracker}") from None
    return partial(TRACKERS[tracker], library)


@contextmanager
def _trackio(library: Any, run: Path, project: str) -> Iterator[LogPoints]:
    """Trackio: a database in its own folder (TRACKIO_DIR); ``trackio show`` displays it."""
    begun = library.init(project=project, name=run.resolve().name, embed=False)
    try:
        yield lambda points: begun.log(points.values, step=points.step)
    finally:
        begun.finish()


@contextmanager
def _wandb(library: Any, run: Path, project: str) -> Iterator[LogPoints]:
    """Weights & Biases, offline: ``wandb sync`` uploads the folder.

    Its own steps only grow, and those of games and updates do not go together, so each group of
    tags has an axis of its own, "train/step".
    """
    groups = set[str]()
    begun = library.init(project=project, name=run.resolve().name, dir=str(run), mode="offline")

    def log_points(points: Points) -> None:
        axis = f"{points.group}/step"
        if points.group not in groups:
            groups.add(points.group)
            begun.define_metric(f"{points.group}/*", step_metric=axis)
        begun.log({**points.values, axis: points.step})

    try:
        yield log_points
    finally:
        begun.finish()


@contextmanager
def _mlflow(library: Any, run: Path, project: str) -> Iterator[LogPoints]:
    """MLflow: a database in the run's folder, which ``mlflow ui`` shows."""
    own = f"sqlite:///{(run / MLFLOW_FILE).resolve()}"
    client = library.MlflowClient(tracking_uri=os.environ.get("MLFLOW_TRACKING_URI") or own)
    known = client.get_experiment_by_name(project)
    where = client.create_experiment(project) if known is None else known.experiment_id
    begun = client.create_run(where, run_name=run.resolve().name).info.run_id

    def log_points(points: Points) -> None:
        at = int(points.time_unix * 1000)
        metrics = [
            # a tag in the characters that MLflow allows
            library.entities.Metric(
                re.sub(r"[^\w./ :-]", "_", tag, flags=re.ASCII), value, at, points.step
            )
            for tag, value in points.values.items()
        ]
        for first in range(0, len(metrics), MOST_OF_MLFLOW):
            client.log_batch(begun, metrics=metrics[first : first + MOST_OF_MLFLOW])

    try:
        yield log_points
    finally:
        client.set_terminated(begun)


TRACKERS: dict[str, Callable[[Any, Path, str], AbstractContextManager[LogPoints]]] = {
    "trackio": _trackio,
    "wandb": _wandb,
    "mlflow": _mlflow,
}
"""The module of a tracker's library -> what logs to it."""
