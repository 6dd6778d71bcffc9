"""Networks of snntorch and spikingjelly in the shapes that tutorials and examples give them.

Each function of ``SERVED`` and ``REFUSED`` makes an adapter; refused ones with words of the reason.
"""

from collections.abc import Callable
from typing import Any

import snntorch as snn
import torch
from snntorch import spikegen, utils
from spikingjelly.activation_based import functional, layer, neuron
from torch import Tensor, nn

from vecchess.networks.snntorch_network import SnntorchNetwork
from vecchess.networks.spikingjelly_network import SpikingjellyNetwork

STEPS, WIDTH, OUTPUTS = 3, 16, 4675
num_steps = STEPS


class Two(nn.Module):
    """Two layers, the loop over time in ``forward``; ``begin`` makes the membranes."""

    def __init__(self, begin: str = "init", gives: str = "all", **leaky: Any) -> None:
        super().__init__()
        self.num_steps, self.begin, self.gives = STEPS, begin, gives
        self.fc1, self.fc2 = nn.Linear(25 * 64, WIDTH), nn.Linear(WIDTH, OUTPUTS)
        self.lif1, self.lif2 = snn.Leaky(beta=0.9, **leaky), snn.Leaky(beta=0.8, **leaky)

    def _membrane(self, lif: Any, rows: int, width: int) -> Any:
        return {
            "init": lambda: lif.init_leaky(),
            "reset": lambda: lif.reset_mem(),
            "zeros": lambda: torch.zeros(rows, width),
            "ones": lambda: torch.ones(rows, width),
            "none": lambda: None,
            "random": lambda: torch.rand(rows, width),
        }[self.begin]()

    def forward(self, x: Tensor) -> Any:
        x = x.flatten(1)
        mem1, mem2 = (
            self._membrane(self.lif1, len(x), WIDTH),
            self._membrane(self.lif2, len(x), OUTPUTS),
        )
        spikes, mems = [], []
        for _ in range(self.num_steps):
            spk1, mem1 = self.lif1(self.fc1(x), mem1)
            spk2, mem2 = self.lif2(self.fc2(spk1), mem2)
            spikes.append(spk2)
            mems.append(mem2)
        stacked = torch.stack(mems)
        return {
            "all": lambda: stacked,
            "both": lambda: (torch.stack(spikes, dim=0), stacked),
            "list": lambda: mems,
            "mean": lambda: stacked.mean(0),
            "sum": lambda: stacked.sum(0),
            "last": lambda: mem2,
        }[self.gives]()


class Hidden(nn.Module):
    """Neurons that keep their state; the loop and the reset are in ``forward``."""

    def __init__(self) -> None:
        super().__init__()
        self.num_steps = STEPS
        self.layers = nn.Sequential(
            nn.Flatten(),
            nn.Linear(25 * 64, WIDTH),
            snn.Leaky(beta=0.9, init_hidden=True),
            nn.Linear(WIDTH, OUTPUTS),
            snn.Leaky(beta=0.9, init_hidden=True, output=True),
        )

    def forward(self, x: Tensor) -> Tensor:
        utils.reset(self.layers)
        return torch.stack([self.layers(x)[1] for _ in range(self.num_steps)])


class GlobalLoop(Two):
    """The number of steps is a variable of the file."""

    def forward(self, x: Tensor) -> Any:
        mem1, mem2, found = self.lif1.init_leaky(), self.lif2.init_leaky(), []
        for _ in range(num_steps):
            spk1, mem1 = self.lif1(self.fc1(x.flatten(1)), mem1)
            _, mem2 = self.lif2(self.fc2(spk1), mem2)
            found.append(mem2)
        return torch.stack(found) if self.gives == "all" else mem2


class OtherLoop(Two):
    """The number of steps is an attribute of another name; one answer for all of them."""

    def __init__(self) -> None:
        super().__init__()
        del self.num_steps
        self.timesteps = STEPS

    def forward(self, x: Tensor) -> Any:
        mem, total = self.lif1.init_leaky(), torch.zeros(())
        for _ in range(self.timesteps):
            spk, mem = self.lif1(self.fc1(x.flatten(1)), mem)
            total = total + self.fc2(spk)
        return total / self.timesteps


class Shared(Two):
    """One neuron for two layers, which a membrane each is given, or the same one."""

    def __init__(self, is_one_membrane: bool = False) -> None:
        super().__init__()
        self.is_one, self.mid = is_one_membrane, nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Any:
        mem1, mem2, found = self.lif1.init_leaky(), self.lif1.init_leaky(), []
        for _ in range(self.num_steps):
            spk, mem1 = self.lif1(self.fc1(x.flatten(1)), mem1)
            spk, mem2 = self.lif1(self.mid(spk), mem1 if self.is_one else mem2)
            mem1 = mem2 if self.is_one else mem1
            found.append(self.fc2(mem2))
        return torch.stack(found)


