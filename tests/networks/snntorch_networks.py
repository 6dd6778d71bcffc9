"""Small networks of snntorch, as its tutorials write them, and served."""

from collections.abc import Callable
from typing import Any

import snntorch as snn
import torch
from torch import Tensor, nn

from vecchess.networks.snntorch_network import SnntorchNetwork

STEPS, WIDTH, OUTPUTS = 4, 24, 4675
NEURONS: dict[str, Callable[..., nn.Module]] = {
    "leaky": lambda **how: snn.Leaky(beta=0.8, **how),
    "leaky_zero": lambda **how: snn.Leaky(beta=0.8, reset_mechanism="zero", **how),
    "leaky_now": lambda **how: snn.Leaky(beta=0.8, reset_delay=False, **how),
    "lapicque": lambda **how: snn.Lapicque(beta=0.8, **how),
    "synaptic": lambda **how: snn.Synaptic(alpha=0.7, beta=0.8, **how),
    "alpha": lambda **how: snn.Alpha(alpha=0.9, beta=0.8, **how),
    "rleaky": lambda **how: snn.RLeaky(beta=0.8, linear_features=WIDTH, **how),
    "rsynaptic": lambda **how: snn.RSynaptic(0.7, 0.8, linear_features=WIDTH, **how),
    "slstm": lambda **how: snn.SLSTM(WIDTH, WIDTH, threshold=0.1, **how),
}
INITS = {
    "leaky": "init_leaky",
    "leaky_zero": "reset_mem",
    "leaky_now": "init_leaky",
    "lapicque": "init_lapicque",
    "synaptic": "init_synaptic",
    "alpha": "init_alpha",
    "rleaky": "init_rleaky",
    "rsynaptic": "init_rsynaptic",
    "slstm": "init_slstm",
}
RECURRENT = ("rleaky", "rsynaptic")
"""Neurons that are given their own spikes again."""


class Looping(nn.Module):
    """The caller keeps the state, and ``forward`` has the loop over time."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.num_steps, self.init, self.is_recurrent = STEPS, INITS[kind], kind in RECURRENT
        self.fc1, self.neuron = nn.Linear(25 * 64, WIDTH), NEURONS[kind]()
        self.fc2, self.last = nn.Linear(WIDTH, OUTPUTS), snn.Leaky(beta=0.9)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        hidden: Any = getattr(self.neuron, self.init)()
        hidden = hidden if isinstance(hidden, tuple) else (hidden,)
        mem = self.last.init_leaky()
        mems, spikes = [], []
        for _ in range(self.num_steps):
            out, *state = self.neuron(3 * self.fc1(x.flatten(1)), *hidden)
            hidden = [out, *state] if self.is_recurrent else state
            spike, mem = self.last(self.fc2(out), mem)
            mems.append(mem)
            spikes.append(spike)
        return torch.stack(mems), torch.stack(spikes)


def hidden_net(kind: str) -> nn.Sequential:
    """The neurons keep their state; one time step a call."""
    neuron = NEURONS[kind](init_hidden=True)
    last = snn.Leaky(beta=0.9, init_hidden=True, output=True)
    first, second = nn.Linear(25 * 64, WIDTH), nn.Linear(WIDTH, OUTPUTS)
    return nn.Sequential(nn.Flatten(), first, neuron, second, last)


def looping(kind: str = "leaky") -> nn.Module:
    return SnntorchNetwork(Looping(kind), STEPS)


def hiding(kind: str = "leaky") -> nn.Module:
    """Answers with the membranes: second in what the last neuron gives."""

    def membranes(output: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        return output[1][:, :4672], output[1][:, 4672:]

    return SnntorchNetwork(hidden_net(kind), STEPS, read=membranes)
