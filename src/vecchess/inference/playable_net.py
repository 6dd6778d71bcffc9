"""The networks that backends compute: ours, those that users bring, lc0's, and built-in ones.

All have ``config`` (with ``kind``, ``num_planes``, ``time_steps``), ``sha256`` and ``exit_rule``.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Union

from pydantic import BaseModel, ConfigDict

from vecchess.chess.planes import NUM_PLANES, POSITION_INPUTS
from vecchess.lc0.weights_file import Lc0Weights
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.presets import NetConfig

if TYPE_CHECKING:  # they bring torch
    from vecchess.networks.module_net import ModuleNet
    from vecchess.networks.step_module import ModuleSizes


class OneStepSizes(BaseModel):
    """What the engine has to know of a network without time steps."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["built-in", "lc0"]
    num_planes: int
    time_steps: int = 1


BUILT_IN_SIZES = OneStepSizes(kind="built-in", num_planes=NUM_PLANES)
LC0_SIZES = OneStepSizes(kind="lc0", num_planes=POSITION_INPUTS)


@dataclass(frozen=True)
class BuiltInNet:
    """A network without weights, one of ``BUILT_IN_NETS``."""

    name: str
    config: OneStepSizes = BUILT_IN_SIZES
    exit_rule: None = None

    @property
    def sha256(self) -> str:
        """Its name, which stands in records in place of a hash."""
        return self.name


@dataclass(frozen=True)
class Lc0Net:
    """A network of lc0."""

    weights: Lc0Weights = field(repr=False)
    config: OneStepSizes = LC0_SIZES
    exit_rule: None = None

    @property
    def sha256(self) -> str:
        """The hash of its file."""
        return self.weights.sha256


PlayableNet = Union[IntegerNet, "ModuleNet", Lc0Net, BuiltInNet]
"""A network with its weights."""
PlayableSizes = Union[NetConfig, "ModuleSizes", OneStepSizes]
"""Its sizes: networks of equal ones may take each other's place."""
