"""Reports on a training: printed lines, status, metrics and TensorBoard."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from rich.console import Console

from vecchess.config import TrainConfig
from vecchess.runtime.progress import ProgressDisplay
from vecchess.runtime.reporting import as_clock
from vecchess.selfplay.supervisor.status_view import match_line, metric_figures, show_status
from vecchess.selfplay.worker.networks import PublishedNet
from vecchess.store.metrics import THROUGHPUT, MetricsLog, plotted_match
from vecchess.store.status_file import State, StatusWriter
from vecchess.train.data.batch_spec import IterationPlan
from vecchess.train.distributed.ranks import Ranks
from vecchess.train.run_cost import RunCost
from vecchess.train.step.learner import Learner
from vecchess.train.training_matches import own_players

RATIOS = ("ratio_error", "clipped", "acting_error")
"""Figures of probability ratios. Before anything was learnt from a generation PPO's first two are
0, and the last one is where the learner is the network that acted, in int8."""


class LearningDisplay:
    """The updates of an iteration: progress, speed, metrics, and the time each rank waits."""

    def __init__(
        self, reporter: "TrainReporter", plan: IterationPlan, first: int, display: ProgressDisplay
    ) -> None:
        """``first`` updates of ``plan`` were done by an earlier process."""
        self._reporter, self._plan, self._first, self._display = reporter, plan, first, display
        self._start = monotonic()
        self.done = first
        """Updates of the plan that are done."""
        self._sums: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self.waits: list[float] = []
        """Seconds that each rank has waited for batches."""
        self.means: dict[str, float] = {}
        """Metrics of the last update."""
        self.ratios: dict[str, float] = {}
        """``RATIOS`` of the iteration's first update; empty without."""

    @property
    def seconds(self) -> float:
        """Since this process's first update of the iteration."""
        return max(monotonic() - self._start, 1e-9)

    def update(self, step: int, metrics: dict[str, float], waits: list[float]) -> None:
        """Show and log that ``step`` updates are done, with the ``metrics`` of the last and the
        seconds that each rank waited for its batch."""
        before = self.waits or [0.0] * len(waits)
        self.waits = [sum(pair) for pair in zip(before, waits, strict=True)]
        if metrics["skipped"]:
            title = self._reporter.title
            self._reporter.note(f"{title}  update {step:,} skipped: its gradient is not finite")
        else:
            self.means = metrics
        self.done = step
        self._reporter.set_learning(self._facts(step))
        if step == 1:
            self.ratios = {key: metrics[key] for key in RATIOS if key in metrics}
            self._reporter.log_ratios(self.ratios)
        self._sums.update(metrics)
        self._counts.update(metrics.keys())
        num_updates = self._counts["skipped"]
        if num_updates == self._reporter.config.log_every or step == self._plan.num_steps:
            means = {name: value / self._counts[name] for name, value in self._sums.items()}
            self._reporter.log_steps(means)
            self._sums.clear()
            self._counts.clear()
        show_status(self._display, self._reporter.status_facts, *self._rank_lines())

    def _facts(self, step: int) -> dict[str, Any]:
        """The progress for ``status.json``."""
        rate = (step - self._first) / self.seconds
        return {
            "step": step,
            "steps": self._plan.num_steps,
            "samples_per_s": round(rate * self._reporter.config.batch_size, 1),
            "eta_s": round((self._plan.num_steps - step) / rate, 1) if rate else None,
            **{name: round(value, 6) for name, value in self.means.items()},
        }

    def _rank_lines(self) -> list[str]:
        """A line for each rank where there are several: its rows, and the time it waits."""
        if len(self.waits) == 1:
            return []
        return [
            f"  rank {rank}: {rows:,} rows, waits {wait / self.seconds:.0%}"
            for rank, (rows, wait) in enumerate(zip(self._reporter.rows, self.waits, strict=True))
        ]


