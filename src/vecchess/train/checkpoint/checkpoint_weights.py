"""The weights of a checkpoint, for a run that begins with them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import ValidationError
from torch import Tensor

from vecchess.errors import DataError, FileMissing, FileUnreadable, NetworkError
from vecchess.runtime.retried_read import read_file, retried
from vecchess.safe_parse import clip_line
from vecchess.snn.modules.network import SpikingNet
from vecchess.snn.presets import NetConfig
from vecchess.train.checkpoint.checkpoint_file import decode_checkpoint
from vecchess.train.checkpoint.checkpoint_folder import NAME
from vecchess.train.checkpoint.trainer_state import load_weights, played_weights, state_values


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

        def attempt() -> bytes:
            try:
                return read_file(file)
            except FileMissing:  # its name may be wrong: not tried again
                raise NetworkError(f"there is no checkpoint {file}") from None

        try:
            tensors, entry = decode_checkpoint(retried(attempt))
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
