"""The status of a run, from its status file and what its folder shows (decision 154)."""

import shlex
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vecchess.monitor.bottleneck import Bottleneck, find_bottleneck
from vecchess.monitor.status_reader import OVER, StatusReader
from vecchess.runtime.reporting import as_clock, rounded_duration
from vecchess.runtime.signals import stopped_text
from vecchess.safe_parse import Values, mapping, mappings, number, text_of
from vecchess.selfplay.supervisor.status_view import progress_of, seconds_of
from vecchess.store.remote.run_mirror import place_of
from vecchess.store.stats import GameStats

KINDS = ("selfplay", "train")
SILENT_S = 360.0
"""A run without a status, in whose folder nothing changed for so long, counts as over. Times of
files are those of the disk's machine, see ``status_reader.SKEW_S``."""
RESUMABLE = ("stopped", "failed", "gone")
NUM_NOTES = 20


@dataclass(frozen=True)
class RunStatus:
    """What is going on in a run."""

    kind: str = "selfplay"
    """ "selfplay" or "train"."""
    state: str = "unknown"
    """ "starting", "playing", "learning", "evaluating", "done", "stopped", "failed", "gone", or
    "unknown" where there is no status that can be read."""
    is_over: bool = False
    """Whether nothing more will happen unless the run is resumed."""
    why: str = ""
    """One line on how the run ended, or why little is known; "" while it goes on."""
    resume_command: str = ""
    """The command that resumes a run which ended before it was done, else ""."""
    age_s: float | None = None
    """Seconds since the status was last written."""
    host: str = ""
    started_unix: float = 0.0
    updated_unix: float = 0.0
    seconds: float = 0.0
    """From the start to the last status."""
    net: str = ""
    iteration: int = 0
    iterations: int = 0
    """Both 0 in self-play."""
    games: int = 0
    target: int = 0
    """Finished and wanted games of this generation, or of the run."""
    positions: int = 0
    positions_target: int = 0
    """Played and wanted positions of a training's generation; 0 in self-play."""
    eta_s: float | None = None
    load: Values = field(default_factory=dict)
    """The fields of ``worker_throughput.Throughput``; {} while nothing plays."""
    workers: list[Values] = field(default_factory=list)
    devices: list[str] = field(default_factory=list)
    """Devices that play, or played last: "cpu", "gpu 3 (NVIDIA H200)"."""
    learning: Values = field(default_factory=dict)
    """step, steps, samples_per_s, eta_s, losses; {} while nothing learns."""
    stats: GameStats = field(default_factory=GameStats)
    """Recorded games of this generation."""
    bottleneck: Bottleneck = field(default_factory=Bottleneck)
    restarts: int = 0
    blocks_checked: int = 0
    """Blocks of players elsewhere that the learner played again."""
    notes: list[Values] = field(default_factory=list)
    """The last ones: "time_unix", "line"."""
    summary: Values = field(default_factory=dict)
    """The object that --json prints, once the run ended."""

    @property
    def progress(self) -> float | None:
        """Share of this stage that is done, 0 to 1; None where that is not known."""
        return progress_of(vars(self))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return vars(self) | {
            "stats": self.stats.to_dict(),
            "bottleneck": vars(self.bottleneck),
            "progress": self.progress,
        }