class TrainReporter:
    """Prints lines, and writes the status and metrics of a run.

    Only rank 0 prints lines, and writes metrics and a status.
    """

    def __init__(
        self,
        config: TrainConfig,
        console: Console | None,
        quiet: bool,
        status: StatusWriter | None,
        cost: RunCost,
    ) -> None:
        """``console`` is None on ranks that print nothing, ``status`` on ranks without one."""
        self.config, self.status, self.cost = config, status, cost
        self.log: MetricsLog | None = None
        """Where metrics go; None on ranks that write none."""
        console = console or Console(quiet=True)
        self._display = ProgressDisplay(console, quiet or console.quiet)
        self._learner: Learner | None = None
        self._iteration = 0

    @property
    def title(self) -> str:
        """The current iteration and the last."""
        return f"[{self._iteration}/{self.config.iterations}]"

    @property
    def rows(self) -> list[int]:
        """Rows of a batch that each rank computes now."""
        shares = self._learner.shares if self._learner else None
        return [len(shares.rows(rank)) for rank in range(len(shares.parts))] if shares else []

    def report_line(self, line: str) -> None:
        """Print a line."""
        if not self._display.is_quiet:
            self._display.print(line)

    def note(self, line: str) -> None:
        """Print a line, and keep it in the status."""
        self.report_line(line)
        if self.status is not None:
            self.status.add_note(line)

    def begin_iteration(self, learner: Learner, iteration: int) -> None:
        """Report on ``learner`` and ``iteration`` (1 first, 0 before it) from now on."""
        self._learner, self._iteration = learner, iteration
        if self.status is not None:
            self.status.update(iteration=iteration, iterations=self.config.iterations)

    def set_state(self, state: State) -> None:
        """Write the run's state to the status, without the facts of the state before."""
        if self.status is not None:
            self.status.update(state=state, load={}, workers=[], learning={}, eta_s=None)

    def status_facts(self) -> dict[str, Any]:
        """What the status says; of a rank without one, the state alone."""
        return {"state": "learning"} if self.status is None else self.status.facts

    def set_learning(self, facts: dict[str, Any]) -> None:
        """Write the progress of learning to the status."""
        if self.status is not None:
            self.status.update(learning=facts)

    @contextmanager
    def display_learning(self, plan: IterationPlan, first: int) -> Iterator[LearningDisplay]:
        """Show progress while the updates of ``plan`` are made, and a line at the end.

        ``first`` updates were done by an earlier process.
        """
        self.set_state("learning")
        self._display.restart()
        with self._display:
            yield (learning := LearningDisplay(self, plan, first, self._display))
        samples = (learning.done - first) * self.config.batch_size
        self.report_line(
            f"{self.title}  learnt {samples:,} samples in {as_clock(learning.seconds)} "
            f"({samples / learning.seconds:,.0f}/s)  {'  '.join(metric_figures(learning.means))}"
        )
        if learning.ratios:
            self.report_line(ratios_line(self.title, learning.ratios))
        for warning in self._learner.spike_warnings() if self._learner else []:
            self.note(f"{self.title}  {warning}")

    def log_load(self, load: dict[str, Any]) -> None:
        """Log the throughput of self-play."""
        self._write(THROUGHPUT, load)

    def log_games(self, plan: IterationPlan) -> None:
        """Log the games of an iteration, and print a line about them if it played any."""
        if "games" in plan.facts:
            self.report_line(games_line(self.title, plan.facts))
        self._write("play", plan.facts)

    def log_steps(self, means: dict[str, float]) -> None:
        """Log metrics, means over a few updates."""
        facts: dict[str, Any] = {name: round(value, 6) for name, value in means.items()}
        if self._learner is not None:
            rates = self._learner.rates_by_layer()
            facts["spikes"] = {layer: round(rate, 6) for layer, rate in rates.items()}
            if len(self.rows) > 1:
                facts["rows"] = self.rows
        self._write("learn", facts)

    def log_ratios(self, ratios: dict[str, float]) -> None:
        """Log ``RATIOS`` of an iteration's first update, if the objective has them."""
        if ratios:
            self._write("on_policy", ratios)

    def share_cost(self, ranks: Ranks) -> None:
        """Let machine 0 know what the run has cost on the others; all ranks call it."""
        own = self.cost.session() if ranks.is_local_main else {}
        _, *others = ranks.gather_object(own)
        if ranks.is_main:
            self.cost.set_others([each for each in others if each])

    def log_publish(self, net: PublishedNet) -> None:
        """Log a network that was published, what the run has cost so far, and its memory."""
        facts = {"cost": self.cost.facts(), "memory_bytes": self.cost.memory_bytes()}
        if self.status is not None:
            self.status.update(net=net.file.name)
        self._write("publish", {"net": net.name, "sha256": net.sha256} | facts)

    def log_evaluation(self, facts: dict[str, Any]) -> None:
        """Log and print the network's errors on held-out positions, if there are any."""
        if facts:
            self.report_line(evaluation_line(self.title, facts))
            self._write("examine", facts)

    def log_match(self, match: dict[str, Any]) -> None:
        """Log and print a progress match."""
        self.report_line(match_line(self.title, match, match["score_interval"]))
        facts = {key: match[key] for key in match if key != "iteration"}
        best = [*own_players(self.config)][-1]
        self._write("eval", facts, plotted_match(match, best))

    def log_gate(self, verdict: dict[str, Any]) -> None:
        """Log and print the gate's verdict on a candidate."""
        self.note(gate_line(self.title, verdict))
        self._write("gate", verdict)

    def _write(
        self, kind: str, facts: dict[str, Any], plotted: dict[str, Any] | None = None
    ) -> None:
        if self.log is not None and (learner := self._learner) is not None:
            self.log.write(kind, self._iteration, learner.steps, learner.samples, facts, plotted)


