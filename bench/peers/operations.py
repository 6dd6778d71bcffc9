"""Counts of a network's work for one position: spikes, synaptic operations, multiplications.

A synaptic operation is one spike arriving at one neuron: an accumulate, or of a graded spike a
multiply-accumulate. Spikes are counted where
they arrive, so one at the edge of the board, which reaches fewer squares, counts less.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vecchess.inference.requests import Requests
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.modules.convolution import patches
from vecchess.snn.modules.layers import SynapseLayer
from vecchess.snn.modules.network import SpikingNet, unpack_bitboards
from vecchess.snn.topology import NUM_TAPS, layer_shapes, neuron_layers, reads_activations
from vecchess.snn.torch_integer import from_integers, network_input

COUNTED = 64
"""Positions that are counted."""
ACCUMULATE_PJ = 0.9
MULTIPLY_ACCUMULATE_PJ = 4.6
"""Picojoules in 32-bit floating point at 45 nm (Horowitz, ISSCC 2014), as papers on spiking
networks use them. A proxy: it leaves out memory, membranes and the actual machine."""


@dataclass(frozen=True)
class LayerWork:
    """One layer and one position, averages over positions."""

    name: str
    synaptic_ops: tuple[float, ...]
    """Accumulates at each time step: inputs that are not 0 times the neurons they reach. Far
    fewer at the first step, which starts from rest, than at later ones."""
    macs: int
    """Multiply-accumulates a step of the dense form, squares off the board included."""
    weight_bytes: int
    """int8 weights."""
    once: bool
    """Whether the layer is computed once a position: ``synaptic_ops`` then has one entry."""
    multiplies: bool = False
    """Whether its inputs are graded."""

    def times(self, steps: float) -> float:
        """Number of computations of the layer for a position that takes ``steps`` time steps."""
        return 1.0 if self.once else steps

    def accumulates(self, steps: float) -> float:
        """Synaptic operations of that position; a step that half the positions take counts half."""
        shares = np.clip(self.times(steps) - np.arange(len(self.synaptic_ops)), 0.0, 1.0)
        return float(shares @ np.array(self.synaptic_ops))


@dataclass(frozen=True)
class Work:
    """A network's layers in forward order; spikes per neuron and step in each neuron layer."""

    layers: tuple[LayerWork, ...]
    spike_rates: dict[str, float]

    def synaptic_ops(self, steps: float) -> float:
        """Accumulates of a position that takes ``steps`` time steps."""
        return sum(layer.accumulates(steps) for layer in self.layers)

    def macs(self, steps: float) -> float:
        """Multiply-accumulates of the same, computed densely."""
        return sum(layer.macs * layer.times(steps) for layer in self.layers)


def count_work(net: IntegerNet, questions: Requests, num: int = COUNTED) -> Work:
    """Run the first ``num`` questions through the torch module, all T steps, and count."""
    module = from_integers(net).eval()
    module.compiled = False  # so that every layer is called with its spikes
    nonzero: dict[str, NDArray[np.float64]] = {}
    hooks = [
        module.layer(name).register_forward_pre_hook(_counter(nonzero, name)) for name in net.layers
    ]
    planes = _input(module, questions.planes[:num])
    with torch.no_grad():
        rates = module(planes).rates
    for hook in hooks:
        hook.remove()
    names = neuron_layers(net.config)
    return Work(
        tuple(
            _layer_work(net, name, nonzero[name] / len(questions.planes[:num])) for name in nonzero
        ),
        {name: float(rate) for name, rate in zip(names, rates, strict=True)},
    )


def energy_proxy(work: Work, steps: float) -> float:
    """Nanojoules a position by the usual proxy: synaptic operations are accumulates, or
    multiply-accumulates where inputs are graded."""
    prices = {False: ACCUMULATE_PJ, True: MULTIPLY_ACCUMULATE_PJ}
    return sum(one.accumulates(steps) * prices[one.multiplies] for one in work.layers) / 1000


def dense_energy_proxy(work: Work) -> float:
    """Nanojoules a position of a network without spikes: dense products after the binary planes.

    The input of the first layer is binary, as in the spiking network, and is counted like it.
    """
    first, *others = work.layers
    macs = sum(layer.macs for layer in others)
    return (first.accumulates(1) * ACCUMULATE_PJ + macs * MULTIPLY_ACCUMULATE_PJ) / 1000


def _input(module: SpikingNet, planes: Any) -> Tensor:
    return unpack_bitboards(network_input(module.config, planes))


def _counter(nonzero: dict[str, NDArray[np.float64]], name: str) -> Any:
    """A hook that counts the inputs that are not 0: float64[T], or [1] if computed once."""

    def count(module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        assert isinstance(module, SynapseLayer)
        values = patches(inputs[0]) if module.spec.taps == NUM_TAPS else inputs[0]
        by_step = values[None] if name == "stem" and values.dim() == 4 else values
        nonzero[name] = (by_step != 0).flatten(1).sum(1).double().numpy()

    return count


def _layer_work(net: IntegerNet, name: str, nonzero: NDArray[np.float64]) -> LayerWork:
    """``nonzero``: inputs of a position that are not 0, at all squares, by time step."""
    config = net.config
    outputs, inputs = layer_shapes(config)[name]
    on_board = name != "value.outcome" and not (name == "policy" and config.kind == "plain")
    return LayerWork(
        name=name,
        synaptic_ops=tuple((nonzero * outputs).tolist()),
        macs=(64 if on_board else 1) * outputs * inputs,
        weight_bytes=outputs * inputs,
        once=name == "stem" and not config.is_rate_coded,
        multiplies=reads_activations(config, name),
    )
