"""Where a run stands: what its machines say of themselves, as one."""

import shlex
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from vecchess.monitor.bottleneck import Bottleneck, find_bottleneck
from vecchess.monitor.status_reader import OVER, StatusReader, Values, number
from vecchess.runtime.progress import as_clock
from vecchess.runtime.signals import stopped_text
from vecchess.selfplay.supervisor.worker_throughput import Throughput, combined_throughput
from vecchess.store.stats import GameStats

KINDS = ("selfplay", "train")
SILENT_S = 60.0
"""A run that never told its state, and in whose folder nothing changed for so long, is over."""
NUM_NOTES = 20


@dataclass(frozen=True)
class RunStatus:
    """One run, all machines together. Counts and rates are added up, shares averaged."""

    kind: str = "selfplay"
    """ "selfplay" or "train"."""
    state: str = "unknown"
    """ "starting", "playing", "learning", "evaluating", "done", "stopped", "failed", "gone", or
    "unknown" of a run that does not say, as those of earlier versions."""
    is_over: bool = False
    """Nothing more will happen, unless somebody goes on with the run."""
    why: str = ""
    """One line for people on how it ended, or why little is known; "" while it goes on."""
    resume_command: str = ""
    """The command that goes on with a run which ended before it was done."""
    age_s: float | None = None
    """Seconds since the run was last heard of."""
    host: str = ""
    machines: int = 1
    started_unix: float = 0.0
    updated_unix: float = 0.0
    seconds: float = 0.0
    """From the start to the last word."""
    net: str = ""
    iteration: int = 0
    iterations: int = 0
    """Both 0 in self-play."""
    games: int = 0
    target: int = 0
    """Finished games of this generation, or run; wanted ones."""
    eta_s: float | None = None
    load: Values = field(default_factory=dict)
    """As ``selfplay.meter.Throughput.to_dict``; {} while nothing plays."""
    workers: list[Values] = field(default_factory=list)
    """Each with its "machine"."""
    devices: list[str] = field(default_factory=list)
    """What plays, or played last: "cpu", "gpu 3 (NVIDIA H200)"."""
    learning: Values = field(default_factory=dict)
    """step, steps, samples_per_s, eta_s, losses; {} while nothing learns."""
    stats: GameStats = field(default_factory=GameStats)
    """Recorded games of this generation."""
    bottleneck: Bottleneck = field(default_factory=Bottleneck)
    restarts: int = 0
    notes: list[Values] = field(default_factory=list)
    """The last ones: "time_unix", "line", "machine"."""
    summary: Values = field(default_factory=dict)
    """What the run printed with --json, once it ended."""

    @property
    def progress(self) -> float | None:
        """Share of this stage that is done, 0 to 1; None where that is not known."""
        step, steps = number(self.learning, "step"), number(self.learning, "steps")
        if self.state == "learning" and steps:
            return min(step / steps, 1.0)
        if self.state == "evaluating" or not self.target:
            return None
        return min(self.games / self.target, 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return vars(self) | {
            "stats": self.stats.to_dict(),
            "bottleneck": self.bottleneck.to_dict(),
            "progress": self.progress,
        }


def run_status_of(
    path: Path, statuses: Sequence[StatusReader], config: Values, changed_unix: float
) -> RunStatus:
    """The run at ``path``; ``statuses`` of its machines, the first one's first.

    config: the run's settings. changed_unix: when its folder last changed, for runs that do not
    say.
    """
    first = statuses[0]
    kind = first.text("kind")
    if kind not in KINDS:
        kind = "train" if "objective" in config else "selfplay"
    state, age = first.state, first.age_s
    is_over = state in OVER
    if state == "unknown":
        age = max(time.time() - changed_unix, 0.0)
        is_over = age > SILENT_S
    load = {} if is_over else _load(statuses)
    games, target = (int(_sum(statuses, key)) for key in ("games", "target"))
    workers = [] if is_over else list(_workers(statuses))
    return RunStatus(
        kind=kind,
        state=state,
        is_over=is_over,
        why=_why(first, state, age, path),
        resume_command=_go_on(path, kind) if state in ("stopped", "failed", "gone") else "",
        age_s=age,
        host=first.text("host"),
        machines=len(statuses),
        started_unix=first.number("started_unix"),
        updated_unix=first.number("updated_unix"),
        seconds=max(first.number("updated_unix") - first.number("started_unix"), 0.0),
        net=first.text("net"),
        iteration=int(first.number("iteration")),
        iterations=int(first.number("iterations")),
        games=games,
        target=target,
        eta_s=None if is_over else _eta(statuses),
        load=load,
        workers=workers,
        devices=[_device(worker) for worker in _workers(statuses)],
        learning={} if is_over else first.mapping("learning"),
        stats=_stats(statuses),
        bottleneck=_bottleneck(state, load, workers, target - games),
        restarts=int(_sum(statuses, "restarts")),
        notes=_notes(statuses, is_over),
        summary=first.mapping("summary"),
    )


def rounded_duration(seconds: float) -> str:
    """40 s, 12 min, 5 h, 3 days: about how long ago."""
    for unit, size, most in (("s", 1, 120), ("min", 60, 120), ("h", 3600, 48)):
        if seconds < most * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86400:.0f} days"


