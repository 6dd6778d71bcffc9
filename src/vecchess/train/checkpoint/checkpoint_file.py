"""The state of a training as one safetensors file, which cannot run code or declare more memory
than it has (decision 178).

Its metadata have one entry, ``vecchess``, a JSON object:

    {"schema", "vecchess", "facts", "values", "sha256"}

``values`` are all that is not a tensor; the hash is that of the tensors and of the other entries.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import torch
from torch import Tensor

from vecchess import __version__
from vecchess.errors import DataError
from vecchess.safe_parse import clip_line, parse_json_object

SCHEMA = 2
METADATA_KEY = "vecchess"
MOST_HEADER_BYTES = 1 << 24
"""A tensor takes about 100 bytes. What grows during a run is 20 bytes for each machine and
iteration and 500 for each match."""


def encode_checkpoint(
    tensors: Mapping[str, Tensor], facts: Mapping[str, Any], values: Mapping[str, Any]
) -> bytes:
    """The content of the file; ``facts`` and ``values`` are JSON values.

    Raises DataError where ``decode_checkpoint`` would refuse it.
    """
    from safetensors.torch import save

    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    entry = {"schema": SCHEMA, "vecchess": __version__, "facts": facts, "values": values}
    entry["sha256"] = _digest(plain, entry)
    data: bytes = save(plain, {METADATA_KEY: json.dumps(entry)})
    if _header_size(data) > MOST_HEADER_BYTES:
        raise DataError(f"its header has more than {MOST_HEADER_BYTES} bytes")
    return data


def decode_checkpoint(data: bytes) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors on the CPU, and the metadata. Raises DataError with the reason where the file is
    damaged, or was written by a newer vecchess."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        if _header_size(data) > MOST_HEADER_BYTES:
            raise ValueError(f"its header has more than {MOST_HEADER_BYTES} bytes")
        tensors: dict[str, Tensor] = load(data)
        header = parse_json_object(data[8 : 8 + _header_size(data)], MOST_HEADER_BYTES)
        entry = parse_json_object(header["__metadata__"][METADATA_KEY], MOST_HEADER_BYTES)
        schema, digest = entry["schema"], entry.pop("sha256")
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = clip_line(error)
        raise DataError(f"it is truncated or no checkpoint ({reason})") from None
    if schema != SCHEMA:
        raise DataError(
            f"it has schema {clip_line(schema)}, this vecchess reads {SCHEMA}: it was written by "
            f"vecchess {clip_line(entry.get('vecchess'))}, use that or a later one"
        )
    if _digest(tensors, entry) != digest:
        raise DataError("its content does not match its sha256")
    return tensors, entry


def _header_size(data: bytes) -> int:
    return int.from_bytes(data[:8], "little")


def _digest(tensors: Mapping[str, Tensor], entry: Mapping[str, Any]) -> str:
    digest = sha256(json.dumps(entry, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
