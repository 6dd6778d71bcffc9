"""lc0's weight files (``.pb.gz``): residual networks, as their layers or as one line of refusal.

A gzip file of one ``pblczero.Net``; numbers of fields and formats are those of ``net.proto`` of
LeelaChessZero/lc0. Read are convolutional networks with or without squeeze-and-excitation, with a
convolutional or a fully connected policy, and a value as win, draw and loss or as one number.
"""

import zlib
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import DataError, NetworkError
from vecchess.lc0.lc0_planes import CASTLING_PLANE, CLASSICAL, NUM_INPUTS
from vecchess.lc0.protobuf_wire import (
    Fields,
    bytes_of,
    messages_of,
    number_of,
    read_fields,
    real_of,
)
from vecchess.runtime.retried_read import read_named
from vecchess.shapes import NUM_OUTCOMES, NUM_SQUARES

MAGIC = 0x1C0
MOST_RATIO, SPARE_BYTES = 64, 1 << 20
"""A file may unpack to so many times its size, and so much more. Weights hardly shrink."""
NUM_MOVES = 1858
NUM_POLICY_PLANES = 80
EPSILON = 1e-5
"""Added to the variances of batch normalisation."""

_NET_MAGIC, _NET_FORMAT, _NET_WEIGHTS, _NET_ONNX = 1, 4, 10, 11
_FORMAT_ENCODING, _FORMAT_NETWORK = 1, 2
_INPUT_FORMAT, _STRUCTURE, _POLICY, _VALUE, _ACTIVATION = 1, 3, 4, 5, 7
_LINEAR16, _FLOAT16, _BFLOAT16, _FLOAT32 = 1, 2, 3, 4
_INPUTS = {
    3: "canonical", 4: "canonical hectoplies", 5: "canonical v2",
    132: "canonical hectoplies armageddon", 133: "canonical v2 armageddon",
}  # fmt: skip
_STRUCTURES = {
    5: "ONNX", 6: "an attention body", 7: "an attention body with several heads",
    134: "an attention body with several heads",
}  # fmt: skip
_OLD_STRUCTURES, _NEW_STRUCTURES = (1, 2), (3, 4)
"""Without and with formats of policy and value; classical ones and squeeze-and-excitation."""
_OLD_POLICY, _CONV_POLICY = 1, 2
_OLD_VALUE, _WDL_VALUE = 1, 2


@dataclass(frozen=True)
class Affine:
    """A convolution, batch normalisation folded in, or a fully connected layer.

    weights: float64[O, I * k * k], biases: float64[O].
    """

    weights: NDArray[np.float64]
    biases: NDArray[np.float64]


@dataclass(frozen=True)
class ResidualBlock:
    """Two convolutions of 3 x 3; squeeze and excite are empty where there are none."""

    first: Affine
    second: Affine
    squeeze: tuple[Affine, ...]


@dataclass(frozen=True)
class Lc0Weights:
    """A network. C channels, V of the value head.

    stem: convolution of 3 x 3, 112 to C. policy: two convolutions of 3 x 3, C to C and to 80
    planes, or one of 1 x 1 and a layer to 1858 moves. value: a convolution of 1 x 1, C to V, a
    layer, and one to 3 outcomes or 1 number.
    """

    input_format: int
    is_mish: bool
    stem: Affine
    blocks: tuple[ResidualBlock, ...]
    policy: tuple[Affine, Affine]
    has_conv_policy: bool
    value: tuple[Affine, Affine, Affine]
    sha256: str


def load_weights(file: str | Path) -> Lc0Weights:
    """Read a weight file. Raises NetworkError where there is none or it cannot be used."""
    path = Path(file)
    try:
        return parse_weights(read_named(path, lambda: NetworkError("is not there")))
    except NetworkError as error:
        raise NetworkError(f"lc0's network {path} {error}") from None
    except DataError as error:
        raise NetworkError(str(error)) from None


def parse_weights(data: bytes) -> Lc0Weights:
    """The network in the bytes of a weight file. Raises NetworkError, without the file's name."""
    try:
        message = _unpacked(data)
        net = read_fields(memoryview(message))
        if number_of(net, _NET_MAGIC) != MAGIC:
            raise NetworkError("is not lc0's: it does not begin as its weight files do")
        with np.errstate(all="ignore"):  # what comes of it is looked at
            return _network(net, sha256(message).hexdigest())
    except ValueError as error:
        raise NetworkError(f"is damaged: {error}; copy it again") from None


