"""Networks of a run by what they cost: a few, evenly spaced in the logarithm of the cost.

They play fixed opponents alone: games among networks of one run would tie the ends of the curve
together by opponents that share their weaknesses. Decision 230.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log
from pathlib import Path

from vecchess.errors import ConfigError
from vecchess.evaluate.checkpoints import Checkpoint
from vecchess.runtime.cost_meter import Cost
from vecchess.store.metrics import METRICS_FILE, read_metrics
from vecchess.store.run_folder import RunFolder

SPAN = 100.0
"""From the most expensive network down to a share of so much: two decades."""


def costs_of(run: Path) -> dict[str, Cost]:
    """By the name of each network of ``run`` what the run had cost when it was published.

    Empty where the run does not tell. Raises DataError where its measurements are damaged.
    """
    if not (run / METRICS_FILE).exists():
        return {}
    published = read_metrics(run, "publish")
    costs = {str(line.get("net")): Cost.from_dict(line.get("cost")) for line in published}
    return {name: cost for name, cost in costs.items() if cost is not None}


def with_costs(found: Sequence[Checkpoint], costs: Mapping[str, Cost]) -> list[Checkpoint]:
    """``found`` with the cost of each, as far as it is known."""
    return [replace(one, cost=costs.get(one.file.stem)) for one in found]


def choose_by_cost(run: Path, found: Sequence[Checkpoint], num: int) -> list[Checkpoint]:
    """Of the trained networks ``found`` of ``run`` at most ``num``: the newest, and those nearest
    to even steps down in the logarithm of the cost, to a hundredth of it or to the first network.

    Raises ConfigError where fewer than two have a cost.
    """
    trained = [one for one in found if one.cost and one.cost.hours and one.samples != 0]
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
