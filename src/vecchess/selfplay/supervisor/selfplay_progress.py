"""What people see while games are played: live lines on a terminal, plain lines elsewhere."""

from time import monotonic

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from vecchess.selfplay.supervisor.supervisor import Supervisor
from vecchess.selfplay.supervisor.worker_process import WorkerProcess
from vecchess.selfplay.supervisor.worker_throughput import Throughput

PLAIN_INTERVAL_S = 10.0
LIVE_INTERVAL_S = 0.25


class QuietWatcher:
    """Shows nothing but what went wrong."""

    def __init__(self, console: Console) -> None:
        """Lines go to ``console``."""
        self._console = console

    def update(self, campaign: Supervisor) -> None:
        """Nothing to show."""

    def note(self, line: str) -> None:
        """Print ``line``."""
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)


class PlainWatcher(QuietWatcher):
    """A line every ten seconds, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        """The first line comes after the first stretch."""
        super().__init__(console)
        self._next = monotonic() + PLAIN_INTERVAL_S

    def update(self, campaign: Supervisor) -> None:
        """Print a line if one is due: not when a generation has just begun, nor when it is over."""
        if campaign.seconds < PLAIN_INTERVAL_S or campaign.ledger.is_complete:
            return
        if monotonic() >= self._next:
            self._next = monotonic() + PLAIN_INTERVAL_S
            self.note(progress_line(campaign))


class LiveWatcher(QuietWatcher):
    """A line for each worker and one for all, redrawn in place."""

    def __init__(self, console: Console) -> None:
        """Nothing is drawn before the first update."""
        super().__init__(console)
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._next = 0.0

    def __enter__(self) -> "LiveWatcher":
        """Take the terminal's last lines."""
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Give them back."""
        self._live.stop()

    def update(self, campaign: Supervisor) -> None:
        """Redraw if it is time; a generation that is over leaves nothing."""
        if campaign.ledger.is_complete:
            self._live.update("", refresh=True)
        elif monotonic() >= self._next:
            self._next = monotonic() + LIVE_INTERVAL_S
            self._live.update(_picture(campaign), refresh=True)


def progress_line(campaign: Supervisor) -> str:
    """Where the run stands, in one line."""
    load, done, target = campaign.load, campaign.num_finished, campaign.ledger.num_target
    workers = "  ".join(
        f"{worker.plan.device.label}#{index} {worker.games} games"
        if worker.games or worker.stage == "playing"
        else f"{worker.plan.device.label}#{index} {worker.stage}"
        for index, worker in sorted(campaign.workers.items())
    )
    return (
        f"{campaign.seconds:6.0f} s  {done}/{target} games  {load.plies_per_s:,.0f} plies/s  "
        f"{_search_figures(load)}"
        f"fill {load.batch_fill:.0%}  busy {load.device_busy:.0%}  "
        f"{load.mean_time_steps:.2f} steps  ETA {remaining(campaign)}  [{workers}]"
    )


def _search_figures(load: Throughput) -> str:
    """Simulations and what of them the cache knew, where moves are searched."""
    if not load.sims_per_s:
        return ""
    return f"{load.sims_per_s:,.0f} sims/s  cache {load.cache_hit_rate:.0%}  "


def remaining(campaign: Supervisor) -> str:
    """Time left at the rate so far, as h:mm:ss."""
    seconds = campaign.remaining_s
    return "-:--:--" if seconds is None else as_clock(seconds)


def as_clock(seconds: float) -> str:
    """3725 as 1:02:05."""
    minutes, whole = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{whole:02d}"


def _picture(campaign: Supervisor) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="dim", expand=False)
    for title in (
        "worker",
        "stage",
        "games",
        "plies/s",
        "sims/s",
        "steps",
        "fill",
        "network",
        "movers",
    ):
        table.add_column(title, justify="left" if title in ("worker", "stage") else "right")
    for index, worker in sorted(campaign.workers.items()):
        table.add_row(*_row(f"{index} {worker.plan.device.label}", worker))
    if len(campaign.workers) > 1:
        table.add_row(
            "all", "", f"{campaign.num_finished:,}", *_figures(campaign.load), style="bold"
        )
    return Group(table, _bar(campaign))


def _row(name: str, worker: WorkerProcess) -> list[str]:
    seated = worker.meter.last.get("seated", 0)
    stage = f"playing {seated:,}" if worker.stage == "playing" and seated else worker.stage
    return [name, stage, f"{worker.games:,}", *_figures(worker.meter.recent())]


def _figures(load: Throughput) -> list[str]:
    return [
        f"{load.plies_per_s:,.0f}",
        f"{load.sims_per_s:,.0f}" if load.sims_per_s else "",
        f"{load.mean_time_steps:.2f}",
        f"{load.batch_fill:.0%}",
        f"{load.device_busy:.0%}",
        f"{load.mover_busy:.0%}",
    ]


def _bar(campaign: Supervisor) -> RenderableType:
    target, done = campaign.ledger.num_target, campaign.num_finished
    stats = campaign.ledger.stats
    results = f"+{stats.white_wins} ={stats.draws} -{stats.black_wins}" if stats.games else ""
    row = Table.grid(padding=(0, 1))
    row.add_row(
        ProgressBar(total=target, completed=done, width=28),
        Text(f"{done:,}/{target:,} games"),
        Text(f"{as_clock(campaign.seconds)} < {remaining(campaign)}"),
        Text(results, style="dim"),
    )
    return row
