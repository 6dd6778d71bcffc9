"""The state of a training as two files: tensors as safetensors, all other values as JSON.

Neither format can run code or declare more memory than it has (decision 178).
"""

import json
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from vecchess.errors import DataError
from vecchess.safe_parse import clip_line, parse_json_object

TENSORS_FILE = "tensors.safetensors"
VALUES_FILE = "values.json"
MOST_JSON_BYTES = 1 << 23
"""Of the values, and of the header of the tensors, which has about 100 bytes for each. What grows
during a run is 20 bytes for each machine and iteration and 500 for each match."""


def encode_state(tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> dict[str, bytes]:
    """The content of each file. Raises DataError where ``decode_state`` would refuse it."""
    from safetensors.torch import save

    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    data, text = save(plain), json.dumps(values).encode()
    _check_header(data)
    if len(text) > MOST_JSON_BYTES:
        raise DataError(f"{VALUES_FILE} has more than {MOST_JSON_BYTES} bytes")
    return {TENSORS_FILE: data, VALUES_FILE: text}


def decode_state(files: Mapping[str, bytes]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors on the CPU, and values. Raises DataError with the reason where a file is damaged."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    data = files[TENSORS_FILE]
    _check_header(data)
    try:
        tensors = load(data)
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{TENSORS_FILE}: {clip_line(error)}") from None
    try:
        return tensors, parse_json_object(files[VALUES_FILE], MOST_JSON_BYTES)
    except ValueError as error:
        raise DataError(f"{VALUES_FILE}: {clip_line(error)}") from None


def _check_header(data: bytes) -> None:
    if int.from_bytes(data[:8], "little") > MOST_JSON_BYTES:
        raise DataError(f"{TENSORS_FILE}: its header has more than {MOST_JSON_BYTES} bytes")