def _unpacked(data: bytes) -> bytes:
    """What a gzip file holds."""
    if not data:
        raise NetworkError("is empty")
    if data[:2] != b"\x1f\x8b":
        raise NetworkError("is no gzip file: lc0's weights end in .pb.gz")
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        message = unpacker.decompress(data, MOST_RATIO * len(data) + SPARE_BYTES)
    except zlib.error as error:
        raise NetworkError(f"is a damaged gzip file ({error}); copy it again") from None
    if unpacker.unconsumed_tail:
        raise NetworkError("unpacks to more than weights can take: it is not lc0's")
    if not unpacker.eof:
        raise NetworkError("is truncated; copy it again")
    if message[:2] in (b"1\n", b"2\n"):
        raise NetworkError("is in lc0's old text format: convert it with lc0's own tools")
    return message


def _network(net: Fields, digest: str) -> Lc0Weights:
    """The network of a message ``Net``."""
    file_format = read_fields(bytes_of(net, _NET_FORMAT))
    formats = read_fields(bytes_of(file_format, _FORMAT_NETWORK))
    if _NET_ONNX in net:
        raise NetworkError("holds an ONNX model: vecchess computes lc0's residual networks")
    if (encoding := number_of(file_format, _FORMAT_ENCODING)) not in (0, _LINEAR16):
        raise NetworkError(f"has weights in encoding {encoding}, unknown to vecchess")
    structure = number_of(formats, _STRUCTURE, _OLD_STRUCTURES[0])
    input_format = number_of(formats, _INPUT_FORMAT, CLASSICAL)
    _require("body", structure, _OLD_STRUCTURES + _NEW_STRUCTURES, _STRUCTURES)
    _require("input format", input_format, (CLASSICAL, CASTLING_PLANE), _INPUTS)
    policy, value = _OLD_POLICY, _OLD_VALUE
    if structure in _NEW_STRUCTURES:
        policy, value = number_of(formats, _POLICY), number_of(formats, _VALUE)
    _require("policy head", policy, (_OLD_POLICY, _CONV_POLICY), {3: "attention"})
    _require("value head", value, (_OLD_VALUE, _WDL_VALUE), {3: "parametric"})
    activation = number_of(formats, _ACTIVATION)
    _require("activation", activation, (0, 1), {})
    weights = read_fields(bytes_of(net, _NET_WEIGHTS))
    stem = _convolution(weights, 1, "input", NUM_INPUTS, 3)
    channels = len(stem.biases)
    blocks = tuple(
        _block(block, f"residual {number}", channels)
        for number, block in enumerate(messages_of(weights, 2))
    )
    has_conv_policy = policy == _CONV_POLICY
    return Lc0Weights(
        input_format=input_format,
        is_mish=activation == 1,
        stem=stem,
        blocks=blocks,
        policy=_policy_head(weights, channels, has_conv_policy),
        has_conv_policy=has_conv_policy,
        value=_value_head(weights, channels, NUM_OUTCOMES if value == _WDL_VALUE else 1),
        sha256=digest,
    )


def _require(what: str, found: int, known: tuple[int, ...], names: dict[int, str]) -> None:
    """Raise NetworkError for a format that is not known."""
    if found not in known:
        name = names.get(found, f"number {found}")
        raise NetworkError(f"has {what} {name}: vecchess computes lc0's residual networks only")


def _block(fields: Fields, what: str, channels: int) -> ResidualBlock:
    squeeze: tuple[Affine, ...] = ()
    if fields.get(3):
        unit = read_fields(bytes_of(fields, 3))
        first = _dense(unit, (1, 2), f"{what} squeeze", channels)
        second = _dense(unit, (3, 4), f"{what} excite", len(first.biases), 2 * channels)
        squeeze = first, second
    return ResidualBlock(
        _convolution(fields, 1, f"{what} conv1", channels, 3, channels),
        _convolution(fields, 2, f"{what} conv2", channels, 3, channels),
        squeeze,
    )


