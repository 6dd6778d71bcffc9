"""A network written as an ONNX file, after onnxruntime was checked to give its bits.

Decisions 108 and 109.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.planes import MOVE_WORDS, reads_moves
from vecchess.chess.unpack_planes import unpack_planes
from vecchess.errors import NetworkError, require_library
from vecchess.inference.backend_registry import open_backend
from vecchess.inference.engine import answer_all
from vecchess.inference.requests import Requests
from vecchess.runtime.atomic_output import binary_file
from vecchess.selfplay.worker.random_requests import random_requests
from vecchess.shapes import NUM_ACTIONS
from vecchess.snn.integer.integer_net import ExitRule, IntegerNet
from vecchess.snn.modules.rate_coding import coded_input
from vecchess.snn.topology import stem_planes


class ParityCheck(NamedTuple):
    """The result of a comparison."""

    positions: int
    numbers: int
    """Accumulators compared: of all legal moves, and of win, draw and loss."""
    different: int
    """How many of them differ."""


class OnnxExport(NamedTuple):
    """The result of an export."""

    time_steps: int
    num_bytes: int
    parity: ParityCheck | None
    """None without a comparison."""
    written: bool
    """False where the comparison found a difference."""


def export_onnx(
    net: IntegerNet, out: Path, num_steps: int | None = None, check: bool = True
) -> OnnxExport:
    """Write ``net`` over ``num_steps`` time steps (its own number by default) to ``out`` ("-":
    stdout).

    ``check``: compare with our reference backend before, and write nothing if a bit differs. Raises
    ConfigError where a library is missing or for a place or number that cannot be used,
    NetworkError for a network that is not exact, DataError where writing fails.
    """
    require_library("onnx", "onnx")
    if check:
        require_library("onnxruntime", "onnx", " or give --no-check")
    from vecchess.export.onnx_net import to_onnx

    steps = net.config.time_steps if num_steps is None else num_steps
    model = to_onnx(net, steps).SerializeToString(deterministic=True)
    parity = check_parity(net, model, steps) if check else None
    if parity is not None and parity.different:
        return OnnxExport(steps, len(model), parity, written=False)
    with binary_file(out) as file:
        file.write(model)
    return OnnxExport(steps, len(model), parity, written=True)


BATCH = 64


def check_parity(
    net: IntegerNet, model: bytes, num_steps: int, num_positions: int = 256, seed: int = 0
) -> ParityCheck:
    """Compare ``model``, an ONNX file of ``net`` over ``num_steps`` steps, with our reference.

    Each position is from a random game of its own, with the positions before it. Raises
    NetworkError where onnxruntime refuses the file.
    """
    requests = random_requests(num_positions, seed, net.config.num_planes)
    _ask_reference(net, requests, num_steps)
    session = open_session(model)
    numbers = different = 0
    for first in range(0, num_positions, BATCH):
        rows = slice(first, first + BATCH)
        policy, value = ask_onnx(
            session, net, requests.planes[rows], num_steps, _codes_by_action(requests.part(rows))
        )
        count = requests.num_legal[rows, None]
        listed = np.arange(requests.legal.shape[1]) < count
        ours = requests.policy[rows][listed].astype(np.float32)
        theirs = policy[np.nonzero(listed)[0], requests.legal[rows][listed]]
        unequal = (ours != theirs).sum() + (requests.wdl[rows].astype(np.float32) != value).sum()
        numbers, different = numbers + ours.size + value.size, different + int(unequal)
    return ParityCheck(num_positions, numbers, different)


def open_session(model: bytes) -> Any:
    """An ``onnxruntime.InferenceSession`` on the processor. Raises NetworkError."""
    import onnxruntime

    try:
        return onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    except Exception as error:  # its errors have no common base class
        raise NetworkError(f"onnxruntime refuses the file: {error}") from None


def ask_onnx(
    session: Any,
    net: IntegerNet,
    planes: NDArray[np.uint64],
    num_steps: int,
    codes: NDArray[np.int32] | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Accumulators float32[B, 4672] and float32[B, 3] of ``planes``: uint64[B, P].

    codes: int32[B, 4672] by action, of a network that reads inputs of moves.
    """
    words = coded_input(net.config, planes[:, : stem_planes(net.config)], num_steps)
    unpacked = unpack_planes(words.reshape(-1, words.shape[-1])).reshape(*words.shape, 8, 8)
    inputs: dict[str, NDArray[Any]] = {"planes": unpacked}
    if codes is not None and reads_moves(net.config.num_planes):
        inputs["moves"] = codes
    policy, value = session.run(["policy", "value"], inputs)
    return policy, value


def _codes_by_action(requests: Requests) -> NDArray[np.int32]:
    """int32[B, 4672]: the code of each legal move, 0 for other actions."""
    codes = np.ascontiguousarray(requests.planes[:, -MOVE_WORDS:]).view(np.uint16)
    row, place = np.nonzero(np.arange(requests.legal.shape[1]) < requests.num_legal[:, None])
    found = np.zeros((requests.num_rows, NUM_ACTIONS), np.int32)
    found[row, requests.legal[row, place]] = codes[row, place]
    return found


def _ask_reference(net: IntegerNet, requests: Requests, num_steps: int) -> None:
    """Fill in the answers to all requests, after exactly so many steps."""
    cut = replace(net, config=net.config.model_copy(update={"time_steps": num_steps}))
    slots = min(BATCH, requests.num_rows)
    answer_all(open_backend("reference", cut, slots, ExitRule.never()), requests)
