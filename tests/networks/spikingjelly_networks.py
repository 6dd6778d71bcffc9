"""Small networks of spikingjelly in step mode "s", as its tutorials write them, and served."""

from collections.abc import Callable

import torch
from spikingjelly.activation_based import functional, layer, neuron
from torch import Tensor, nn

from vecchess.networks.spikingjelly_network import SpikingjellyNetwork

STEPS, WIDTH, OUTPUTS = 4, 24, 4675
MODULES: dict[str, Callable[[], nn.Module]] = {
    "if": neuron.IFNode,
    "if_soft": lambda: neuron.IFNode(v_reset=None),
    "if_half": neuron.HalfThresholdIFNode,
    "lif": neuron.LIFNode,
    "lif_soft": lambda: neuron.LIFNode(tau=3.0, v_reset=None, decay_input=False),
    "lif_rest": lambda: neuron.LIFNode(v_reset=-0.5, store_v_seq=True),
    "simple": lambda: neuron.SimpleLIFNode(tau=2.0, decay_input=True),
    "plif": neuron.ParametricLIFNode,
    "klif": neuron.KLIFNode,
    "clif": neuron.ComplementaryLIFNode,
    "cubalif": neuron.CUBALIFNode,
    "qif": neuron.QIFNode,
    "eif": neuron.EIFNode,
    "izhikevich": neuron.IzhikevichNode,
    "filter": lambda: nn.Sequential(neuron.IFNode(), layer.SynapseFilter(tau=4.0)),
    "recurrent": lambda: layer.LinearRecurrentContainer(neuron.LIFNode(), WIDTH, WIDTH),
    "feedback": lambda: layer.ElementWiseRecurrentContainer(neuron.IFNode(), torch.sub),
}


def stepwise_net(kind: str) -> nn.Sequential:
    """One time step a call; the caller has the loop and resets the network."""
    first, second = layer.Linear(25 * 64, WIDTH), layer.Linear(WIDTH, OUTPUTS)
    last = neuron.LIFNode(tau=3.0, v_threshold=0.02)
    return nn.Sequential(layer.Flatten(), Amplifier(), first, MODULES[kind](), second, last)


class Amplifier(nn.Module):
    """Makes currents that reach every neuron's threshold."""

    def forward(self, x: Tensor) -> Tensor:
        return 4 * x


class Looping(nn.Module):
    """``forward`` has the loop over time, and resets the network before it."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.T, self.layers = STEPS, stepwise_net(kind)

    def forward(self, x: Tensor) -> Tensor:
        functional.reset_net(self)
        return torch.stack([self.layers(x) for _ in range(self.T)])


def stepping(kind: str = "lif") -> nn.Module:
    return SpikingjellyNetwork(stepwise_net(kind), STEPS)


def looping(kind: str = "lif") -> nn.Module:
    return SpikingjellyNetwork(Looping(kind), STEPS)
