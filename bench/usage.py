"""What the processes of a command hold, sampled from outside, and whether it grows. Linux."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import linear_regression
from time import monotonic

MOST_OF_IT = 0.6
SHM = Path("/dev/shm")


@dataclass
class Series:
    """What one process held over time."""

    name: str
    seconds: list[float] = field(default_factory=list)
    held: dict[str, list[float]] = field(default_factory=dict)

    def add(self, seconds: float, held: dict[str, float]) -> None:
        """Note one sample."""
        self.seconds.append(seconds)
        for kind, value in held.items():
            self.held.setdefault(kind, []).append(value)


class Usage:
    """Samples of a process and all below it."""

    def __init__(self, root: int) -> None:
        """``root``: the process id of the command."""
        self.series: dict[int, Series] = {}
        self.children: list[tuple[float, float]] = []
        self.shared: list[tuple[float, float]] = []
        self._root, self._start = root, monotonic()
        self._names: Counter[str] = Counter()

    def sample(self) -> None:
        """Look once."""
        seconds = monotonic() - self._start
        below = descendants(self._root)
        for pid in [self._root, *below]:
            held = held_by(pid)
            if held is not None:
                self._of(pid).add(seconds, held)
        self.children.append((seconds, len(below)))
        self.shared.append((seconds, len(list(SHM.iterdir()))))

    def growth(self, settle_s: float) -> dict[str, dict[str, float]]:
        """By how much each process grew between ``settle_s`` and the end, by name and kind.

        That is the slope of the line nearest to the samples, times the time: MB, descriptors,
        threads. Only processes that lived through most of it; "all" has the number of children
        and, of the machine, that of files in shared memory.
        """
        end = self.children[-1][0]
        found = {"all": {"children": _grown(self.children, settle_s),
                         "shared": _grown(self.shared, settle_s)}}  # fmt: skip
        for series in self.series.values():
            lived = [second for second in series.seconds if second >= settle_s]
            if lived and lived[-1] - lived[0] > MOST_OF_IT * (end - settle_s):
                found[series.name] = {
                    kind: _grown(list(zip(series.seconds, values, strict=True)), settle_s)
                    for kind, values in series.held.items()
                }
        return found

    def _of(self, pid: int) -> Series:
        if pid not in self.series:
            kind = "main" if pid == self._root else "child"
            self._names[kind] += 1
            self.series[pid] = Series(f"{kind} {self._names[kind]}".removesuffix(" 1"))
        return self.series[pid]


def _grown(samples: Sequence[tuple[float, float]], settle_s: float) -> float:
    """Growth from ``settle_s`` to the last sample, by the line nearest to them."""
    x, y = zip(*[sample for sample in samples if sample[0] >= settle_s], strict=True)
    if x[0] == x[-1]:
        return 0.0
    return round(linear_regression(x, y).slope * (x[-1] - x[0]), 3)


def held_by(pid: int) -> dict[str, float] | None:
    """What a process holds now; None for one that is gone."""
    folder = Path(f"/proc/{pid}")
    try:
        words = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        return {
            "rss_mb": int(words["VmRSS"].split()[0]) / 1024,
            "descriptors": float(len(os.listdir(folder / "fd"))),
            "threads": float(words["Threads"]),
        }
    except (OSError, KeyError):
        return None


def descendants(root: int) -> list[int]:
    """Living processes below ``root``."""
    below: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if words[0] != "Z":
            below.setdefault(int(words[1]), []).append(int(folder.name))
    found, open_ = [], [root]
    while open_:
        children = below.get(open_.pop(), [])
        found += children
        open_ += children
    return sorted(found)
