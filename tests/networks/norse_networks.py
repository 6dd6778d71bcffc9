"""Small networks of norse: sequences of cells, and a loop over time, as in its tutorials."""

from collections.abc import Callable
from typing import Any

import norse.torch as snn
import torch
from torch import Tensor, nn

from vecchess.networks.norse_network import NorseNetwork

STEPS, WIDTH, OUTPUTS = 4, 24, 4675
CELLS: dict[str, Callable[[], nn.Module]] = {
    "lif": snn.LIFCell,
    "lif_leak": lambda: snn.LIFCell(p=snn.LIFParameters(v_leak=torch.tensor(0.3))),
    "lif_refrac": snn.LIFRefracCell,
    "lif_ex": snn.LIFExCell,
    "lif_adex": snn.LIFAdExCell,
    "lif_box": snn.LIFBoxCell,
    "iaf": snn.IAFCell,
    "li": snn.LICell,
    "li_linear": lambda: snn.LILinearCell(WIDTH, WIDTH),
    "lsnn": snn.LSNNCell,
    "lif_recurrent": lambda: snn.LIFRecurrentCell(WIDTH, WIDTH),
    "lsnn_recurrent": lambda: snn.LSNNRecurrentCell(WIDTH, WIDTH),
}


class Amplified(nn.Linear):
    """Currents that reach the neurons' thresholds within a few steps."""

    def forward(self, x: Tensor) -> Tensor:
        return 20 * super().forward(x)


def stateful_net(kind: str) -> nn.Module:
    """Takes and returns a list of states; one time step a call."""
    first, last = Amplified(25 * 64, WIDTH), Amplified(WIDTH, OUTPUTS)
    return snn.SequentialState(nn.Flatten(), first, CELLS[kind](), last, snn.LICell())


class Looping(nn.Module):
    """``forward`` has the loop over the time steps of its input, and keeps the states."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.first, self.cell = Amplified(25 * 64, WIDTH), CELLS[kind]()
        self.last, self.out = Amplified(WIDTH, OUTPUTS), snn.LICell()

    def forward(self, x: Tensor) -> Tensor:
        hidden: Any = None
        out: Any = None
        voltages = []
        for planes in x:
            z, hidden = self.cell(self.first(planes.flatten(1)), hidden)
            v, out = self.out(self.last(z), out)
            voltages.append(v)
        return torch.stack(voltages)


def stepping(kind: str = "lif") -> nn.Module:
    return NorseNetwork(stateful_net(kind), STEPS)


def looping(kind: str = "lif") -> nn.Module:
    return NorseNetwork(Looping(kind), STEPS, sequence=True)


class Static(Looping):
    """The loop over time has a length, and its input is the same at each step."""

    def __init__(self, loop: str = "seq_length", gives: str = "all") -> None:
        super().__init__("lif")
        self.loop, self.gives = loop, gives
        setattr(self, loop, STEPS)

    def forward(self, x: Tensor) -> Tensor:
        found = super().forward(x.expand(getattr(self, self.loop), *x.shape))
        return {"all": found, "mean": found.mean(0), "max": found.amax(0)}[self.gives]


class Functional(nn.Module):
    """The states are those of functions; no cell has one."""

    def __init__(self) -> None:
        super().__init__()
        self.seq_length, self.first = STEPS, Amplified(25 * 64, OUTPUTS)

    def forward(self, x: Tensor) -> Tensor:
        state, found = None, []
        for _ in range(self.seq_length):
            z, state = snn.functional.lif_feed_forward_step(self.first(x.flatten(1)), state)
            found.append(z)
        return torch.stack(found)


def lifted() -> nn.Module:
    """Layers of norse that loop over a sequence by themselves."""
    first, last = Amplified(25 * 64, WIDTH), Amplified(WIDTH, OUTPUTS)
    net = snn.SequentialState(nn.Flatten(2), first, snn.LIF(), last, snn.LI())
    return NorseNetwork(net, STEPS, sequence=True)
