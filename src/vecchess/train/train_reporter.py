"""What people see while a network learns, and what is kept of it: lines, metrics, TensorBoard."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from vecchess.config import TrainConfig
from vecchess.runtime.reporting import as_clock
from vecchess.store.metrics import THROUGHPUT, MetricsLog
from vecchess.store.status_file import State, StatusWriter
from vecchess.train.progress_matches import OPPONENTS, player_name, queries
from vecchess.train.publish import PublishedNet
from vecchess.train.step.learner import Learner
from vecchess.train.step.step_metrics import StepMetrics
from vecchess.train.training_source import IterationPlan

PLAIN_INTERVAL_S = 10.0
LIVE_INTERVAL_S = 0.25
SHOWN = [
    ("loss", "loss"), ("policy", "loss_policy"), ("value", "loss_value"), ("entropy", "entropy"),
    ("top-1", "top1"), ("kl", "kl"), ("spikes", "spike_rate"), ("lr", "lr"),
]  # fmt: skip
"""Heading and key of the figures in a line about learning."""


class LearningDisplay:
    """A stretch of updates: how far, how fast, what the losses are, what each rank waits for."""

    def __init__(
        self, reporter: "TrainReporter", stage: IterationPlan, first: int, live: Live | None
    ) -> None:
        """``first`` updates of ``stage`` were done earlier. ``live`` is drawn in place."""
        self._reporter, self._stage, self._first, self._live = reporter, stage, first, live
        self._start = monotonic()
        self._next = self._start + (LIVE_INTERVAL_S if live else PLAIN_INTERVAL_S)
        self._sums: dict[str, float] = {}
        self._num_logged = self._num_summed = 0
        self.waits: list[float] = []
        self.last: dict[str, float] = {}

    @property
    def seconds(self) -> float:
        """Since the first update of this stretch."""
        return max(monotonic() - self._start, 1e-9)

    def update(self, step: int, told: StepMetrics) -> None:
        """``step`` updates of the stage are done; ``told`` by the last of them."""
        self.waits = [
            wait + before
            for wait, before in zip(
                told.notes[1:], self.waits or [0.0] * len(told.notes[1:]), strict=True
            )
        ]
        self.last = told.means
        self._reporter.tell_learning(self.facts(step))
        for name, value in told.means.items():
            self._sums[name] = self._sums.get(name, 0.0) + value
        self._num_summed += 1
        if self._num_summed == self._reporter.config.log_every or step == self._stage.num_steps:
            means = {name: value / self._num_summed for name, value in self._sums.items()}
            self._reporter.learnt_step(means)
            self._sums, self._num_summed = {}, 0
        if monotonic() >= self._next:
            self._draw(step)

    def _draw(self, step: int) -> None:
        self._next = monotonic() + (LIVE_INTERVAL_S if self._live else PLAIN_INTERVAL_S)
        text = self.text(step)
        if self._live:
            self._live.update(Text(text), refresh=True)
        else:
            self._reporter.report_line(text)

    def facts(self, step: int) -> dict[str, Any]:
        """Where the stretch stands, for ``status.json``."""
        rate = (step - self._first) / self.seconds
        return {
            "step": step,
            "steps": self._stage.num_steps,
            "samples_per_s": round(rate * self._reporter.config.batch_size, 1),
            "eta_s": round((self._stage.num_steps - step) / rate, 1) if rate else None,
            **{name: round(value, 6) for name, value in self.last.items()},
        }

    def text(self, step: int) -> str:
        """Where the stretch stands."""
        rate = (step - self._first) / self.seconds
        left = as_clock((self._stage.num_steps - step) / rate) if rate else "-:--:--"
        samples = rate * self._reporter.config.batch_size
        text = (
            f"{self._reporter.title}  learning {step:,} of {self._stage.num_steps:,} updates  "
            f"{samples:,.0f} samples/s  {figures(self.last)}  ETA {left}"
        )
        if len(self.waits) == 1:
            return text
        lines = [f"  rank {r}: waits {w / self.seconds:.0%}" for r, w in enumerate(self.waits)]
        return "\n".join([text, *lines])


class TrainReporter:
    """One rank's voice. Ranks other than the first are silent and keep nothing."""

    def __init__(
        self, config: TrainConfig, console: Console | None, quiet: bool, status: StatusWriter | None
    ) -> None:
        """Lines go to ``console``; None on ranks that have no say. ``status`` is the machine's;
        None on ranks that do not lead one."""
        self.config, self.status = config, status
        self._console, self._quiet = console, quiet
        self._log: MetricsLog | None = None
        self._learner: Learner | None = None
        self._iteration = 0

    @property
    def title(self) -> str:
        """The iteration that is going on."""
        return f"[{self._iteration}/{self.config.iterations}]"

    def keep(self, log: MetricsLog) -> None:
        """Write facts to ``log`` from here on."""
        self._log = log

    def report_line(self, line: str) -> None:
        """A line for people."""
        if self._console is not None and not self._quiet:
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def begin(self, learner: Learner, iteration: int) -> None:
        """Figures are of ``learner`` and ``iteration`` (1 first, 0 before it) from here on."""
        self._learner, self._iteration = learner, iteration
        if self.status is not None:
            self.status.tell(iteration=iteration, iterations=self.config.iterations)

    def enter(self, state: State) -> None:
        """What the run is at from here on."""
        if self.status is not None:
            self.status.tell(state=state, load={}, workers=[], learning={}, eta_s=None)

    def tell_learning(self, facts: dict[str, Any]) -> None:
        """How far the learning is."""
        if self.status is not None:
            self.status.tell(learning=facts)

    def note(self, line: str) -> None:
        """A line that people may want to find again."""
        self.report_line(line)
        if self.status is not None:
            self.status.note(line)

    def loaded(self, load: dict[str, Any]) -> None:
        """How fast games are played just now."""
        self._write(THROUGHPUT, load)

    def played(self, stage: IterationPlan) -> None:
        """The positions of an iteration are there."""
        if "games" in stage.told:
            self.report_line(play_line(self.title, stage.told))
        self._write("play", stage.told)

    @contextmanager
    def learning(self, stage: IterationPlan, first: int) -> Iterator[LearningDisplay]:
        """A line while the updates of a stage are made, and one when they are."""
        self.enter("learning")
        console = self._console
        if console and console.is_terminal and not console.is_dumb_terminal and not self._quiet:
            with Live(console=console, auto_refresh=False, transient=True) as live:
                yield (line := LearningDisplay(self, stage, first, live))
        else:
            yield (line := LearningDisplay(self, stage, first, None))
        samples = (stage.num_steps - first) * self.config.batch_size
        self.report_line(
            f"{self.title}  learnt {samples:,} samples in {as_clock(line.seconds)} "
            f"({samples / line.seconds:,.0f}/s)  {figures(line.last)}"
        )
        for alarm in self._learner.alarms() if self._learner else []:
            self.note(f"{self.title}  {alarm}")

    def learnt_step(self, means: dict[str, float]) -> None:
        """Means over a few updates."""
        facts: dict[str, Any] = {name: round(value, 6) for name, value in means.items()}
        if self._learner is not None:
            rates = self._learner.rates_by_layer()
            facts["spikes"] = {layer: round(rate, 6) for layer, rate in rates.items()}
        self._write("learn", facts)

    def published(self, net: PublishedNet) -> None:
        """A network is in the run's folder."""
        self._write("publish", {"net": net.name, "sha256": net.sha256})

    def examined(self, facts: dict[str, Any]) -> None:
        """Positions held out were asked about."""
        if facts:
            self.report_line(examined_line(self.title, facts))
            self._write("examine", facts)

    def matched(self, match: dict[str, Any]) -> None:
        """A match for progress is over."""
        self.report_line(match_line(self.title, match))
        facts = {key: match[key] for key in match if key != "iteration"}
        self._write("eval", facts, plotted_match(match, player_name(queries(self.config)[-1])))

    def gated(self, judged: dict[str, Any]) -> None:
        """The gate has judged a candidate."""
        self.note(gate_line(self.title, judged))
        self._write("gate", judged)

    def _write(
        self, kind: str, facts: dict[str, Any], plotted: dict[str, Any] | None = None
    ) -> None:
        if self._log is not None and self._learner is not None:
            progress = self._learner.progress
            self._log.write(kind, self._iteration, progress.steps, progress.samples, facts, plotted)


