"""Network files: safetensors with one metadata entry, ``vecchess``, holding a JSON object.

    {"schema", "config", "policy_scale", "value_scale", "exit_rule", "sha256", "calibration"}

The calibration is left out where there is none, and is no part of the hash.

There is one entry only, because safetensors orders several at random, and equal networks should be
equal files.

Decision 37.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from vecchess.config import DEFAULT_NET
from vecchess.errors import DataError, NetworkError
from vecchess.runtime.atomic_write import write_atomically
from vecchess.runtime.retried_read import read_named
from vecchess.safe_parse import MOST_BYTES, clip_line, is_schema, parse_json, parse_json_object
from vecchess.snn.integer.bounds import check_bounds
from vecchess.snn.integer.integer_net import (
    SCHEMA,
    ExitRule,
    IntegerNet,
    Layer,
    describe,
    tensors_of,
)
from vecchess.snn.presets import WEIGHT_LIMIT, NetConfig
from vecchess.snn.topology import layer_shapes

SUFFIX = ".safetensors"
SHIPPED_NET = Path(__file__).parents[2] / "nets" / f"{DEFAULT_NET}{SUFFIX}"
"""The file of the network ``DEFAULT_NET``."""
HUB_WEIGHTS, HUB_CONFIG = "model.safetensors", "config.json"
"""Files of a network's folder in the layout of ``huggingface_hub``; see ``export.hub_folder``."""
METADATA_KEY = "vecchess"
SCALES = 2.0**-64, 2.0**64
"""Least and largest logit of an accumulator unit."""
DTYPES: dict[str, type[np.generic]] = {"weight": np.int8, "shift": np.uint8, "bias": np.int32}


def save_net(net: IntegerNet, path: Path) -> None:
    """Write the file whole or not at all; raises ``NetworkError``, also for what ``load_net`` would
    refuse, or ``DataError`` where the disk refuses."""
    from safetensors.numpy import save

    path = Path(path)
    _check_ranges(net.config, net.layers)
    description = checked_answers(describe(net)) | {"sha256": net.sha256}
    if net.calibration is not None:
        description["calibration"] = net.calibration
    data = save(tensors_of(net), {METADATA_KEY: json.dumps(description, sort_keys=True)})
    if _header_size(data) > MOST_BYTES:
        raise NetworkError(f"cannot write network {path}: its calibration is too long")
    write_atomically(path, data, mistake=NetworkError)


def net_path(net: str | Path) -> Path:
    """The file that ``net`` names: that of vecchess for ``DEFAULT_NET``, that in a folder of the
    hub's layout, any other as it is."""
    if str(net) == DEFAULT_NET:
        return SHIPPED_NET
    path = Path(net)
    is_hub = (path / HUB_CONFIG).is_file() and (path / HUB_WEIGHTS).is_file()
    return path / HUB_WEIGHTS if is_hub else path


def nets_in(folder: Path) -> list[Path]:
    """The network files in ``folder`` by name, without those that are being written."""
    return sorted(folder.glob(f"[!.]*{SUFFIX}"))


def load_net(net: str | Path) -> IntegerNet:
    """Read, then check schema, names, dtypes, shapes, ranges and hash; raises ``NetworkError``.

    net: as for ``net_path``.
    """
    path = net_path(net)
    if path.is_dir():
        raise missing_net(path)
    try:
        data = read_named(path, lambda: missing_net(path))
    except DataError as error:
        raise NetworkError(str(error)) from None
    if path.suffix != SUFFIX and _header_size(data) > len(data):
        raise NetworkError(f"{path} is no network file: those end in {SUFFIX}")
    try:
        return _parse(data)
    except NetworkError as error:
        raise NetworkError(f"network {path} {error}") from error


def load_exact(net: str | Path) -> IntegerNet:
    """Read a network that is to be played or trained; raises ``NetworkError`` as ``load_net``, and
    where a sum of it may be inexact."""
    found = load_net(net)
    try:
        check_bounds(found).require_exact()
    except NetworkError as error:
        raise NetworkError(f"network {net} is {error}") from None
    return found


def missing_net(path: Path, names: Iterable[str] = ()) -> NetworkError:
    """The error for a path without a network file; of a run's folder it names the newest one.

    names: of the networks that could have been named instead.
    """
    if path == SHIPPED_NET:
        return NetworkError(f"this installation lacks its network {path}: install vecchess again")
    if not path.is_dir():
        also = f", nor a network of that name ({', '.join(names)})" if names else ""
        return NetworkError(f"there is no network file {path}{also}")
    nets = [*nets_in(path / "nets"), *nets_in(path)]
    if not nets:
        return NetworkError(f"{path} is a folder, not a network file")
    newest = max(nets, key=lambda net: net.stat().st_mtime)
    return NetworkError(f"{path} is a folder, not a network file; its newest network is {newest}")


