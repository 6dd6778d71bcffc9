"""The display of an evaluation: a line for each pairing, and the state of the current one."""

from time import monotonic
from typing import Self

from rich.console import Console

from vecchess.arena.match.play_match import MatchProgress
from vecchess.evaluate.pair_result import PairResult
from vecchess.evaluate.pairing import Pairing
from vecchess.runtime.progress import ProgressDisplay, bar_line
from vecchess.runtime.reporting import as_clock


class EvalProgress:
    """Shows pairings while they are played, see ``run_eval.PairingObserver``."""

    def __init__(self, console: Console, quiet: bool) -> None:
        """All lines go to ``console``; ``quiet`` shows nothing."""
        self._display = ProgressDisplay(console, quiet)
        self._start = monotonic()
        self._heading, self._done, self._total = "", 0, 1

    def __enter__(self) -> Self:
        """Begin to draw."""
        self._display.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove what is drawn in place."""
        self._display.__exit__()

    def begin(self, pairing: Pairing, number: int, total: int) -> None:
        """See ``run_eval.PairingObserver``."""
        names = f"{pairing.first.name} - {pairing.second.name}"
        self._heading = f"{number:>{len(str(total))}}/{total}  {names}"
        self._done, self._total = number - 1, total
        self._display.draw(f"{self._heading}: about to begin")
        self._display.restart()

    def update(self, progress: MatchProgress) -> None:
        """See ``run_eval.PairingObserver``."""
        ended = progress.counter.num_ended

        def line() -> str:
            score = progress.counter.score
            so_far = "" if score is None else f", {score.score:.1%} so far"
            return f"{self._heading}: {ended:,} of {progress.num_games:,} games{so_far}"

        last = f"{self._done}/{self._total} pairs  {as_clock(monotonic() - self._start)}"
        self._display.update(line, lambda: bar_line(ended, progress.num_games, line(), last=last))

    def end(self, result: PairResult, is_recalled: bool) -> None:
        """See ``run_eval.PairingObserver``."""
        if self._display.is_quiet:
            return
        score = result.score
        low, high = score.interval
        games = f"+{score.wins} ={score.draws} -{score.losses}"
        how = "played before" if is_recalled else f"{result.seconds:.1f} s"
        self._display.print(
            f"{self._heading}: {games}  {score.score:.1%} [{low:.1%}, {high:.1%}]  ({how})"
        )
