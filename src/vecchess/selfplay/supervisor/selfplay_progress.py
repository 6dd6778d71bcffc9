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
    now = supervisor.throughput
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
        f"{supervisor.seconds:6.0f} s  {_done_text(supervisor)}  "
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
    stats = supervisor.ledger.stats
    results = f"+{stats.white_wins} ={stats.draws} -{stats.black_wins}" if stats.games else ""
    clock = f"{as_clock(supervisor.seconds)} < {time_left(supervisor)}"
    done, wanted, _ = _done(supervisor)
    return bar_line(done, wanted or None, _done_text(supervisor), clock, last=results)


def _done(supervisor: Supervisor) -> tuple[int, int, str]:
    """What is done of the run or generation, what is wanted (0: no end), and of what."""
    done, wanted = supervisor.positions
    if wanted:
        return done, wanted, "positions"
    return supervisor.num_finished, supervisor.target, "games"


def _done_text(supervisor: Supervisor) -> str:
    done, wanted, unit = _done(supervisor)
    return f"{done:,}/{wanted:,} {unit}" if wanted else f"{done:,} {unit}"
