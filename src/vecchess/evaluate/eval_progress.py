"""The display of an evaluation: a line for each pairing, and the state of the current one."""

from time import monotonic

from rich.console import Console

from vecchess.arena.match.play_match import MatchProgress
from vecchess.evaluate.pairing import Pairing, PairResult
from vecchess.runtime.progress import ProgressDisplay, bar_line
from vecchess.runtime.reporting import as_clock


class EvalProgress(ProgressDisplay):
    """Shows pairings while they are played."""

    def __init__(self, console: Console, quiet: bool) -> None:
        """All lines go to ``console``; ``quiet`` shows nothing."""
        super().__init__(console, quiet)
        self._start = monotonic()
        self._heading, self._done, self._total = "", 0, 1

    def begin_pairing(self, pairing: Pairing, number: int, total: int) -> None:
        """A pairing is next, the ``number``-th, from 1, of ``total``."""
        names = f"{pairing.first.name} - {pairing.second.name}"
        self._heading = f"{number:>{len(str(total))}}/{total}  {names}"
        self._done, self._total = number - 1, total
        self.draw(f"{self._heading}: about to begin")
        self.restart()

    def show_match(self, progress: MatchProgress) -> None:
        """Show how far its match has come; called several times a second."""
        ended = progress.counter.num_ended

        def line() -> str:
            score = progress.counter.score
            so_far = "" if score is None else f", {score.score:.1%} so far"
            return f"{self._heading}: {ended:,} of {progress.num_games:,} games{so_far}"

        last = f"{self._done}/{self._total} pairs  {as_clock(monotonic() - self._start)}"
        self.update(line, lambda: bar_line(ended, progress.num_games, line(), last=last))

    def end_pairing(self, result: PairResult, is_recalled: bool) -> None:
        """Print its result; ``is_recalled`` where it was played before."""
        if self.is_quiet:
            return
        score = result.score
        low, high = score.interval
        games = f"+{score.wins} ={score.draws} -{score.losses}"
        how = "played before" if is_recalled else f"{result.seconds:.1f} s"
        self.print(f"{self._heading}: {games}  {score.score:.1%} [{low:.1%}, {high:.1%}]  ({how})")
