"""The networks that backends compute: ours, and those that users bring.

``config.kind`` of the latter is "module".
"""

from typing import TYPE_CHECKING, Union

from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.presets import NetConfig

if TYPE_CHECKING:  # they bring torch
    from vecchess.networks.module_net import ModuleNet
    from vecchess.networks.step_module import ModuleSizes

PlayableNet = Union[IntegerNet, "ModuleNet"]
"""A network with its weights."""
PlayableSizes = Union[NetConfig, "ModuleSizes"]
"""Its sizes: networks of equal ones may take each other's place."""