def run_status_of(
    path: Path, status: StatusReader, config: Values, recorded: GameStats, changed_unix: float
) -> RunStatus:
    """The status of the run at ``path``.

    config: the run's settings. recorded: counts over all recorded games, which are what a
    self-play that is over came to: its last status may be older. changed_unix: time of the
    folder's last change, for runs without a status.
    """
    kind = text_of(status.values, "kind")
    if kind not in KINDS:
        kind = "train" if "objective" in config else "selfplay"
    state, age, is_over = _state(status, changed_unix)
    counts_records = is_over and kind == "selfplay"
    common = RunStatus(
        kind=kind,
        state=state,
        is_over=is_over,
        why=_why(status, state, age, path),
        resume_command=_resume_command(path, kind) if state in RESUMABLE else "",
        age_s=age,
        host=text_of(status.values, "host"),
        started_unix=number(status.values, "started_unix"),
        updated_unix=number(status.values, "updated_unix"),
        seconds=seconds_of(status.values),
        net=text_of(status.values, "net"),
        iteration=int(number(status.values, "iteration")),
        iterations=int(number(status.values, "iterations")),
        games=recorded.games if counts_records else int(number(status.values, "games")),
        target=int(number(status.values, "target")),
        positions=int(number(status.values, "positions")),
        positions_target=int(number(status.values, "positions_target")),
        devices=[_device(worker) for worker in mappings(status.values, "workers")],
        stats=recorded if counts_records else _counts(mapping(status.values, "stats")),
        restarts=int(number(status.values, "restarts")),
        blocks_checked=int(number(status.values, "blocks_checked")),
        notes=_notes(status),
        summary=mapping(status.values, "summary"),
    )
    return common if is_over else _with_activity(common, status)


def _with_activity(found: RunStatus, status: StatusReader) -> RunStatus:
    """``found`` with what is going on now: load, workers, updates, and when it will be done."""
    load, workers = mapping(status.values, "load"), mappings(status.values, "workers")
    return replace(
        found,
        eta_s=None if status.values.get("eta_s") is None else number(status.values, "eta_s"),
        load=load,
        workers=workers,
        learning=mapping(status.values, "learning"),
        bottleneck=_bottleneck(found.state, load, workers, found.target - found.games),
    )


def _state(status: StatusReader, changed_unix: float) -> tuple[str, float | None, bool]:
    """State, seconds since the last sign of life, and whether the run is over."""
    if status.state != "unknown":
        return status.state, status.age_s, status.state in OVER
    age = max(time.time() - changed_unix, 0.0)
    return "unknown", age, age > SILENT_S


def _why(status: StatusReader, state: str, age_s: float | None, path: Path) -> str:
    """One line on how the run ended, or why little is known."""
    reason, took = text_of(status.values, "why"), seconds_of(status.values)
    ago = "" if age_s is None else f"{rounded_duration(age_s)} ago"
    if state == "unknown":
        if not path.is_dir():
            return f"{path} is gone"
        changed = f"; last changed {ago}" if ago else ""
        return f"status.json is missing or cannot be read{changed}"
    return {
        "done": "all done" + (f" in {as_clock(took)}" if took else ""),
        "stopped": stopped_text(reason) if reason else "stopped",
        "failed": f"failed: {reason}" if reason else "failed",
        "gone": "killed, or its machine went down" + (f"; last update {ago}" if ago else ""),
    }.get(state, "")


def _resume_command(path: Path, kind: str) -> str:
    return f"vecchess {kind} --run-dir {shlex.quote(place_of(path))} --resume"


def _device(worker: Values) -> str:
    gpu = worker.get("gpu")
    name = gpu.get("name") if isinstance(gpu, dict) else None
    return f"{worker.get('device', '')}" + (f" ({name})" if name else "")


def _bottleneck(state: str, load: Values, workers: Sequence[Values], left: int) -> Bottleneck:
    if state == "learning":
        return Bottleneck(slowest="learning", share=1.0)
    devices = [str(worker.get("device", "cpu")) for worker in workers]
    has_gpu = any(not each.split(": ")[-1].startswith("cpu") for each in devices)  # "player: cpu"
    seated = sum(int(number(worker, "seated")) for worker in workers)
    return find_bottleneck(load, has_gpu, left, seated)


def _counts(values: Values) -> GameStats:
    """The counts among ``values``; fields that are no counts are left out."""
    found = GameStats()
    for name in vars(found):
        with suppress(ValueError):
            found.add(GameStats.from_dict({name: values[name]} if name in values else {}))
    return found


def _notes(status: StatusReader) -> list[Values]:
    """The newest notes."""
    found: list[Values] = [
        {"time_unix": number(note, "time_unix"), "line": str(note.get("line", ""))}
        for note in mappings(status.values, "notes")
    ]
    return sorted(found, key=lambda note: note["time_unix"])[-NUM_NOTES:]
