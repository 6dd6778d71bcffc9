"""A run as plain lines, for logs, pipes and simple terminals (decision 156)."""

import time
from collections.abc import Iterator
from typing import Any

from vecchess.monitor.charts import interval_of
from vecchess.monitor.run_view import RunView
from vecchess.runtime.reporting import ReportLine, format_time
from vecchess.selfplay.supervisor.status_view import match_line, status_line
from vecchess.store.remote.run_mirror import place_of
from vecchess.watch.follow import RunFollower

LOOK_S = 0.5
"""Seconds between two reads of a run; lines are printed less often."""
EXIT_DONE, EXIT_NOT_DONE = 0, 3


def watch_lines(follower: RunFollower, interval_s: float, report_line: ReportLine) -> int:
    """Print the status every ``interval_s`` seconds, and notes and matches meanwhile, until the run
    is over; returns 0 where it was done, 3 where it ended otherwise."""
    news, due, has_waited = _News(), 0.0, False
    while True:
        follower.refresh()
        view = follower.view
        if view is None and not has_waited:
            report_line(f"no run in {follower.runs} yet: waiting for one")
            has_waited = True
        if view is not None:
            for line in news.lines(view):
                report_line(line)
            if view.status.is_over:
                return _print_end(view, report_line)
            if time.monotonic() >= due:
                report_line(status_line(view.status.to_dict()))
                due = time.monotonic() + interval_s
        time.sleep(min(LOOK_S, interval_s))


class _News:
    """Lines on what happened since the last call: another run, notes, matches."""

    def __init__(self) -> None:
        self._path: Any = None
        self._noted: set[tuple[Any, ...]] = set()
        self._matched = 0

    def lines(self, view: RunView) -> Iterator[str]:
        """The new lines, each once."""
        matches = view.series.kinds.get("eval", 0)
        if view.path != self._path:
            self._path, self._noted, self._matched = view.path, set(), matches
            net = f" with {view.status.net}" if view.status.net else ""
            yield f"{place_of(view.path)}: {view.status.kind}{net}"
        notes = {tuple(note.values()): note for note in view.status.notes}
        for key, note in notes.items():
            if key not in self._noted:
                yield f"{format_time(note['time_unix'])}  {note['line']}"
        self._noted = set(notes)
        if matches > self._matched:
            for match in view.series.lines("eval")[self._matched - matches :]:
                yield progress_match(match)
        self._matched = matches


def progress_match(match: dict[str, Any]) -> str:
    """The result of a match for progress in a line."""
    return match_line(f"[{match.get('iteration', 0)}]", match, interval_of(match, "score"))


def _print_end(view: RunView, report_line: ReportLine) -> int:
    now, stats = view.status, view.stats
    report_line(f"{place_of(view.path)}: {now.why}")
    if stats.games:
        report_line(
            f"{stats.games:,} games  White {stats.white_wins / stats.games:.0%} "
            f"draws {stats.draws / stats.games:.0%} Black {stats.black_wins / stats.games:.0%}  "
            f"mean {stats.mean_length:.0f} plies"
        )
    if now.resume_command:
        report_line(f"resume with: {now.resume_command}")
    return EXIT_DONE if now.state == "done" else EXIT_NOT_DONE