def _policy_head(weights: Fields, channels: int, is_conv: bool) -> tuple[Affine, Affine]:
    if is_conv:
        first = _convolution(weights, 11, "policy1", channels, 3, channels)
        return first, _convolution(weights, 3, "policy", channels, 3, NUM_POLICY_PLANES)
    first = _convolution(weights, 3, "policy", channels, 1)
    inputs = len(first.biases) * NUM_SQUARES
    return first, _dense(weights, (4, 5), "ip_pol", inputs, NUM_MOVES)


def _value_head(weights: Fields, channels: int, outputs: int) -> tuple[Affine, Affine, Affine]:
    first = _convolution(weights, 6, "value", channels, 1)
    hidden = _dense(weights, (7, 8), "ip1_val", len(first.biases) * NUM_SQUARES)
    return first, hidden, _dense(weights, (9, 10), "ip2_val", len(hidden.biases), outputs)


def _convolution(
    parent: Fields, field: int, what: str, inputs: int, size: int, outputs: int | None = None
) -> Affine:
    """A ``ConvBlock``, its batch normalisation folded in. ``outputs`` None: as many as it has."""
    block = read_fields(bytes_of(parent, field))
    weights, biases, means, variances, gammas, betas = (_layer(block, n) for n in range(1, 7))
    num = len(biases) or len(means)
    weights = _shaped(weights, what, inputs * size * size, num if outputs is None else outputs)
    biases = biases if len(biases) else np.zeros(num)
    if len(means):
        gammas = gammas if len(gammas) else np.ones(num)
        betas = betas if len(betas) else np.zeros(num)
        if not len(biases) == len(means) == len(variances) == len(gammas) == len(betas):
            raise NetworkError(f"has {what} with a batch normalisation of another size")
        if (variances + EPSILON <= 0).any():
            raise NetworkError(f"has {what} with a negative variance")
        scale = gammas / np.sqrt(variances + EPSILON)
        weights, biases = weights * scale[:, None], betas + scale * (biases - means)
    return _affine(weights, biases, what)


def _dense(
    parent: Fields, fields: tuple[int, int], what: str, inputs: int, outputs: int | None = None
) -> Affine:
    """A fully connected layer in two fields. ``outputs`` None: as many as it has."""
    weights, biases = (_layer(parent, field) for field in fields)
    weights = _shaped(weights, what, inputs, len(biases) if outputs is None else outputs)
    return _affine(weights, biases, what)


def _shaped(
    weights: NDArray[np.float64], what: str, inputs: int, outputs: int
) -> NDArray[np.float64]:
    """float64[outputs, inputs]; raises NetworkError where there are not so many weights."""
    if not outputs or len(weights) != inputs * outputs:
        wanted = f"{outputs:,} x {inputs:,}" if outputs else "some"
        found = f"{len(weights):,} weights" if len(weights) else "no weights"
        raise NetworkError(f"has {found} in {what}, where {wanted} belong")
    return weights.reshape(outputs, inputs)


def _affine(weights: NDArray[np.float64], biases: NDArray[np.float64], what: str) -> Affine:
    if len(biases) != len(weights):
        raise NetworkError(f"has {len(biases):,} biases in {what}, where {len(weights):,} belong")
    if not (np.isfinite(weights).all() and np.isfinite(biases).all()):
        raise NetworkError(f"has weights in {what} that are no numbers")
    return Affine(weights, biases)


def _layer(parent: Fields, field: int) -> NDArray[np.float64]:
    """The numbers of a ``Layer``, float64[N]; none where the field is missing.

    Usually 16 bits each, from the least value to the greatest.
    """
    layer = read_fields(bytes_of(parent, field))
    encoding, data = number_of(layer, 4, _LINEAR16), bytes_of(layer, 3)
    kinds = {_LINEAR16: "<u2", _FLOAT16: "<f2", _BFLOAT16: "<u2", _FLOAT32: "<f4"}
    if encoding not in kinds:
        raise NetworkError(f"has weights in encoding {encoding}, unknown to vecchess")
    numbers = np.frombuffer(data, kinds[encoding])
    if encoding == _BFLOAT16:
        numbers = (numbers.astype("<u4") << np.uint32(16)).view("<f4")
    if encoding != _LINEAR16:
        return numbers.astype(np.float64)
    share, least, most = numbers / 65535.0, real_of(layer, 1), real_of(layer, 2)
    return least * (1 - share) + most * share
