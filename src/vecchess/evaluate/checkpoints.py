"""The networks of a run, in the order of their training."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vecchess.errors import ConfigError
from vecchess.runtime.cost_meter import Cost

_NUMBERED = re.compile(r"-s(\d+)-d(\d+)$")
"""``train.publish`` names networks so: samples learnt, positions played."""


@dataclass(frozen=True)
class Checkpoint:
    """A network of a run. Numbers are None where its name has none."""

    file: Path
    samples: int | None
    positions: int | None
    cost: Cost | None = None
    """Of the run, when it was published; None where that is not known."""

    @classmethod
    def of(cls, file: Path) -> "Checkpoint":
        """The network in ``file``."""
        match = _NUMBERED.search(file.stem)
        samples, positions = map(int, match.groups()) if match else (None, None)
        return cls(file, samples, positions)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the cost where it is known."""
        facts = {"file": str(self.file), "samples": self.samples, "positions": self.positions}
        if self.cost is None:
            return facts
        return facts | {"cost": self.cost.to_dict() | {self.cost.unit: round(self.cost.hours, 6)}}


def list_checkpoints(run: Path, every: int = 1) -> list[Checkpoint]:
    """Every ``every``-th network of a run, by the samples in its name, else by its time; the first
    and the newest always. Raises ConfigError where there are fewer than two."""
    found = sort_checkpoints((run / "nets").glob("*.safetensors"))
    if len(found) < 2:
        raise ConfigError(f"{run} has {len(found)} networks in {run / 'nets'}: two make a history")
    return thinned(found, every)


def sort_checkpoints(files: Iterable[Path]) -> list[Checkpoint]:
    """Networks by the samples in their names where all tell them, else by the time of the files."""
    found = [Checkpoint.of(file) for file in sorted(files)]
    if all(one.samples is not None for one in found):
        found.sort(key=lambda one: (one.samples, one.positions))
    else:
        found.sort(key=lambda one: one.file.stat().st_mtime)
    return found


def thinned(found: Sequence[Checkpoint], every: int) -> list[Checkpoint]:
    """Counted from the newest, so that it is among them; the first as well."""
    kept = list(found[::-1][::every][::-1])
    return kept if kept[0] is found[0] else [found[0], *kept]
