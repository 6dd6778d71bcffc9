"""What people see while pairings are played: live lines on a terminal, plain lines elsewhere."""

from time import monotonic
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from vecchess.arena.match.play_match import MatchProgress
from vecchess.evaluate.pair_result import PairResult, score_of
from vecchess.evaluate.pairing import Pairing
from vecchess.selfplay.supervisor.selfplay_progress import (
    LIVE_INTERVAL_S,
    PLAIN_INTERVAL_S,
    as_clock,
)


class QuietProgress:
    """Shows nothing."""

    def __init__(self, console: Console) -> None:
        """Lines would go to ``console``."""
        self.console = console

    def __enter__(self) -> Self:
        """Nothing to begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to end."""

    def begin(self, pairing: Pairing, number: int, total: int) -> None:
        """See ``tournament.Watcher``."""

    def update(self, standing: MatchProgress) -> None:
        """See ``tournament.Watcher``."""

    def end(self, encounter: PairResult, is_recalled: bool) -> None:
        """See ``tournament.Watcher``."""


class PlainProgress(QuietProgress):
    """A line for each pairing that is over, and one every ten seconds meanwhile."""

    def __init__(self, console: Console) -> None:
        """Lines go to ``console``."""
        super().__init__(console)
        self._heading = ""
        self._next = monotonic() + PLAIN_INTERVAL_S

    def begin(self, pairing: Pairing, number: int, total: int) -> None:
        """See ``tournament.Watcher``."""
        self._heading = f"{number:>{len(str(total))}}/{total}  {_names(pairing)}"
        self._next = monotonic() + PLAIN_INTERVAL_S

    def update(self, standing: MatchProgress) -> None:
        """See ``tournament.Watcher``."""
        if monotonic() >= self._next:
            self._next = monotonic() + PLAIN_INTERVAL_S
            self._print(f"{self._heading}: {_stand(standing)}")

    def end(self, encounter: PairResult, is_recalled: bool) -> None:
        """See ``tournament.Watcher``."""
        how = "played before" if is_recalled else f"{encounter.seconds:.1f} s"
        self._print(f"{self._heading}: {_result(encounter)}  ({how})")

    def _print(self, line: str) -> None:
        self.console.print(Text(line), soft_wrap=True)


class LiveProgress(PlainProgress):
    """Lines for what is over, and below them what is played, redrawn in place."""

    def __init__(self, console: Console) -> None:
        """The last lines of ``console`` are redrawn, from ``with`` on."""
        super().__init__(console)
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._start = monotonic()
        self._counts = 0, 1

    def __enter__(self) -> Self:
        """Take the terminal's last lines."""
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Give them back."""
        self._live.stop()

    def begin(self, pairing: Pairing, number: int, total: int) -> None:
        """See ``tournament.Watcher``."""
        super().begin(pairing, number, total)
        self._counts = number - 1, total
        self._live.update(Text(f"{self._heading}: about to begin"), refresh=True)
        self._next = 0.0

    def update(self, standing: MatchProgress) -> None:
        """See ``tournament.Watcher``."""
        if monotonic() < self._next:
            return
        self._next = monotonic() + LIVE_INTERVAL_S
        done, total = self._counts
        row = Table.grid(padding=(0, 1))
        row.add_row(
            ProgressBar(total=standing.num_games, completed=standing.counter.num_ended, width=28),
            Text(f"{self._heading}: {_stand(standing)}"),
            Text(f"{done}/{total} pairs  {as_clock(monotonic() - self._start)}", style="dim"),
        )
        self._live.update(row, refresh=True)


def _names(pairing: Pairing) -> str:
    return f"{pairing.first.name} - {pairing.second.name}"


def _stand(standing: MatchProgress) -> str:
    """Games that are over, and the score in the pairs that count already."""
    score, ended = standing.counter.score, standing.counter.num_ended
    words = f"{ended:,} of {standing.num_games:,} games"
    return words if score is None else f"{words}, {score.score:.1%} so far"


def _result(encounter: PairResult) -> str:
    score = score_of(encounter.meeting)
    low, high = score.interval
    games = f"+{score.wins} ={score.draws} -{score.losses}"
    return f"{games}  {score.score:.1%} [{low:.1%}, {high:.1%}]"


def progress_on(console: Console, quiet: bool) -> QuietProgress:
    """The kind of progress that suits ``console``."""
    if quiet:
        return QuietProgress(console)
    if console.is_terminal and not console.is_dumb_terminal:
        return LiveProgress(console)
    return PlainProgress(console)
