"""Spikes and synaptic operations of a network at positions, by NeuroBench's definitions.

An operation is a synapse whose input and weight are not zero: an accumulation (AC) where inputs
are 0 and 1, a multiplication (MAC) where they are graded. *Dense* counts every synapse, whatever
input and weight; synapses from squares off the board and biases never count. A layer counts as
often as it is computed: the stem once a position where its planes are the same at every step,
inputs of moves once for each legal move, and all others at every time step.

Yik et al., "The neurobench framework for benchmarking neuromorphic computing algorithms and
systems", Nature Communications 16 (2025); its package gives the same numbers for the same module.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vecchess.chess.planes import board_planes
from vecchess.inference.exit_rule import exit_step
from vecchess.inference.requests import Requests
from vecchess.shapes import NUM_SQUARES
from vecchess.snn.integer.integer_net import ExitRule, IntegerNet, picked_sums
from vecchess.snn.presets import NetConfig
from vecchess.snn.topology import MOVES, NUM_TAPS, input_bits, neuron_layers, reads_activations
from vecchess.snn.torch_integer import in_units, network_input, observed_network

BATCH = 64


class StepCounts(NamedTuple):
    """What a network did at N positions in each of T time steps.

    acs, macs, dense, active: int64[T, N], operations and neurons whose output is not 0; neurons: of
    one position. best: int64[T, N], the place of the best legal move after each step;
    exits: int64[N], the number of steps after which the exit rule ends.
    """

    acs: NDArray[np.int64]
    macs: NDArray[np.int64]
    active: NDArray[np.int64]
    dense: NDArray[np.int64]
    neurons: int
    best: NDArray[np.int64]
    exits: NDArray[np.int64]


class SynapseCounter:
    """Counts the spikes and operations of one network."""

    def __init__(self, net: IntegerNet) -> None:
        """Raises ``NetworkError`` for a network that is not proved exact."""
        self._net = net
        self._rule = ExitRule.from_metadata(net.exit_rule)
        of_squares = [name for name in net.layers if name != MOVES]
        self._fan_outs = {name: fan_out(net, name) for name in of_squares}
        self.module = observed_network(net, lambda spikes: self._note_active(spikes.flatten(2)))
        for name in of_squares:
            self.module.layer(name).register_forward_pre_hook(self._counter(name))

    @torch.no_grad()
    def count(self, requests: Requests) -> StepCounts:
        """The counts of all rows."""
        parts = [
            self._batch(requests.part(slice(first, first + BATCH)))
            for first in range(0, requests.num_rows, BATCH)
        ]
        return StepCounts(
            acs=np.concatenate([part.acs for part in parts], axis=1),
            macs=np.concatenate([part.macs for part in parts], axis=1),
            active=np.concatenate([part.active for part in parts], axis=1),
            dense=np.concatenate([part.dense for part in parts], axis=1),
            neurons=parts[0].neurons,
            best=np.concatenate([part.best for part in parts], axis=1),
            exits=np.concatenate([part.exits for part in parts]),
        )

    def _batch(self, requests: Requests) -> StepCounts:
        config, num = self._net.config, requests.num_rows
        shape = config.time_steps, num
        self._acs, self._macs, self._dense, self._active = np.zeros((4, *shape), np.int64)
        legal = torch.from_numpy(requests.legal.astype(np.int64))
        output = self.module(network_input(config, requests.planes), legal=legal)
        policy, wdl = in_units(output.policy, config), in_units(output.wdl, config)
        best, exits = np.zeros(shape, np.int64), np.zeros(num, np.int64)
        for row, count in enumerate(requests.num_legal):
            ours = np.ascontiguousarray(policy[:, row, :count])
            best[:, row] = ours.argmax(axis=1)
            exits[row] = exit_step(self._rule, ours, np.ascontiguousarray(wdl[:, row]))
        if MOVES in self._net.layers:
            self._count_moves(requests)
        neurons = sum(neuron_layers(config).values())
        return StepCounts(self._acs, self._macs, self._active, self._dense, neurons, best, exits)

    def _counter(self, name: str) -> Callable[[nn.Module, tuple[Tensor, ...]], None]:
        effective, dense = self._fan_outs[name]
        config = self._net.config
        are_spikes = input_bits(config, name) == 0
        is_output = reads_activations(config, name) and name != "policy"
        axes = 1 if _reads_all(config, name) else 3

        def note(module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            rows = inputs[0].flatten(-axes)
            steps = rows[None] if rows.dim() == 2 else rows
            total = ((steps != 0).double() @ effective).to(torch.int64).numpy()
            (self._acs if are_spikes else self._macs)[: len(total)] += total
            self._dense[: len(total)] += dense
            if is_output:  # of clipped ReLUs; policy reads those that value.squeeze reads
                self._note_active(steps)

        return note

    def _count_moves(self, requests: Requests) -> None:
        """Add the weights that the inputs of each legal move pick, at the first step."""
        weights = self._net.layers[MOVES].weight[0]
        picked, total = picked_sums((weights != 0).astype(np.int64)), weights.size
        words = requests.planes[:, board_planes(self._net.config.num_planes) :]
        codes = np.ascontiguousarray(words).view(np.uint16)
        for row, count in enumerate(requests.num_legal):
            self._acs[0, row] += picked[codes[row, :count]].sum()
            self._dense[0, row] += total * int(count)

    def _note_active(self, outputs: Tensor) -> None:
        """outputs: [T, B, neurons]."""
        self._active += torch.count_nonzero(outputs, dim=2).numpy()


def fan_out(net: IntegerNet, name: str) -> tuple[Tensor, int]:
    """Of each input of a layer, how many weights that are not 0 read it: float64[inputs]; and how
    many weights read all of them, zeros included.

    Inputs of a layer over squares are (square, channel); weights of a 3x3 convolution that would
    read off the board do not count.
    """
    weight = net.layers[name].weight
    weights = (weight != 0).sum(axis=0)
    if _reads_all(net.config, name):
        return torch.from_numpy(weights.astype(np.float64)), weight.size
    taps = 1 if name in ("policy", "value.squeeze") else NUM_TAPS
    readers = _readers() if taps == NUM_TAPS else np.ones((NUM_SQUARES, 1), np.int64)
    each = (readers @ weights.reshape(taps, -1)).reshape(-1)
    return torch.from_numpy(each.astype(np.float64)), int(readers.sum()) * weight.size // taps


def _reads_all(config: NetConfig, name: str) -> bool:
    """Whether each output of a layer reads all its inputs, not squares of a board."""
    return name == "value.outcome" or (config.kind == "plain" and name == "policy")


def _readers() -> NDArray[np.int64]:
    """int64[64, 9]: 1 where an output square reads the input square by the tap."""
    rank, file = np.divmod(np.arange(NUM_SQUARES), 8)
    taps = np.arange(NUM_TAPS)
    ranks, files = rank[:, None] - (taps // 3 - 1), file[:, None] - (taps % 3 - 1)
    on_board = (ranks >= 0) & (ranks < 8) & (files >= 0) & (files < 8)
    return on_board.astype(np.int64)