class StepNorms(Two):
    """Batch norm through time."""

    def __init__(self) -> None:
        super().__init__()
        self.bntt = snn.BatchNormTT1d(WIDTH, STEPS)
        for norm in self.bntt:
            norm.running_mean.normal_()

    def forward(self, x: Tensor) -> Any:
        mem1, found = self.lif1.init_leaky(), []
        for step in range(self.num_steps):
            spk, mem1 = self.lif1(self.bntt[step](self.fc1(x.flatten(1))), mem1)
            found.append(self.fc2(spk))
        return torch.stack(found)


class Coded(Two):
    """Spikes over time are made of the input."""

    def __init__(self, code: Callable[[Tensor, int], Tensor]) -> None:
        super().__init__()
        self.code = code

    def forward(self, x: Tensor) -> Any:
        data = self.code(x, self.num_steps)
        mem1, found = self.lif1.init_leaky(), []
        for step in range(self.num_steps):
            spk, mem1 = self.lif1(self.fc1(data[step].flatten(1)), mem1)
            found.append(self.fc2(spk))
        return torch.stack(found)


class Feedback(Two):
    """Spikes of the step before come back, outside of the neurons."""

    def forward(self, x: Tensor) -> Any:
        mem1, spk1 = self.lif1.init_leaky(), torch.zeros(len(x), WIDTH)
        found = []
        for _ in range(self.num_steps):
            spk1, mem1 = self.lif1(self.fc1(x.flatten(1)) - spk1, mem1)
            found.append(self.fc2(spk1))
        return torch.stack(found)


class Population(Two):
    """Several neurons for each output, whose spikes are counted."""

    def __init__(self) -> None:
        super().__init__()
        self.fc2 = nn.Linear(WIDTH, 2 * OUTPUTS)

    def forward(self, x: Tensor) -> Any:
        mem1, mem2, found = self.lif1.init_leaky(), self.lif2.init_leaky(), []
        for _ in range(self.num_steps):
            spk1, mem1 = self.lif1(self.fc1(x.flatten(1)), mem1)
            spk2, mem2 = self.lif2(self.fc2(spk1), mem2)
            found.append(spk2.unflatten(1, (OUTPUTS, 2)).sum(2))
        return torch.stack(found)


class ConvolutionalLstm(nn.Module):
    """Spiking LSTMs, over the board and over its sum."""

    def __init__(self) -> None:
        super().__init__()
        self.num_steps = STEPS
        self.board = snn.SConv2dLSTM(25, 4, kernel_size=3, max_pool=2, threshold=0.1)
        self.flat, self.out = snn.SLSTM(64, WIDTH, threshold=0.1), nn.Linear(WIDTH, OUTPUTS)

    def forward(self, x: Tensor) -> Any:
        syn1, mem1 = self.board.init_sconv2dlstm()
        syn2, mem2 = self.flat.init_slstm()
        found = []
        for _ in range(self.num_steps):
            spk, syn1, mem1 = self.board(x, syn1, mem1)
            _, syn2, mem2 = self.flat(spk.flatten(1), syn2, mem2)
            found.append(self.out(mem2))
        return torch.stack(found)


class Given(Two):
    """The caller gives the membranes."""

    def forward(self, x: Tensor, mem1: Tensor) -> Any:  # type: ignore[override]
        spk, mem1 = self.lif1(self.fc1(x.flatten(1)), mem1)
        return self.fc2(spk), mem1


class Jelly(nn.Module):
    """spikingjelly, the loop over time in ``forward``; a layer before it is computed once."""

    def __init__(self, gives: str = "mean", loop: str = "T", is_shared: bool = False) -> None:
        super().__init__()
        self.gives, self.loop = gives, loop
        setattr(self, loop, STEPS)
        self.once = nn.Sequential(layer.Flatten(), layer.Linear(25 * 64, WIDTH))
        node = neuron.LIFNode(v_threshold=0.2)
        other = node if is_shared else neuron.ParametricLIFNode(v_threshold=0.2)
        self.body = nn.Sequential(
            node, layer.Linear(WIDTH, WIDTH), other, layer.Linear(WIDTH, OUTPUTS)
        )

    def forward(self, x: Tensor) -> Any:
        functional.reset_net(self)
        steps = getattr(self, self.loop)
        x = self.once(x)
        found = torch.stack([self.body(x) for _ in range(steps)])
        return {"mean": found.mean(0), "sum": found.sum(0), "all": found}[self.gives]


def _sequential(*, is_conv: bool = False) -> nn.Module:
    first = [nn.Conv2d(25, 4, 3), nn.MaxPool2d(2)] if is_conv else [nn.Flatten()]
    leaky: dict[str, Any] = {"beta": 0.9, "init_hidden": True}
    return nn.Sequential(
        *first,
        nn.Flatten() if is_conv else nn.Linear(25 * 64, WIDTH),
        *([nn.Linear(36, WIDTH)] if is_conv else []),
        snn.Leaky(**leaky),
        nn.Linear(WIDTH, OUTPUTS),
        snn.Leaky(**leaky, output=True),
    )


