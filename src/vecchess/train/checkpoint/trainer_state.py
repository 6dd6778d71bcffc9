"""The state of a run in a checkpoint, and how a run resumes from it.

It holds all that decides the rest of the run: float weights, their average, and within a generation
PPO's copy of them, AdamW's moments by the names of the parameters (another number of ranks can load
them), the gradient scaler, the learning rate's schedule, counters, the state of the source of
positions, results of matches. Random numbers need no state: each is drawn by counter. Another run
may begin with the weights alone.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, ValidationError
from torch import Tensor, nn

from vecchess.config.settings import TypedModel
from vecchess.errors import ConfigError, DataError, FileUnreadable, NetworkError
from vecchess.runtime.retried_read import read_named
from vecchess.safe_parse import clip_line
from vecchess.snn.modules.network import SpikingNet
from vecchess.snn.presets import NetConfig
from vecchess.train.checkpoint.checkpoint_folder import (
    NAME,
    CheckpointFolder,
    decode_checkpoint,
    encode_checkpoint,
)
from vecchess.train.step.optimiser import Schedule, load_optimiser_tensors, optimiser_tensors
from vecchess.train.trainer import Trainer, TrainingSource, TrainProgress, firsts_and_newest

_NET, _AVERAGE, _OLD, _OPTIMISER = "net/", "average/", "old/", "optimiser/"
_Count = Annotated[int, Field(ge=0, lt=1 << 62)]


class StateValues(TypedModel):
    """The values of a state that are not tensors."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    readout: Literal["spikes", "graded", "mean", "last"] = "spikes"
    """How the network is read; networks of older runs read spikes."""
    folded: bool
    steps: _Count
    """Updates of the weights."""
    samples: _Count
    """Samples of these updates."""
    rates: list[Annotated[float, Field(ge=0)]]
    """Spike rate of each neuron layer in the last update."""
    scaler: dict[str, float | int]
    """torch's state of the gradient scaler; empty without fp16."""
    done: Annotated[float, Field(ge=0)]
    """Iterations done, the current one in part."""
    skipped: _Count
    """The newest updates that were skipped in a row."""
    schedule: Schedule
    iteration: _Count
    iteration_step: _Count
    positions: _Count
    has_begun: bool
    candidate_waits: bool
    matches_wait: bool = False
    matches: list[dict[str, Any]]
    source: dict[str, Any]
    """The values of ``TrainingSource.state``."""


class TrainerState:
    """Saves and restores one run. Rank 0 reads and writes; all ranks resume from what it read."""

    def __init__(
        self, trainer: Trainer, source: TrainingSource, folder: CheckpointFolder | None
    ) -> None:
        """``folder`` is None on all ranks but rank 0."""
        self._trainer, self._source, self._folder = trainer, source, folder
        self._saved: dict[str, Any] | None = None

    def save(self) -> None:
        """Write a checkpoint if the progress is new; raises DataError where the disk refuses."""
        if self._folder is None or self._saved == asdict(self._trainer.progress):
            return
        learner, progress = self._trainer.learner, self._trainer.progress
        file = self._folder.file_of(progress.iteration, learner.steps)
        facts = {
            "iteration": progress.iteration,
            "step": learner.steps,
            "samples": learner.samples,
            "positions": progress.positions,
            "world_size": self._trainer.ranks.world_size,
            "net": learner.net.config.facts(),
        }
        try:
            data = encode_checkpoint(self._tensors(), facts, self._values().model_dump())
        except DataError as error:
            raise DataError(
                f"cannot write {file}, for it could not be read again: {error}; "
                "earlier checkpoints are as they were"
            ) from None
        self._folder.save(file, data)
        self._saved = asdict(progress)

    def restore(self) -> None:
        """Set all ranks back to the newest checkpoint, if there is one.

        Raises ConfigError where it is of another network, DataError where it is damaged.
        """
        ranks = self._trainer.ranks
        data = self._folder.latest(self._trainer.reporter.report_line) if self._folder else None
        data = ranks.broadcast_bytes(data or b"")
        if not data:
            return
        tensors, values, facts = read_state(data)
        try:
            self._require_time_steps(facts["net"]["time_steps"])
            self._distribute(tensors, values)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"the checkpoint's state is damaged: {clip_line(error)}") from None

    def _require_time_steps(self, given: object) -> None:
        """Refuse a state of another T, which fits the weights: presets had four steps once."""
        if given != (wanted := self._trainer.learner.net.config.time_steps):
            raise ConfigError(
                f"the checkpoint is of another network: it takes {clip_line(given)} time steps, "
                f"not {wanted}; begin a new run, with --init-from this one"
            )

    def _tensors(self) -> dict[str, Tensor]:
        learner, progress = self._trainer.learner, self._trainer.progress
        parts = {
            _NET: learner.net.state_dict(),
            _AVERAGE: learner.average.net.state_dict() if learner.average else {},
            _OLD: learner.old.state_dict() if learner.old and progress.iteration_step else {},
            _OPTIMISER: optimiser_tensors(learner.optimiser, learner.net),
        }
        return {place + name: t for place, part in parts.items() for name, t in part.items()}

    def _values(self) -> StateValues:
        learner, progress = self._trainer.learner, self._trainer.progress
        return StateValues(
            readout=learner.net.config.readout,
            folded=learner.net.folded,
            steps=learner.steps,
            samples=learner.samples,
            rates=learner.rates,
            scaler=learner.scaler.state_dict(),
            done=learner.done,
            skipped=learner.skipped,
            schedule=learner.schedule,
            source=self._source.state(),
            **asdict(progress),
        )

    def _distribute(self, tensors: dict[str, Tensor], values: StateValues) -> None:
        trainer, learner = self._trainer, self._trainer.learner
        if values.readout != (wanted := learner.net.config.readout):
            raise ConfigError(
                f"the checkpoint is of another network: its readout is {values.readout}, not "
                f"{wanted}; begin a new run"
            )
        if values.folded:
            learner.fold()
        elif learner.net.folded:
            raise ConfigError(
                "--fold-at 0 is for a new run; this one is folded at its next update with 0.001"
            )
        load_weights(learner.net, _below(_NET, tensors))
        if learner.average is not None:  # a run that had none begins one with its weights
            load_weights(learner.average.net, played_weights(tensors))
        if old := _below(_OLD, tensors):
            learner.begin_generation()
            if learner.old is not None:
                load_weights(learner.old, old)
        load_optimiser_tensors(learner.optimiser, learner.net, _below(_OPTIMISER, tensors))
        if len(values.rates) not in (0, len(learner.net.neuron_names)):
            raise ConfigError("the checkpoint is of another network: it has other layers")
        if values.scaler and learner.scaler.is_enabled():
            learner.scaler.load_state_dict(values.scaler)
        learner.steps, learner.samples = values.steps, values.samples
        learner.rates, learner.skipped, learner.done = values.rates, values.skipped, values.done
        optimiser, iterations = trainer.config.optimiser, trainer.config.iterations
        learner.schedule = values.schedule.ended_at(optimiser, iterations, values.done)
        progress = {name: getattr(values, name) for name in asdict(trainer.progress)}
        progress["matches"] = firsts_and_newest(values.matches)  # older runs kept all of them
        trainer.progress = TrainProgress(**progress)
        self._source.restore(values.source)


