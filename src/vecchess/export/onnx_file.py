"""A network written as an ONNX file, once onnxruntime has been seen to give its bits."""

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from vecchess.errors import ConfigError
from vecchess.export.atomic_output import binary_file
from vecchess.snn.integer.integer_net import IntegerNet

if TYPE_CHECKING:
    from vecchess.export.onnx_check import ParityCheck


class OnnxExport(NamedTuple):
    """What an export came to."""

    time_steps: int
    num_bytes: int
    parity: "ParityCheck | None"
    """None where nobody asked for a comparison."""
    written: bool
    """False where the comparison found a difference."""


def export_onnx(
    net: IntegerNet, out: Path, num_steps: int | None = None, check: bool = True
) -> OnnxExport:
    """Write ``net`` over ``num_steps`` time steps (its own number by default) to ``out`` ("-":
    stdout).

    ``check``: compare with our reference backend before, and write nothing if a bit differs. Raises
    ConfigError where a library is missing or for a place or number that cannot be, NetworkError for
    a network that is not exact, DataError where the disk refuses.
    """
    _require("onnx")
    if check:
        _require("onnxruntime", " or give --no-check")
    from vecchess.export.onnx_check import check_parity
    from vecchess.export.onnx_net import to_onnx

    steps = net.config.time_steps if num_steps is None else num_steps
    model = to_onnx(net, steps).SerializeToString(deterministic=True)
    parity = check_parity(net, model, steps) if check else None
    if parity is not None and parity.different:
        return OnnxExport(steps, len(model), parity, written=False)
    with binary_file(out) as file:
        file.write(model)
    return OnnxExport(steps, len(model), parity, written=True)


def _require(library: str, otherwise: str = "") -> None:
    if importlib.util.find_spec(library) is None:
        raise ConfigError(f"{library} is not installed: pip install 'vecchess[onnx]'{otherwise}")
