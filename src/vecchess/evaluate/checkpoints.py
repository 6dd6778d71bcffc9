"""The networks of a run, or of several that go on from each other, and what they cost.

Those chosen by their cost play fixed opponents alone: games among networks of one run would tie the
ends of the curve together by opponents that share their weaknesses. Decision 230 (curves by cost).
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log
from pathlib import Path
from typing import Any

from vecchess.errors import ConfigError
from vecchess.inference.source import Source
from vecchess.runtime.cost_meter import Cost, sum_if_known
from vecchess.snn.integer.net_file import nets_in
from vecchess.store.metrics import METRICS_FILE, read_metrics
from vecchess.store.run_folder import RunFolder

SPAN = 1000.0
"""From the most expensive network down to a share of so much: three decades."""
_NUMBERED = re.compile(r"-s(\d+)-d(\d+)$")
"""A training names the networks that it publishes so: samples learnt, positions played."""


@dataclass(frozen=True)
class Checkpoint:
    """A network of a run. Numbers are None where its name has none."""

    file: Path
    samples: int | None
    positions: int | None
    cost: Cost | None = None
    """What the run had cost when it was published; None where that is not known."""

    @classmethod
    def of(cls, file: Path) -> "Checkpoint":
        """The network in ``file``."""
        match = _NUMBERED.search(file.stem)
        samples, positions = map(int, match.groups()) if match else (None, None)
        return cls(file, samples, positions)

    @property
    def source(self) -> Source:
        """What plays: the file, or the module of the run that it is in, with the file as weights.

        Raises ConfigError where the run's settings cannot be read.
        """
        from vecchess.selfplay.worker.networks import kept_source  # monitors do without kernels

        return kept_source(RunFolder(self.file.parent.parent), self.file)

    def after(self, before: "Checkpoint") -> "Checkpoint":
        """This network, its numbers and its cost counted on from those of ``before``."""
        return replace(
            self,
            samples=sum_if_known(before.samples, self.samples),
            positions=sum_if_known(before.positions, self.positions),
            cost=before.cost.then(self.cost) if before.cost and self.cost else None,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the cost where it is known."""
        facts = {"file": str(self.file), "samples": self.samples, "positions": self.positions}
        if self.cost is None:
            return facts
        return facts | {"cost": self.cost.to_dict() | {self.cost.unit: round(self.cost.hours, 6)}}


def list_history(runs: Sequence[Path], every: int = 1) -> list[Checkpoint]:
    """The networks of ``runs`` as ``list_checkpoints`` has them, each with its cost where known.

    A run goes on where the one before ended, whether from its weights or from its games: samples,
    positions and cost count on from those of that run's newest network, and its own network of no
    samples is left out. Raises ConfigError also for a run that is named twice.
    """
    if len({run.resolve() for run in runs}) < len(runs):
        raise ConfigError(f"a run cannot go on from itself: {', '.join(map(str, runs))}")
    found: list[Checkpoint] = []
    for run in runs:
        costs = costs_of(run)
        own = [replace(one, cost=costs.get(one.file.stem)) for one in list_checkpoints(run, every)]
        found += [one.after(found[-1]) for one in own if one.samples != 0] if found else own
    return found


def list_checkpoints(run: Path, every: int = 1) -> list[Checkpoint]:
    """Every ``every``-th network of a run, by the samples in its name, else by its time; the first
    and the newest always. Raises ConfigError where there are fewer than two."""
    found = sort_checkpoints(run / "nets")
    if len(found) < 2:
        raise ConfigError(f"{run} has {len(found)} networks in {run / 'nets'}: two make a history")
    return thinned(found, every)


def sort_checkpoints(folder: Path) -> list[Checkpoint]:
    """The networks in ``folder`` by the samples in their names where all tell them, else by the
    time of the files."""
    found = [Checkpoint.of(file) for file in nets_in(folder)]
    if all(one.samples is not None for one in found):
        found.sort(key=lambda one: (one.samples, one.positions))
    else:
        found.sort(key=lambda one: one.file.stat().st_mtime)
    return found


def thinned(found: Sequence[Checkpoint], every: int) -> list[Checkpoint]:
    """Every ``every``-th network, counted from the newest, so that it is among them; the first as
    well."""
    kept = list(found[::-1][::every][::-1])
    return kept if kept[0] is found[0] else [found[0], *kept]


def costs_of(run: Path) -> dict[str, Cost]:
    """What ``run`` had cost when each network was published, by the network's name.

    Empty where the run does not tell. Raises DataError where its measurements are damaged.
    """
    if not (run / METRICS_FILE).exists():
        return {}
    published = read_metrics(run, "publish")
    costs = {str(line.get("net")): Cost.from_dict(line.get("cost")) for line in published}
    return {name: cost for name, cost in costs.items() if cost is not None}


def choose_by_cost(run: Path, found: Sequence[Checkpoint], num: int) -> list[Checkpoint]:
    """Choose at most ``num`` of the trained networks ``found``: the newest, and those nearest to
    even steps down in the logarithm of the cost, to a thousandth of it or to the first.

    ``run`` is named where costs are missing. Raises ConfigError where fewer than two have a cost,
    and where these are not of one unit.
    """
    trained = [one for one in found if one.cost and one.cost.hours and one.samples != 0]
    if len({one.cost.unit for one in trained if one.cost}) > 1:
        raise ConfigError("some of the networks cost GPU-hours, others core-hours: not one curve")
    if len(trained) < 2:
        raise ConfigError(
            f"{run} has {len(trained)} trained networks whose cost is known, two make a curve; "
            "a run that began with an older vecchess has none"
        )
    logs = [log(one.cost.hours) for one in trained if one.cost]
    last = logs[-1]
    first = max(min(logs), last - log(SPAN))
    steps = [first + (last - first) * step / (num - 1) for step in range(num)]
    nearest = {min(range(len(logs)), key=lambda one: abs(logs[one] - at)) for at in steps}
    return [trained[index] for index in sorted(nearest)]


def run_digest(run: Path) -> str:
    """sha256 of a run's id and settings. Raises DataError where either cannot be read."""
    folder = RunFolder.existing(run)
    return hashlib.sha256(folder.run_id.encode() + folder.config.read_bytes()).hexdigest()
