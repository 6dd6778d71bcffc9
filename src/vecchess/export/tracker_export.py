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
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from vecchess.errors import ConfigError, DataError
from vecchess.safe_parse import clip_line
from vecchess.store.metrics import METRICS_FILE, TAG_OF_KIND, THROUGHPUT, read_metrics, scalars

HEAD = ("schema", "kind", "iteration", "step", "samples", "time_unix")
"""Keys of a line that are no measurements."""
MLFLOW_FILE = "mlflow.db"
"""In the folder of a run."""
MOST_OF_MLFLOW = 1000
"""Metrics of one call."""


class Points(NamedTuple):
    """The numbers of one line of the log: values by tag, all at one step and time."""

    group: str
    """The first word of the tags: lines of a group count the same steps."""
    values: dict[str, float]
    step: int
    time_unix: float


class Tracker(Protocol):
    """One run in a tracker."""

    def log(self, points: Points) -> None:
        """Log the points of one line."""
        ...

    def close(self) -> None:
        """Finish the run there."""
        ...


def export_tracker(run: Path, tracker: str, project: str) -> int:
    """Log all measurements of ``run`` as a new run of ``project``; returns the number of points.

    Raises ConfigError for a run without measurements and for a tracker that is unknown or not
    installed, DataError for a damaged log and where the tracker's library fails.
    """
    if not (run / METRICS_FILE).is_file():
        raise ConfigError(f"{run} is no run with measurements: it has no {METRICS_FILE}")
    lines = list(run_points(run))
    make = find_tracker(tracker)
    try:
        opened = make(run, project)
        try:
            for points in lines:
                opened.log(points)
        finally:
            opened.close()
    except Exception as error:  # its libraries' errors have no common base class
        reason = clip_line(f"{tracker} failed: {str(error) or type(error).__name__}")
        raise DataError(reason) from None
    return sum(len(points.values) for points in lines)


def run_points(run: Path) -> Iterator[Points]:
    """The points of each line of a run's log, in order; lines without a number are left out."""
    for line in read_metrics(run):
        kind = str(line["kind"])
        group = TAG_OF_KIND.get(kind, kind)
        step = line["games"] if kind == THROUGHPUT else line["step"]
        facts = {name: value for name, value in line.items() if name not in HEAD}
        if values := dict(scalars(_tag(group, line), facts)):
            yield Points(group, values, int(step), float(line["time_unix"]))


def _tag(group: str, line: Mapping[str, Any]) -> str:
    """The tag before a line's names: with the players, where it is a match."""
    if "player" in line and "opponent" in line:
        return f"{group}/{line['player']}-{line['opponent']}".replace(" ", "_")
    return group


def find_tracker(tracker: str) -> Callable[[Path, str], Tracker]:
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


class TrackioTracker:
    """Trackio: a database in its own folder (TRACKIO_DIR); ``trackio show`` displays it."""

    def __init__(self, library: Any, run: Path, project: str) -> None:
        """Begin the run."""
        self._run = library.init(project=project, name=run.resolve().name, embed=False)

    def log(self, points: Points) -> None:
        """See ``Tracker``."""
        self._run.log(points.values, step=points.step)

    def close(self) -> None:
        """See ``Tracker``."""
        self._run.finish()


class WandbTracker:
    """Weights & Biases, offline: ``wandb sync`` uploads the folder.

    Its own steps only grow, and those of games and updates do not go together, so each group of
    tags has an axis of its own, "train/step".
    """

    def __init__(self, library: Any, run: Path, project: str) -> None:
        """Begin the run."""
        self._groups: set[str] = set()
        self._run = library.init(
            project=project, name=run.resolve().name, dir=str(run), mode="offline"
        )

    def log(self, points: Points) -> None:
        """See ``Tracker``."""
        axis = f"{points.group}/step"
        if points.group not in self._groups:
            self._groups.add(points.group)
            self._run.define_metric(f"{points.group}/*", step_metric=axis)
        self._run.log({**points.values, axis: points.step})

    def close(self) -> None:
        """See ``Tracker``."""
        self._run.finish()


class MlflowTracker:
    """MLflow: a database in the run's folder, which ``mlflow ui`` shows."""

    def __init__(self, library: Any, run: Path, project: str) -> None:
        """Begin the run."""
        self._metric = library.entities.Metric
        own = f"sqlite:///{(run / MLFLOW_FILE).resolve()}"
        uri = os.environ.get("MLFLOW_TRACKING_URI") or own
        self._client = library.MlflowClient(tracking_uri=uri)
        known = self._client.get_experiment_by_name(project)
        where = self._client.create_experiment(project) if known is None else known.experiment_id
        name = run.resolve().name
        self._id = self._client.create_run(where, run_name=name).info.run_id

    def log(self, points: Points) -> None:
        """See ``Tracker``."""
        at = int(points.time_unix * 1000)
        metrics = [
            self._metric(_mlflow_key(tag), value, at, points.step)
            for tag, value in points.values.items()
        ]
        for first in range(0, len(metrics), MOST_OF_MLFLOW):
            self._client.log_batch(self._id, metrics=metrics[first : first + MOST_OF_MLFLOW])

    def close(self) -> None:
        """See ``Tracker``."""
        self._client.set_terminated(self._id)


TRACKERS: dict[str, Callable[[Any, Path, str], Tracker]] = {
    "trackio": TrackioTracker,
    "wandb": WandbTracker,
    "mlflow": MlflowTracker,
}
"""The module of a tracker's library -> what logs to it."""


def _mlflow_key(tag: str) -> str:
    """A tag in the characters that MLflow allows."""
    return re.sub(r"[^\w./ :-]", "_", tag, flags=re.ASCII)
