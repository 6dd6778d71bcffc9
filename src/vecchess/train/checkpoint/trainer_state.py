"""What a checkpoint of a run holds, and how a run goes on from it.

Everything that decides what comes next: float weights, AdamW's moments by the names of the
parameters (so that another grouping or number of ranks can load them), the scaler, counters, what
the source of positions knows, matches. Random numbers need no state: each is drawn by counter.
"""

import io
from dataclasses import asdict
from typing import Any

import torch

from vecchess.errors import ConfigError
from vecchess.train.checkpoint.checkpoint_folder import CheckpointFolder
from vecchess.train.checkpoint.state_dict import (
    load_optimizer_state,
    optimizer_state,
    packed,
    unpacked,
)
from vecchess.train.step.learner import Progress
from vecchess.train.trainer import Trainer, TrainProgress
from vecchess.train.training_source import TrainingSource


class TrainerState:
    """Checkpoints of one run. Rank 0 reads and writes them; all ranks go on from what it read."""

    def __init__(
        self, trainer: Trainer, source: TrainingSource, folder: CheckpointFolder | None
    ) -> None:
        """``folder`` is rank 0's alone."""
        self._trainer, self._source, self._folder = trainer, source, folder
        self._saved: dict[str, Any] | None = None

    def save(self) -> None:
        """Write a checkpoint, if there is anything new; raises DataError where the disk refuses."""
        if self._folder is None or self._saved == asdict(self._trainer.standing):
            return
        self._saved = asdict(self._trainer.standing)
        learner, standing = self._trainer.learner, self._trainer.standing
        name = f"{standing.iteration:06d}-{learner.progress.steps:09d}"
        facts = {
            "iteration": standing.iteration,
            "step": learner.progress.steps,
            "samples": learner.progress.samples,
            "positions": standing.positions,
            "world_size": self._trainer.ranks.world_size,
            "net": learner.net.config.facts(),
        }
        self._folder.save(name, self._collect(), facts)

    def restore(self) -> bool:
        """Take everybody back to the newest checkpoint; False where there is none.

        Raises ConfigError where it is of another network.
        """
        ranks = self._trainer.ranks
        loaded = self._folder.latest(self._trainer.reporter.report_line) if self._folder else None
        if not ranks.broadcast_object({"found": loaded is not None})["found"]:
            return False
        data = ranks.broadcast_bytes(_to_bytes(loaded.state) if loaded else b"")
        self._distribute(_from_bytes(data))
        return True

    def _collect(self) -> dict[str, Any]:
        learner = self._trainer.learner
        return {
            "net": dict(learner.net.state_dict()),
            "folded": learner.net.folded,
            "optimiser": optimizer_state(learner.optimiser, learner.net),
            "scaler": learner.scaler.state_dict(),
            "progress": asdict(learner.progress),
            "rates": learner.rates,
            "micro_batch": learner.micro_batch,
            "standing": asdict(self._trainer.standing),
            "source": self._source.state(),
        }

    def _distribute(self, state: dict[str, Any]) -> None:
        learner = self._trainer.learner
        if state["folded"]:
            learner.fold()
        try:
            learner.net.load_state_dict(state["net"])
        except RuntimeError as error:
            reason = str(error).split("\n")[0]
            raise ConfigError(f"the checkpoint is of another network: {reason}") from None
        load_optimizer_state(learner.optimiser, learner.net, state["optimiser"])
        learner.scaler.load_state_dict(state["scaler"])
        learner.progress = Progress(**state["progress"])
        learner.rates = state["rates"]
        self._trainer.standing = TrainProgress(**state["standing"])
        self._source.restore(state["source"])


def _to_bytes(state: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    torch.save(packed(state), buffer)
    return buffer.getvalue()


def _from_bytes(data: bytes) -> dict[str, Any]:
    values = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    state: dict[str, Any] = unpacked(values)
    return state
