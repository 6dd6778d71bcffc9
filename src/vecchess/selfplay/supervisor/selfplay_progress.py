"""What people see while games are played: live lines on a terminal, plain lines elsewhere."""

from typing import Self

from rich.console import Console, Group, RenderableType
from rich.table import Table

from vecchess.runtime.progress import PLAIN_INTERVAL_S, ProgressDisplay, bar_line
from vecchess.runtime.reporting import as_clock
from vecchess.selfplay.supervisor.supervisor import Supervisor
from vecchess.selfplay.supervisor.worker_process import WorkerProcess
from vecchess.selfplay.supervisor.worker_throughput import Throughput

COLUMNS = (
    "worker", "stage", "games", "plies/s", "sims/s", "steps", "fill", "network", "movers",
)  # fmt: skip


class SelfplayDisplay:
    """A line for each worker and one for all, as a ``SelfplayWatcher``."""

    def __init__(self, console: Console, quiet: bool = False) -> None:
        """Nothing is drawn before the first update; a quiet display shows lines alone."""
        self._display = ProgressDisplay(console, quiet)
        self.is_quiet = quiet

    def __enter__(self) -> Self:
        """Begin to redraw the terminal's last lines."""
        self._display.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove what is drawn in place."""
        self._display.__exit__()

    def update(self, supervisor: Supervisor) -> None:
        """Show progress if it is time to; a generation that is complete leaves nothing."""
        if supervisor.ledger.is_complete:
            self._display.draw("")
        elif self._display.is_live or supervisor.seconds >= PLAIN_INTERVAL_S:
            self._display.update(lambda: progress_line(supervisor), lambda: _picture(supervisor))

    def report_line(self, line: str) -> None:
        """Print ``line`` above the display."""
        self._display.print(line)


def progress_line(supervisor: Supervisor) -> str:
    """The state of the run in one line."""
    now, done = supervisor.throughput, supervisor.num_finished
    target = f"/{supervisor.target}" if supervisor.target else ""
    workers = "  ".join(
        f"{worker.plan.device.label}#{index} {worker.games} games"
        if worker.games or worker.stage == "playing"
        else f"{worker.plan.device.label}#{index} {worker.stage}"
        for index, worker in sorted(supervisor.workers.items())
    )
    searches = (
        f"{now.sims_per_s:,.0f} sims/s  cache {now.cache_hit_rate:.0%}  " if now.sims_per_s else ""
    )
    return (
        f"{supervisor.seconds:6.0f} s  {done}{target} games  "
        f"{now.plies_per_s:,.0f} plies/s  {searches}"
        f"fill {now.batch_fill:.0%}  busy {now.device_busy:.0%}  "
        f"{now.mean_time_steps:.2f} steps  ETA {time_left(supervisor)}  [{workers}]"
    )


def time_left(supervisor: Supervisor) -> str:
    """Time left at the rate so far, as h:mm:ss."""
    seconds = supervisor.remaining_s
    return "-:--:--" if seconds is None else as_clock(seconds)


def _picture(supervisor: Supervisor) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="dim", expand=False)
    all_workers = supervisor.throughput
    shown = [i for i, title in enumerate(COLUMNS) if title != "sims/s" or all_workers.sims_per_s]
    for title in (COLUMNS[i] for i in shown):
        table.add_column(title, justify="left" if title in ("worker", "stage") else "right")
    for index, worker in sorted(supervisor.workers.items()):
        cells = _worker_row(f"{index} {worker.plan.device.label}", worker)
        table.add_row(*(cells[i] for i in shown))
    if len(supervisor.workers) > 1:
        cells = ["all", "", f"{supervisor.num_finished:,}", *_figures(all_workers)]
        table.add_row(*(cells[i] for i in shown), style="bold")
    return Group(table, _bar(supervisor))


def _worker_row(name: str, worker: WorkerProcess) -> list[str]:
    seated = worker.meter.last.get("seated", 0)
    stage = f"playing {seated:,}" if worker.stage == "playing" and seated else worker.stage
    return [name, stage, f"{worker.games:,}", *_figures(worker.meter.recent())]


def _figures(throughput: Throughput) -> list[str]:
    return [
        f"{throughput.plies_per_s:,.0f}",
        f"{throughput.sims_per_s:,.0f}" if throughput.sims_per_s else "",
        f"{throughput.mean_time_steps:.2f}",
        f"{throughput.batch_fill:.0%}",
        f"{throughput.device_busy:.0%}",
        f"{throughput.mover_busy:.0%}",
    ]


def _bar(supervisor: Supervisor) -> RenderableType:
    target, done, stats = supervisor.target, supervisor.num_finished, supervisor.ledger.stats
    results = f"+{stats.white_wins} ={stats.draws} -{stats.black_wins}" if stats.games else ""
    games = f"{done:,}/{target:,} games" if target else f"{done:,} games"
    clock = f"{as_clock(supervisor.seconds)} < {time_left(supervisor)}"
    return bar_line(done, target or None, games, clock, last=results)
