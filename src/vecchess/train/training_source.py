"""One stretch of learning: how many updates, and from which positions each of them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from vecchess.train.data.batch_spec import BatchSpec
from vecchess.train.step.learner import Learner


@dataclass(frozen=True)
class IterationPlan:
    """What an iteration learns from; the same number of updates on all ranks."""

    num_steps: int
    plan: Callable[[int], BatchSpec]
    """From the number of the update, within the run, to what this rank has to load for it."""
    positions: int
    """Positions played, or read, since the run began, on all machines."""
    told: dict[str, Any] = field(default_factory=dict)
    """Facts about the games, for ``metrics.jsonl``."""


class TrainingSource(Protocol):
    """Where positions come from: games that are played, or a corpus."""

    def prepare(self, iteration: int, steps_before: int) -> IterationPlan | None:
        """Have the positions of an iteration ready; None where somebody asked to stop."""

    def state(self) -> dict[str, Any]:
        """What a checkpoint has to remember."""

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from such a checkpoint."""

    def examine(self, learner: Learner) -> dict[str, Any]:
        """What the network is worth on positions kept for that; empty where there are none."""
