"""Measurements of a run: ``metrics.jsonl``, one object a line, and a TensorBoard file beside it.

    {"schema": 1, "kind": "learn", "iteration": 3, "step": 120, "samples": 61440,
     "time_unix": 1790000000.0, "loss_policy": 2.31, ...}

A run that resumes from a checkpoint first removes the lines after it: every step is there once.

Measurements by the clock, or every so many updates, would grow without limit. A long log loses
every second one of such lines in its older half, repeatedly: the newest are all kept, and older
ones are the further apart the older they are.

Decision 194.
"""

import json
import math
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from vecchess.errors import DataError, missing_library
from vecchess.runtime.atomic_write import (
    append_line,
    open_new,
    path_refusals,
    whole_lines,
    write_atomically,
)
from vecchess.runtime.reporting import ReportLine
from vecchess.safe_parse import parse_json_object, to_json_value

SCHEMA = 1
METRICS_FILE = "metrics.jsonl"
TENSORBOARD_FOLDER = "tensorboard"
EVENT_FILE_VERSION = "brain.Event:2"
THROUGHPUT = "load"
"""Kind of the lines on the current throughput of self-play."""
THINNED = (THROUGHPUT, "learn")
"""Kinds of lines of which older ones may be removed; others come a few an iteration."""
MOST_BYTES = 64 << 20
"""A longer log is thinned out."""
POINTS_EACH = 4096
"""TensorBoard gets so many points of a kind in full, then every second, every fourth, and so on."""
TAG_OF_KIND = {"learn": "train", "play": "selfplay", THROUGHPUT: "selfplay"}
"""Prefix of TensorBoard's tags for a kind of line; other kinds keep their names."""
ZERO_ELO = "random"
"""The opponent that a network's Elo is told against: random moves are 0 Elo on the ladder."""