def _header_size(data: bytes) -> int:
    return int.from_bytes(data[:8], "little")


def _parse(data: bytes) -> IntegerNet:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        if _header_size(data) > MOST_BYTES:
            raise ValueError("its header is longer than ours")
        tensors = load(data)
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise NetworkError("is truncated or no safetensors file; copy it again") from error
    description = checked_answers(_description(data))
    config = _config(description)
    net = IntegerNet(
        config=config,
        layers=_layers(config, tensors),
        policy_scale=description["policy_scale"],
        value_scale=description["value_scale"],
        exit_rule=description.get("exit_rule"),
        calibration=description.get("calibration"),
    )
    if net.sha256 != description.get("sha256"):
        raise NetworkError("is corrupt: its content does not match its sha256; copy it again")
    return net


def _description(data: bytes) -> dict[str, Any]:
    """The JSON object of our metadata entry; the header is a length and a JSON object."""
    try:
        header = parse_json(data[8 : 8 + _header_size(data)])
        description = parse_json_object(header["__metadata__"][METADATA_KEY])
        schema = description["schema"]
    except (KeyError, TypeError, ValueError) as error:
        raise NetworkError("was not written by vecchess: it has no description") from error
    if module := description.get("module"):
        raise NetworkError(
            f"holds weights of {clip_line(module)}: name that, with the setting weights=FILE"
        )
    if "facts" in description:
        raise NetworkError("is a checkpoint of a training, whose networks are in nets/ beside it")
    if not is_schema(schema, SCHEMA):
        raise NetworkError(f"has schema {clip_line(schema)}, this vecchess reads {SCHEMA}")
    return description


def _config(description: dict[str, Any]) -> NetConfig:
    try:
        return NetConfig.model_validate(description.get("config"))
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"])) or "config"
        raise NetworkError(clip_line(f"has a wrong size, {where}: {fault['msg']}")) from error


def _layers(config: NetConfig, tensors: dict[str, NDArray[Any]]) -> dict[str, Layer]:
    shapes = layer_shapes(config)
    expected = {f"{name}.{part}" for name in shapes for part in DTYPES}
    if odd := sorted(expected ^ set(tensors)):
        raise NetworkError(f"lacks tensor {clip_line(odd[0])} or has it too many")
    layers = {}
    for name, (outputs, inputs) in shapes.items():
        wanted = {"weight": (outputs, inputs), "shift": (outputs,), "bias": (outputs,)}
        for part, shape in wanted.items():
            _check_tensor(f"{name}.{part}", tensors[f"{name}.{part}"], shape, DTYPES[part])
        layers[name] = Layer(**{part: tensors[f"{name}.{part}"] for part in DTYPES})
    _check_ranges(config, layers)
    return layers


def _check_ranges(config: NetConfig, layers: dict[str, Layer]) -> None:
    """Raise NetworkError for a shift or a weight that no backend has to compute with."""
    for name, layer in layers.items():
        if layer.shift.max() > config.weight_bits:
            raise NetworkError(f"has a shift beyond weight_bits in layer {name}")
        if layer.weight.min() < -WEIGHT_LIMIT:
            raise NetworkError(f"has a weight below {-WEIGHT_LIMIT} in layer {name}")


def _check_tensor(
    name: str, tensor: NDArray[Any], shape: tuple[int, ...], dtype: type[np.generic]
) -> None:
    if tensor.shape != shape or tensor.dtype != dtype:
        found = f"{tensor.dtype}{list(tensor.shape)}"
        raise NetworkError(f"has {name} as {found}, not {np.dtype(dtype)}{list(shape)}")


def checked_answers(description: dict[str, Any]) -> dict[str, Any]:
    """``description``, untrusted, whose scales and exit rule are such that games can be played.

    Raises NetworkError for a scale that kernels, which count in float32, cannot tell from 0 or
    infinity, and for a rule that is none.
    """
    for key in ("policy_scale", "value_scale"):
        value = description.get(key)
        if not isinstance(value, float) or not SCALES[0] <= value <= SCALES[1]:
            wants = f"a number from {SCALES[0]:.3g} to {SCALES[1]:.3g}"
            raise NetworkError(f"has no {key} that is {wants}")
    try:
        ExitRule.from_metadata(description.get("exit_rule"))
    except NetworkError as error:
        raise NetworkError(f"has an {error}") from None
    return description