def plotted_match(match: dict[str, Any], best: str) -> dict[str, Any]:
    """What TensorBoard gets of a match: tags by player and opponent, as "eval/elo/policy-greedy".

    "eval/elo" itself is the network as it plays ``best`` against random moves, which are 0 Elo on
    the ladder.
    """
    player, opponent = match["player"], match["opponent"]
    name = f"{player}-{opponent}".replace(" ", "_")
    plotted = {f"{key}/{name}": match[key] for key in ("elo", "score")}
    if (player, opponent) == (best, OPPONENTS[0]):
        plotted["elo"] = match["elo"]
    return plotted


def figures(told: dict[str, float]) -> str:
    """Losses, entropy, spike rate and learning rate, as far as they are told."""
    return "  ".join(f"{name} {told[key]:.3g}" for name, key in SHOWN if key in told)


def play_line(title: str, told: dict[str, Any]) -> str:
    """What a generation of games came to; ``told`` by ``Generations``."""
    games = max(told["games"], 1)
    return (
        f"{title}  played {games:,} games in {as_clock(told['seconds'])} "
        f"({told['games_per_s']:,.1f}/s)  White {told['white_wins'] / games:.0%} "
        f"draws {told['draws'] / games:.0%} Black {told['black_wins'] / games:.0%}  "
        f"mean {told['mean_length']:.0f} plies  {told['positions']:,} new positions, "
        f"{told['window_positions']:,} in the window"
    )


def examined_line(title: str, facts: dict[str, Any]) -> str:
    """How the deployed network does on positions held out, at each time step."""

    def row(key: str, digits: str) -> str:
        return " ".join(format(value, digits) for value in facts[key])

    return (
        f"{title}  held out: top-1 {row('top1', '.3f')}  cross-entropy "
        f"{row('cross_entropy', '.3f')}  value error {row('value_error', '.3f')}  (after each step)"
    )


def gate_line(title: str, judged: dict[str, Any]) -> str:
    """What the gate says of a candidate."""
    if not judged["games"]:
        return f"{title}  gate: the network has not changed"
    verdict = "admitted" if judged["admitted"] else "refused"
    return (
        f"{title}  gate: {verdict} against {judged['opponent']} after {judged['games']} games  "
        f"+{judged['wins']} ={judged['draws']} -{judged['losses']}  "
        f"LLR {judged['sprt']['llr']:.2f} ({judged['sprt']['state']})"
    )


def match_line(title: str, match: dict[str, Any]) -> str:
    """How a match ended, for the network."""
    low, high = match["score_interval"]
    return (
        f"{title}  {match['player']} against {match['opponent']}: {match['score']:.1%} "
        f"[{low:.1%}, {high:.1%}]  +{match['wins']} ={match['draws']} -{match['losses']}"
    )