def read_state(data: bytes) -> tuple[dict[str, Tensor], StateValues, dict[str, Any]]:
    """The tensors, values and facts of a checkpoint; raises DataError where the values are
    damaged."""
    tensors, entry = decode_checkpoint(data)
    return tensors, state_values(entry), entry.get("facts", {})


def state_values(entry: dict[str, Any]) -> StateValues:
    """The values in the metadata of a checkpoint; raises DataError where they are damaged."""
    try:
        return StateValues.model_validate(entry.get("values"))
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        line = clip_line(f"{where}: {fault['msg']}")
        raise DataError(f"the checkpoint's state is damaged: {line}") from None


def played_weights(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The state of the network that played, among the tensors of a checkpoint."""
    return _below(_AVERAGE, tensors) or _below(_NET, tensors)


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}


def load_weights(net: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Load weights of the names, shapes and dtypes of ``net``; raises ConfigError for others."""
    wanted = net.state_dict()
    if odd := sorted(wanted.keys() ^ tensors.keys()):
        fault = f"{'it lacks' if odd[0] in wanted else 'it has'} {clip_line(odd[0])}"
        raise ConfigError(f"the checkpoint is of another network: {fault}")
    for name, tensor in wanted.items():
        if tensors[name].shape != tensor.shape or tensors[name].dtype != tensor.dtype:
            raise ConfigError(
                f"the checkpoint is of another network: it has {name} as {tensors[name].dtype} of "
                f"shape {list(tensors[name].shape)}, not {tensor.dtype} of {list(tensor.shape)}"
            )
    net.load_state_dict(tensors)


@dataclass(frozen=True)
class CheckpointWeights:
    """What played in the run: the average of its weights where there is one."""

    sizes: NetConfig
    folded: bool
    """Whether they are those of the second phase."""
    tensors: dict[str, Tensor]

    @classmethod
    def read(cls, file: Path) -> Self:
        """The weights in ``file``; raises NetworkError where it is missing, out of reach or
        damaged."""
        missing = NetworkError(f"there is no checkpoint {file}")
        try:
            tensors, entry = decode_checkpoint(read_named(file, lambda: missing))
            folded = state_values(entry).folded
            sizes = NetConfig.model_validate(entry["facts"]["net"])
        except FileUnreadable as error:
            raise NetworkError(str(error)) from None
        except (DataError, ValidationError, KeyError, TypeError) as error:
            raise NetworkError(f"checkpoint {file}: {clip_line(error)}") from None
        return cls(sizes, folded, played_weights(tensors))

    def network(self, sizes: NetConfig, surrogate: str) -> SpikingNet:
        """The network of ``sizes`` with these weights, on the CPU, in the phase that they are of.

        Raises ConfigError where they do not fit.
        """
        net = SpikingNet(sizes, surrogate)
        if self.folded:
            net.fold()
        load_weights(net, self.tensors)
        return net


def is_checkpoint(file: Path) -> bool:
    """Whether a file is named as checkpoints are."""
    return NAME.fullmatch(file.name) is not None
