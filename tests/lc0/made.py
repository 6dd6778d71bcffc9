"""Weight files of lc0 with small random networks, and a writer of protocol buffers."""

import gzip
import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Message = dict[int, Any]
"""Fields by number: an int, bytes, a float, a Message, or a list of them."""
MAGIC = 0x1C0
INPUTS, SQUARES, MOVES = 112, 64, 1858


def encoded(message: Message) -> bytes:
    """A message on the wire."""
    parts = bytearray()
    for number, values in message.items():
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, float):
                parts += varint(number << 3 | 5) + struct.pack("<f", value)
            elif isinstance(value, int):
                parts += varint(number << 3) + varint(value)
            else:
                data = encoded(value) if isinstance(value, dict) else value
                parts += varint(number << 3 | 2) + varint(len(data)) + data
    return bytes(parts)


def varint(value: int) -> bytes:
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


@dataclass
class Maker:
    """Makes the layers of a network, and keeps what a reader should find in them."""

    rng: np.random.Generator
    layers: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    """Weights and biases by name, as float64[O, I] and float64[O]."""

    def numbers(self, count: int, least: float, most: float) -> tuple[Message, NDArray[np.float64]]:
        """A ``Layer`` of 16 bits a number, and its numbers."""
        words = self.rng.integers(0, 1 << 16, count)
        share = words / 65535.0
        least, most = float(np.float32(least)), float(np.float32(most))
        layer = {1: least, 2: most, 3: words.astype("<u2").tobytes()}
        return layer, least * (1 - share) + most * share

    def conv(self, name: str, outputs: int, inputs: int, size: int, norm: bool = True) -> Message:
        """A ``ConvBlock``, with batch normalisation or with biases."""
        spread = 2 / np.sqrt(inputs * size * size)
        block: Message = {}
        block[1], weights = self.numbers(outputs * inputs * size * size, -spread, spread)
        weights = weights.reshape(outputs, -1)
        if norm:
            block[3], means = self.numbers(outputs, -0.3, 0.3)
            block[4], variances = self.numbers(outputs, 0.5, 2.0)
            block[5], gammas = self.numbers(outputs, 0.5, 1.5)
            block[6], betas = self.numbers(outputs, -0.2, 0.4)
            scale = gammas / np.sqrt(variances + 1e-5)
            weights, biases = weights * scale[:, None], betas - scale * means
        else:
            block[2], biases = self.numbers(outputs, -0.2, 0.4)
        self.layers[name], self.layers[f"{name} bias"] = weights, biases
        return block

    def dense(self, name: str, outputs: int, inputs: int) -> list[Message]:
        """Two ``Layer``: weights and biases."""
        spread = 2 / np.sqrt(inputs)
        weights, values = self.numbers(outputs * inputs, -spread, spread)
        biases, shifts = self.numbers(outputs, -0.3, 0.3)
        self.layers[name], self.layers[f"{name} bias"] = values.reshape(outputs, inputs), shifts
        return [weights, biases]


def network(
    seed: int = 0, *, channels: int = 4, blocks: int = 2, squeeze: int = 3,
    conv_policy: bool = True, wdl: bool = True, mish: bool = False, norm: bool = True,
    input_format: int = 1,
) -> tuple[Message, dict[str, NDArray[np.float64]]]:  # fmt: skip
    """A ``Net`` with random weights, and its layers by name. ``squeeze`` 0: without."""
    make = Maker(np.random.default_rng(seed))
    residual = []
    for number in range(blocks):
        block: Message = {
            conv: make.conv(f"{number} conv{conv}", channels, channels, 3, norm) for conv in (1, 2)
        }
        if squeeze:
            first = make.dense(f"{number} squeeze", squeeze, channels)
            second = make.dense(f"{number} excite", 2 * channels, squeeze)
            block[3] = dict(enumerate([*first, *second], 1))
        residual.append(block)
    weights: Message = {1: make.conv("stem", channels, INPUTS, 3, norm), 2: residual}
    if conv_policy:
        weights[11] = make.conv("policy1", channels, channels, 3, norm)
        weights[3] = make.conv("policy", 80, channels, 3, norm=False)
    else:
        weights[3] = make.conv("policy", 2, channels, 1, norm)
        weights[4], weights[5] = make.dense("moves", MOVES, 2 * SQUARES)
    weights[6] = make.conv("value", 2, channels, 1, norm)
    weights[7], weights[8] = make.dense("hidden", 5, 2 * SQUARES)
    weights[9], weights[10] = make.dense("outcome", 3 if wdl else 1, 5)
    formats: Message = {1: input_format, 2: 2 if wdl else 1, 3: 4 if squeeze else 3}
    formats |= {4: 2 if conv_policy else 1, 5: 2 if wdl else 1, 7: int(mish)}
    magic = {1: struct.unpack("<f", struct.pack("<I", MAGIC))[0]}
    return {**magic, 4: {1: 1, 2: formats}, 10: weights}, make.layers


def packed(net: Message) -> bytes:
    """A weight file."""
    return gzip.compress(encoded(net), mtime=0)


def weight_file(**settings: Any) -> bytes:
    """The weight file of a small random network, see ``network``."""
    return packed(network(**settings)[0])