def _why(status: StatusReader, state: str, age_s: float | None, path: Path) -> str:
    """How it ended, in one line."""
    reason = status.text("why")
    heard = "" if age_s is None else f"; last heard of {rounded_duration(age_s)} ago"
    took = max(status.number("updated_unix") - status.number("started_unix"), 0)
    if state == "unknown":
        if not path.is_dir():
            return f"{path} is gone"
        return "it does not say how it stands (no status.json that can be read)" + heard.replace(
            "heard of", "changed"
        )
    return {
        "done": "all done" + (f" in {as_clock(took)}" if took else ""),
        "stopped": stopped_text(reason) if reason else "stopped",
        "failed": f"failed: {reason}" if reason else "failed",
        "gone": f"killed, or its machine went down{heard}",
    }.get(state, "")


def _go_on(path: Path, kind: str) -> str:
    return f"vecchess {kind} --run-dir {shlex.quote(str(path))} --resume"


def _sum(statuses: Iterable[StatusReader], key: str) -> float:
    return sum(status.number(key) for status in statuses)


def _eta(statuses: Iterable[StatusReader]) -> float | None:
    """Of the slowest machine; None where none knows."""
    known = [one.number("eta_s") for one in statuses if one.values.get("eta_s") is not None]
    return max(known, default=None)


def _load(statuses: Sequence[StatusReader]) -> Values:
    """Of all machines that play."""
    loads = [load for status in statuses if (load := status.mapping("load"))]
    if len(loads) < 2:
        return loads[0] if loads else {}
    names = [one.name for one in fields(Throughput)]
    parts = [Throughput(**{name: number(load, name) for name in names}) for load in loads]
    return combined_throughput(parts).to_dict()


def _workers(statuses: Sequence[StatusReader]) -> Iterable[Values]:
    for machine, status in enumerate(statuses):
        for worker in status.mappings("workers"):
            yield worker | {"machine": machine}


def _device(worker: Values) -> str:
    gpu = worker.get("gpu")
    name = gpu.get("name") if isinstance(gpu, dict) else None
    return f"{worker.get('device', '')}" + (f" ({name})" if name else "")


def _bottleneck(state: str, load: Values, workers: Sequence[Values], left: int) -> Bottleneck:
    if state == "learning":
        return Bottleneck(slowest="learning", share=1.0)
    has_gpu = any(str(worker.get("device", "cpu")) != "cpu" for worker in workers)
    seated = sum(int(number(worker, "seated")) for worker in workers)
    return find_bottleneck(load, has_gpu, left, seated)


def _stats(statuses: Iterable[StatusReader]) -> GameStats:
    total = GameStats()
    for status in statuses:
        total.add(_counts(status.mapping("stats")))
    return total


def _counts(values: Values) -> GameStats:
    """The counts among ``values``; what is no count is left out."""
    found = GameStats()
    for name in vars(found):
        with suppress(ValueError):
            found.add(GameStats.from_dict({name: values[name]} if name in values else {}))
    return found


def _notes(statuses: Sequence[StatusReader], is_over: bool) -> list[Values]:
    """The newest of all machines; one that fell silent while the others go on is worth one."""
    found: list[Values] = [
        {"time_unix": number(note, "time_unix"), "line": str(note.get("line", "")), "machine": nr}
        for nr, status in enumerate(statuses)
        for note in status.mappings("notes")
    ]
    if not is_over:
        for nr, status in enumerate(statuses[1:], start=1):
            if status.state == "gone":
                line = f"machine {nr} was last heard of {rounded_duration(status.age_s or 0)} ago"
                when = status.number("updated_unix")
                found.append({"time_unix": when, "line": line, "machine": nr})
    return sorted(found, key=lambda note: note["time_unix"])[-NUM_NOTES:]
