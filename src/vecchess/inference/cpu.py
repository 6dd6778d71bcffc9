"""The fast backend without a GPU: event-driven integer kernels, one slice of the slots a thread."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.errors import ConfigError
from vecchess.inference.answers import Answers
from vecchess.inference.cpu_kernels import (
    GROUP,
    Convolutions,
    Heads,
    Membranes,
    Scratch,
    seat,
    step,
)
from vecchess.inference.exit import ExitRule
from vecchess.inference.requests import Requests
from vecchess.shapes import NUM_OUTCOMES, NUM_SQUARES
from vecchess.snn.integer_net import IntegerNet, Layer
from vecchess.snn.presets import NetConfig


class CpuBackend:
    """``Backend`` on ``threads`` cores. Refuses a network that is not proved exact."""

    def __init__(self, net: IntegerNet, num_slots: int, rule: ExitRule, threads: int = 1) -> None:
        """S = ``num_slots``; raises ``NetworkError`` and ``ConfigError``."""
        if num_slots < 1 or threads < 1:
            raise ConfigError("a backend needs at least one slot and one thread")
        report = net.check()
        report.require_exact()
        dtype = np.int16 if report.int16_sums else np.int32
        config = net.config
        self.num_slots = num_slots
        self.time_steps = config.time_steps
        self.policy_scale = net.policy_scale
        self.value_scale = net.value_scale
        self._threshold = np.int32(1 << config.grid_bits)
        self._stem = _convolutions(net, ["stem"], dtype)
        self._tower = _convolutions(net, [name for name in net.layers if "block" in name], dtype)
        self._heads = _heads(net)
        self._membranes = _membranes(config, num_slots)
        self._answers = Answers(num_slots, config.time_steps, rule)
        self._scratch = [_scratch(config, dtype) for _ in range(threads)]
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def admit(self, slots: NDArray[np.int32], requests: Requests, rows: NDArray[np.int32]) -> None:
        """See ``Backend.admit``."""
        self._answers.open(slots, requests, rows)

        def work(part: slice, scratch: Scratch) -> None:
            seat(slots[part], requests.planes, rows[part], self._stem, self._membranes, scratch)

        self._share(len(slots), work)

    def advance(self) -> None:
        """See ``Backend.advance``."""
        answers, slots = self._answers, self._answers.busy()

        def work(part: slice, scratch: Scratch) -> None:
            step(
                slots[part],
                self._threshold,
                self._tower,
                self._heads,
                self._membranes,
                scratch,
                answers.legal,
                answers.num_legal,
                answers.policy,
                answers.wdl,
            )

        self._share(len(slots), work)
        answers.judge(slots)

    def settled(self) -> NDArray[np.int32]:
        """See ``Backend.settled``."""
        return self._answers.take_settled()

    def read(self, slots: NDArray[np.int32], requests: Requests, rows: NDArray[np.int32]) -> None:
        """See ``Backend.read``."""
        self._answers.write(slots, requests, rows)

    def _share(self, count: int, work: Any) -> None:
        """Run ``work(part, scratch)`` over ``count`` slots, one part a thread."""
        if self._pool is None or count < len(self._scratch):
            work(slice(0, count), self._scratch[0])
            return
        edges = np.linspace(0, count, len(self._scratch) + 1).astype(int)
        parts = [slice(a, b) for a, b in pairwise(edges)]
        list(self._pool.map(work, parts, self._scratch))


def _scale(config: NetConfig, layer: Layer) -> NDArray[np.int32]:
    """int32[O]: what a sum in units of 2^-shift is multiplied by to be in units of 2^-F."""
    return np.left_shift(1, config.grid_bits - layer.shift.astype(np.int32)).astype(np.int32)


def _bias(config: NetConfig, layer: Layer) -> NDArray[np.int32]:
    return (layer.bias << (config.grid_bits - config.weight_bits)).astype(np.int32)


def _convolutions(net: IntegerNet, names: list[str], dtype: type[np.generic]) -> Convolutions:
    layers = [net.layers[name] for name in names]
    return Convolutions(
        weight=np.stack([layer.weight.T.astype(dtype).ravel() for layer in layers]),
        scale=np.stack([_scale(net.config, layer) for layer in layers]),
        bias=np.stack([_bias(net.config, layer) for layer in layers]),
    )


def _heads(net: IntegerNet) -> Heads:
    policy, squeeze, outcome = (
        net.layers[name] for name in ("policy", "value.squeeze", "value.outcome")
    )
    return Heads(
        policy=policy.weight.astype(np.int32),
        policy_scale=_scale(net.config, policy),
        policy_bias=_bias(net.config, policy),
        squeeze=np.ascontiguousarray(squeeze.weight.T, np.int32),
        squeeze_scale=_scale(net.config, squeeze),
        squeeze_bias=_bias(net.config, squeeze),
        outcome=np.ascontiguousarray(outcome.weight.T, np.int32),
        outcome_scale=_scale(net.config, outcome),
        outcome_bias=_bias(net.config, outcome),
    )


def _membranes(config: NetConfig, num_slots: int) -> Membranes:
    board = (num_slots, NUM_SQUARES, config.channels)
    return Membranes(
        current=np.zeros(board, np.int32),
        tower=np.zeros((2 * config.blocks + 1, *board), np.int32),
        value=np.zeros((num_slots, NUM_SQUARES, config.value_channels), np.int32),
    )


def _scratch(config: NetConfig, dtype: type[np.generic]) -> Scratch:
    board = (NUM_SQUARES, config.channels)
    longest = NUM_SQUARES * max(config.channels, config.num_planes) + 1
    return Scratch(
        stream=np.zeros((GROUP, *board), np.int32),
        inner=np.zeros(board, np.int32),
        total=np.zeros(config.channels, dtype),
        fired=np.zeros(config.channels, np.uint8),
        rows=np.zeros(longest, np.int32),
        starts=np.zeros(NUM_SQUARES + 1, np.int32),
        sums=np.zeros(NUM_OUTCOMES, np.int32),
    )