def _jelly_steps(*, is_whole: bool = False) -> nn.Module:
    net = nn.Sequential(
        layer.Flatten(),
        layer.Linear(25 * 64, WIDTH),
        neuron.LIFNode(v_threshold=0.2),
        layer.Linear(WIDTH, OUTPUTS),
        neuron.IFNode(v_threshold=0.2),
    )
    if is_whole:
        functional.set_step_mode(net, "m")
    return net


def snn_of(net: nn.Module, **settings: Any) -> Callable[[], nn.Module]:
    return lambda: SnntorchNetwork(net, STEPS, **settings)


def jelly_of(net: nn.Module, **settings: Any) -> Callable[[], nn.Module]:
    return lambda: SpikingjellyNetwork(net, STEPS, **settings)


def _half(x: Tensor, steps: int) -> Tensor:
    return spikegen.rate(x, num_steps=steps, gain=0.5)


SERVED: dict[str, Callable[[], Callable[[], nn.Module]]] = {
    "leaky": lambda: snn_of(Two()),
    "reset_mem": lambda: snn_of(Two("reset")),
    "spikes_and_membranes": lambda: snn_of(Two(gives="both")),
    "list_of_steps": lambda: snn_of(Two(gives="list")),
    "mean": lambda: snn_of(Two(gives="mean")),
    "last": lambda: snn_of(Two(gives="last"), readout="last"),
    "zeros": lambda: snn_of(Two("zeros")),
    "ones": lambda: snn_of(Two("ones")),
    "none": lambda: snn_of(Two("none")),
    "learnt": lambda: snn_of(Two(learn_beta=True, learn_threshold=True)),
    "reset_to_zero": lambda: snn_of(Two(reset_mechanism="zero")),
    "no_reset": lambda: snn_of(Two(reset_mechanism="none")),
    "hidden_with_reset": lambda: snn_of(Hidden()),
    "sequential": lambda: snn_of(_sequential()),
    "convolutional": lambda: snn_of(_sequential(is_conv=True)),
    "shared_neuron": lambda: snn_of(Shared()),
    "shared_membrane": lambda: snn_of(Shared(is_one_membrane=True)),
    "population": lambda: snn_of(Population()),
    "lstm": lambda: snn_of(ConvolutionalLstm()),
    "rate_of_planes": lambda: snn_of(Coded(lambda x, steps: spikegen.rate(x, num_steps=steps))),
    "named_loop": lambda: snn_of(OtherLoop(), loop="timesteps"),
    "jelly_steps": lambda: jelly_of(_jelly_steps()),
    "jelly_mean": lambda: jelly_of(Jelly()),
    "jelly_all": lambda: jelly_of(Jelly("all")),
    "jelly_shared": lambda: jelly_of(Jelly(is_shared=True)),
    "jelly_named_loop": lambda: jelly_of(Jelly(loop="num_steps"), loop="num_steps"),
}
REFUSED: dict[str, tuple[Callable[[], Callable[[], nn.Module]], str]] = {
    "global_loop": (lambda: snn_of(GlobalLoop()), "the length of its loop has to be an attribute"),
    "global_loop_last": (lambda: snn_of(GlobalLoop(gives="last")), "takes 3 time steps in a call"),
    "other_loop": (lambda: snn_of(OtherLoop()), 'give the adapter loop="timesteps"'),
    "sum": (lambda: snn_of(Two(gives="sum")), "it gives the sum of its time steps"),
    "last_as_mean": (lambda: snn_of(Two(gives="last")), 'readout="last"'),
    "random_membranes": (lambda: snn_of(Two("random")), "would be served as another network"),
    "step_norms": (lambda: snn_of(StepNorms()), "bntt has a norm for each time step"),
    "rate": (lambda: snn_of(Coded(_half)), "random numbers"),
    "latency": (
        lambda: snn_of(Coded(lambda x, n: spikegen.latency(x, num_steps=n, normalize=True))),
        "would be served as another network",
    ),
    "feedback": (lambda: snn_of(Feedback()), "what it keeps outside of its neurons"),
    "given": (lambda: snn_of(Given()), "mem1"),
    "jelly_sum": (lambda: jelly_of(Jelly("sum")), "divide by their number"),
    "jelly_other_loop": (lambda: jelly_of(Jelly(loop="num_steps")), 'loop="num_steps"'),
    "jelly_whole": (lambda: jelly_of(_jelly_steps(is_whole=True)), 'has step mode "m"'),
}


def served(kind: str) -> nn.Module:
    return SERVED[kind]()()


def refused(kind: str) -> nn.Module:
    return REFUSED[kind][0]()()
