"""What work costs: processor time of processes and their descendants, time of GPUs, energy; and the
memory that these processes have.

Energy is that of whole devices, whichever program uses them: of GPUs by NVML, of processors by
RAPL (``/sys/class/powercap``), which only root may read on most systems. Decision 230.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Annotated, Any, TypeVar

import pydantic

from vecchess.runtime.gpu_stats import GpuStats
from vecchess.runtime.reporting import as_clock

POWERCAP = Path("/sys/class/powercap")
PROC = Path("/proc")
Amount = Annotated[float, pydantic.Field(ge=0, le=1e15, allow_inf_nan=False)]
HOUR_S = 3600.0
MICRO = 1e6
DIGITS = 3
Number = TypeVar("Number", int, float)


@pydantic.dataclasses.dataclass(frozen=True)
class Cost:
    """Amounts since the beginning of some work."""

    wall_s: Amount = 0.0
    core_s: Amount = 0.0
    """Processor time of all processes, in seconds of one core."""
    gpu_s: Amount = 0.0
    """Wall time, times the number of GPUs."""
    gpu_joules: Amount | None = 0.0
    cpu_joules: Amount | None = 0.0
    """None where the system does not tell it."""

    @property
    def hours(self) -> float:
        """GPU-hours where GPUs were used, else core-hours."""
        return (self.gpu_s or self.core_s) / HOUR_S

    @property
    def unit(self) -> str:
        """What ``hours`` counts: "GPU-hours" or "core-hours"."""
        return "GPU-hours" if self.gpu_s else "core-hours"

    @property
    def joules(self) -> float | None:
        """Energy as far as the system tells it; None where it tells nothing."""
        known = [each for each in (self.gpu_joules, self.cpu_joules) if each is not None]
        return sum(known) if any(known) else None

    def __str__(self) -> str:
        """The cost for people: "0.25 core-hours in 0:07:30, 41 kJ"."""
        cores = f"{self.core_s / HOUR_S:.3g} core-hours"
        gpus = f"{self.gpu_s / HOUR_S:.3g} GPU-hours and " if self.gpu_s else ""
        energy = "" if self.joules is None else f", {self.joules / 1000:,.3g} kJ"
        return f"{gpus}{cores} in {as_clock(self.wall_s)}{energy}"

    def then(self, later: "Cost") -> "Cost":
        """The cost of this work and of ``later``, one after the other."""
        wall_s = self.wall_s + later.wall_s
        return self._sum(later, wall_s)

    def beside(self, other: "Cost") -> "Cost":
        """The cost of this work and of ``other``, on another machine at the same time."""
        return self._sum(other, max(self.wall_s, other.wall_s))

    def times(self, factor: float) -> "Cost":
        """The cost of ``factor`` times as much work."""
        values: dict[str, Any] = {
            key: None if value is None else value * factor for key, value in vars(self).items()
        }
        return Cost(**values)

    def _sum(self, other: "Cost", wall_s: float) -> "Cost":
        return Cost(
            wall_s,
            self.core_s + other.core_s,
            self.gpu_s + other.gpu_s,
            sum_if_known(self.gpu_joules, other.gpu_joules),
            sum_if_known(self.cpu_joules, other.cpu_joules),
        )

    def to_dict(self) -> dict[str, float | None]:
        """Plain values for JSON."""
        values = vars(self).items()
        return {key: None if value is None else round(value, DIGITS) for key, value in values}

    @classmethod
    def from_dict(cls, values: Any) -> "Cost | None":
        """The cost that ``to_dict`` wrote; None for anything else."""
        with suppress(pydantic.ValidationError, TypeError):
            return pydantic.TypeAdapter(cls).validate_python(values, strict=False)
        return None


class CostMeter:
    """Measures, from its creation on, what processes of this machine and its GPUs cost."""

    def __init__(
        self,
        pids: Iterable[int],
        num_gpus: int = 0,
        gpu_uuids: Sequence[str] = (),
        powercap: Path = POWERCAP,
        gpu_stats: GpuStats | None = None,
    ) -> None:
        """``pids``: processes that count with all their descendants, also those that end."""
        self.pids, self._num_gpus = list(pids), num_gpus
        self._lock = Lock()
        self._start = monotonic()
        self._first_core_s = self._last_core_s = core_seconds(self.pids)
        stats = gpu_stats or GpuStats()
        self._gpus = _EnergyCounter(lambda: _gpu_joules(stats, gpu_uuids, num_gpus))
        self._packages = _EnergyCounter(lambda: _package_joules(powercap))

    def read(self) -> Cost:
        """The cost so far. Any thread may call it."""
        with self._lock:
            wall_s = monotonic() - self._start
            self._last_core_s = max(self._last_core_s, core_seconds(self.pids))
            core_s = self._last_core_s - self._first_core_s
            joules = self._gpus.read(), self._packages.read()
            return Cost(wall_s, core_s, self._num_gpus * wall_s, *joules)


class _EnergyCounter:
    """The energy of some devices since its creation, from counters that only grow, or begin anew
    after their range."""

    def __init__(self, read: Callable[[], "dict[str, tuple[float, float]] | None"]) -> None:
        """``read``: by device the joules on its counter, and its range; None where not known."""
        self._read = read
        self._last = read()
        self._joules = 0.0

    def read(self) -> float | None:
        """Joules so far; None where they were not known at the beginning. To be called at least
        once in a range, which a processor takes some 10 minutes for."""
        if self._last is None:
            return None
        for name, (joules, joules_range) in (self._read() or {}).items():
            spent = joules - self._last.get(name, (joules, 0.0))[0]
            self._joules += max(spent if spent >= 0 else spent + joules_range, 0.0)
            self._last[name] = joules, joules_range
        return self._joules


def core_seconds(pids: Iterable[int]) -> float:
    """Processor time of processes and of their descendants, those that ended included.

    A process that runs under several of ``pids`` counts once. Without /proc it is the time of this
    process and of its children that have ended.
    """
    if not (PROC / "self" / "stat").is_file():
        times = os.times()
        return sum(times[:4])
    return sum(map(_ticks, _with_descendants(pids))) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pids: Iterable[int]) -> int | None:
    """Resident memory of processes and of their descendants; what some of them share counts for
    each. None without /proc."""
    if not (PROC / "self" / "statm").is_file():
        return None
    texts = (_text(PROC / str(pid) / "statm").split() for pid in _with_descendants(pids))
    return sum(int(words[1]) for words in texts if words) * os.sysconf("SC_PAGE_SIZE")


def _with_descendants(pids: Iterable[int]) -> Iterator[int]:
    """Yields each process once, before it looks for its children: the time of a child that ends
    meanwhile is missed now and counts later."""
    seen, waiting = set[int](), list(pids)
    while waiting:
        pid = waiting.pop()
        if pid not in seen:
            seen.add(pid)
            yield pid
            waiting += _children(pid)


def _ticks(pid: int) -> int:
    """Processor time of a process and of its children that have ended, proc_pid_stat(5)."""
    words = _text(PROC / str(pid) / "stat").rpartition(")")[2].split()
    return sum(map(int, words[11:15]))


def _children(pid: int) -> Iterator[int]:
    with suppress(OSError):
        for task in (PROC / str(pid) / "task").iterdir():
            yield from map(int, _text(task / "children").split())


def _gpu_joules(
    stats: GpuStats, uuids: Sequence[str], num_gpus: int
) -> dict[str, tuple[float, float]] | None:
    readings = stats.read(list(uuids)) if num_gpus else {}
    joules = {uuid: each["joules"] for uuid, each in readings.items() if "joules" in each}
    if len(joules) < num_gpus:
        return None
    return {uuid: (each, 0.0) for uuid, each in joules.items()}


def _package_joules(powercap: Path) -> dict[str, tuple[float, float]] | None:
    """The counters of the processors; None unless all can be read."""
    found = {}
    for zone in sorted(powercap.glob("intel-rapl:?")):  # AMD's have this name as well
        if _text(zone / "name").startswith("package"):
            energy, most = (_text(zone / f) for f in ("energy_uj", "max_energy_range_uj"))
            if not energy:
                return None
            found[zone.name] = int(energy) / MICRO, int(most or 0) / MICRO
    return found or None


def sum_if_known(first: Number | None, second: Number | None) -> Number | None:
    """The sum of both; None where one is not known."""
    return None if first is None or second is None else first + second


def _text(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""