def ratios_line(title: str, ratios: dict[str, float]) -> str:
    """The line about the probability ratios before anything was learnt from the newest games."""
    acting = f"to the network that acted {ratios['acting_error']:.2g}"
    if "clipped" in ratios:
        own = f"{ratios['ratio_error']:.2g}, {ratios['clipped']:.1%} beyond the clip range"
        acting = f"{own}, {acting}"
    return f"{title}  first update: mean |ratio - 1| {acting}"


def games_line(title: str, facts: dict[str, Any]) -> str:
    """The line about a generation of games; ``facts`` of ``SelfplaySource``."""
    games = max(facts["games"], 1)
    return (
        f"{title}  played {facts['games']:,} games in {as_clock(facts['seconds'])} "
        f"({facts['games_per_s']:,.1f}/s)  White {facts['white_wins'] / games:.0%} "
        f"draws {facts['draws'] / games:.0%} Black {facts['black_wins'] / games:.0%}  "
        f"mean {facts['mean_length']:.0f} plies  {facts['positions']:,} new positions, "
        f"{facts['window_positions']:,} in the window"
    )


def evaluation_line(title: str, facts: dict[str, Any]) -> str:
    """The line about the deployed network's errors on held-out positions."""

    def row(key: str) -> str:
        return " ".join(f"{value:.3f}" for value in facts[key])

    named = {"top1": "top-1", "cross_entropy": "cross-entropy", "value_error": "value error"}
    figures = (f"{name} {row(key)}" for key, name in named.items() if key in facts)
    return f"{title}  held out: {'  '.join(figures)}  (after each step)"


def gate_line(title: str, facts: dict[str, Any]) -> str:
    """The line about the gate's verdict."""
    if not facts["games"]:
        return f"{title}  gate: the network has not changed"
    verdict = "admitted" if facts["admitted"] else "refused"
    return (
        f"{title}  gate: {verdict} against {facts['opponent']} after {facts['games']} games  "
        f"+{facts['wins']} ={facts['draws']} -{facts['losses']}  "
        f"LLR {facts['sprt']['llr']:.2f} ({facts['sprt']['state']})"
    )