class MetricsLog:
    """The measurements of one run. Only rank 0 has one; several threads may ``write``."""

    def __init__(
        self,
        run_path: Path,
        after: tuple[int, int] | None = None,
        report_line: ReportLine | None = None,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """Open the log in ``run_path``, an existing folder, and cut a torn last line.

        ``after``: (iteration, step) of the checkpoint that the run goes on from; lines of a later
        iteration or step are cut, None keeps all. ``report_line`` gets the reason why there is no
        TensorBoard, which takes half a second to import and is opened with the first point; without
        it there is none. ``most_bytes``: where older lines are thinned out, see above. Raises
        DataError where writing fails.
        """
        self.path = run_path / METRICS_FILE
        self._most_bytes = most_bytes
        self._points: Counter[str] = Counter()
        self._lock = Lock()
        self._cut(after)
        self._tensorboard: TensorboardFile | None = None
        self._open_tensorboard: Callable[[], TensorboardFile | None] | None = None
        if report_line is not None:
            folder = run_path / TENSORBOARD_FOLDER
            self._open_tensorboard = partial(_open_tensorboard, folder, after, report_line)

    def write(
        self,
        kind: str,
        iteration: int,
        step: int,
        samples: int,
        values: Mapping[str, Any],
        plotted: Mapping[str, Any] | None = None,
    ) -> None:
        """Append one line, and a point to TensorBoard for each number in ``values``.

        TensorBoard gets ``plotted`` instead where that is given, and nothing of lines of kind
        ``THROUGHPUT``: many of them are of one step.
        ``values`` are plain, nested dicts too: their numbers have tags of several words. A number
        that is not finite becomes null. Raises DataError where writing fails; the log ends with
        a whole line then.
        """
        head = {
            "schema": SCHEMA,
            "kind": kind,
            "iteration": iteration,
            "step": step,
            "samples": samples,
            "time_unix": round(time.time(), 3),
        }
        assert not head.keys() & values.keys(), values
        line = json.dumps(to_json_value(head | dict(values)), allow_nan=False) + "\n"
        with self._lock:  # a line that is appended meanwhile would get lost
            if append_line(self.path, line.encode(), durably=False) > self._most_bytes:
                self._thin()
            if kind != THROUGHPUT:
                self.plot(kind, step, values if plotted is None else plotted)

    def plot(self, kind: str, step: int, values: Mapping[str, Any]) -> None:
        """A point to TensorBoard for each number, and no line."""
        if self._open_tensorboard is not None:
            self._tensorboard = self._open_tensorboard()
            self._open_tensorboard = None
        count = self._points[kind]
        self._points[kind] += 1
        if self._tensorboard is not None and is_plotted(count):
            self._tensorboard.add(dict(scalars(TAG_OF_KIND.get(kind, kind), values)), step)

    def close(self) -> None:
        """Close the TensorBoard file."""
        if self._tensorboard is not None:
            self._tensorboard.close()

    def _thin(self) -> None:
        with path_refusals(self.path):
            lines = self.path.read_bytes().splitlines(keepends=True)
        kept = b"".join(thinned(lines))
        write_atomically(self.path, kept)
        self._most_bytes = max(self._most_bytes, len(kept) * 5 // 4)

    def _cut(self, after: tuple[int, int] | None) -> None:
        if self.path.exists():
            lines = whole_lines(self.path)
            kept = b"".join(line for line in lines if after is None or not _is_later(line, after))
            if len(kept) != self.path.stat().st_size:
                write_atomically(self.path, kept)


class TensorboardFile:
    """One event file in a folder, each point written at once; every start of a run adds another.

    TensorBoard's own writer has a thread that delays points, and a full disk ends it with a
    traceback. These few points need no thread.
    """

    def __init__(self, folder: Path, purge_step: int | None) -> None:
        """TensorBoard drops older points from ``purge_step`` on; None: it keeps all.

        Raises ImportError where TensorBoard is not installed, DataError where writing fails.
        """
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event, self._summary = Event, Summary
        seconds, rest = divmod(time.time_ns(), 10**9)
        name = f"events.out.tfevents.{seconds:010d}.{socket.gethostname()}.{os.getpid()}.{rest:09d}"
        self.path = folder / name
        with path_refusals(self.path):
            folder.mkdir(parents=True, exist_ok=True)
            self._file = open_new(self.path)
        self._records = RecordWriter(self._file)
        self._write(file_version=EVENT_FILE_VERSION)
        if purge_step is not None:
            self._write(step=purge_step, session_log=SessionLog(status=SessionLog.START))

    def add(self, points: dict[str, float], step: int) -> None:
        """A point for each tag. Raises DataError where writing fails."""
        values = [self._summary.Value(tag=tag, simple_value=y) for tag, y in points.items()]
        if values:
            self._write(step=step, summary=self._summary(value=values))

    def close(self) -> None:
        """Close the file; every point is written already."""
        with suppress(OSError):
            self._file.close()

    def _write(self, **fields: object) -> None:
        event = self._event(wall_time=time.time(), **fields)
        with path_refusals(self.path):
            self._records.write(event.SerializeToString())
            self._file.flush()


def read_metrics(run_path: Path, kind: str = "") -> list[dict[str, Any]]:
    """The whole lines of a run's log, of one ``kind`` alone where it is given; raises DataError
    where one is damaged."""
    path = run_path / METRICS_FILE
    head = _head(kind) if kind else b""
    try:
        return [parse_json_object(line) for line in whole_lines(path) if line.startswith(head)]
    except ValueError as error:
        raise DataError(f"{path} is damaged: {error}") from None


def thinned(lines: list[bytes]) -> list[bytes]:
    """``lines`` without every second one of the older half of each kind that may be thinned out."""
    dropped: set[int] = set()
    for kind in THINNED:
        places = [place for place, line in enumerate(lines) if line.startswith(_head(kind))]
        dropped.update(places[1 : len(places) // 2 : 2])
    return [line for place, line in enumerate(lines) if place not in dropped]


def _head(kind: str) -> bytes:
    """How a line of a kind begins."""
    return f'{{"schema": {SCHEMA}, "kind": "{kind}"'.encode()


def is_plotted(count: int) -> bool:
    """Whether the line after ``count`` others of its kind gets a point in TensorBoard."""
    return count % (1 << (count // POINTS_EACH).bit_length()) == 0


def scalars(tag: str, values: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The finite numbers in ``values`` with their tags: ("train/loss_policy", 2.31), ..."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from scalars(f"{tag}/{name}", value)
        elif (
            isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        ):
            yield f"{tag}/{name}", float(value)


def plotted_match(match: Mapping[str, Any], best: str) -> dict[str, Any]:
    """TensorBoard's values of a match, by player and opponent: "eval/elo/policy-greedy".

    "eval/elo" itself is the player ``best``, the last of an iteration, against ``ZERO_ELO``.
    """
    player, opponent = match["player"], match["opponent"]
    name = f"{player}-{opponent}".replace(" ", "_")
    plotted = {f"{key}/{name}": match[key] for key in ("elo", "score")}
    if (player, opponent) == (best, ZERO_ELO):
        plotted["elo"] = match["elo"]
    return plotted


def _is_later(line: bytes, after: tuple[int, int]) -> bool:
    """Whether a line was written after the checkpoint; False for a damaged one."""
    try:
        facts = parse_json_object(line)
        return bool(facts["iteration"] > after[0] or facts["step"] > after[1])
    except (ValueError, KeyError, TypeError):
        return False


def _open_tensorboard(
    folder: Path, after: tuple[int, int] | None, report_line: ReportLine
) -> TensorboardFile | None:
    """A file for TensorBoard that drops the steps after the checkpoint; None, and a report, where
    TensorBoard is not installed."""
    try:
        return TensorboardFile(folder, None if after is None else after[1] + 1)
    except ImportError:
        advice = missing_library("tensorboard", "tensorboard")
        report_line(f"{advice}; {METRICS_FILE} has the same figures")
        return None
