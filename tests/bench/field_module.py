"""A network as a module of torch's own layers, run step by step, as NeuroBench takes modules."""

import torch
from torch import Tensor, nn

from vecchess.export.nir_graph import convolution_kernel
from vecchess.shapes import NUM_SQUARES
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.modules.neuron import clipped_relu, floor_on_grid, lif_step
from vecchess.snn.topology import hidden_layers, input_bits, neuron_layers, reads_activations


class Lif(nn.Module):
    """A layer of LIF neurons with its membrane."""

    def __init__(self, grid_bits: int) -> None:
        super().__init__()
        self.grid_bits = grid_bits
        self.membrane: Tensor | None = None

    def forward(self, current: Tensor) -> Tensor:
        before = torch.zeros_like(current) if self.membrane is None else self.membrane
        spikes, self.membrane = lif_step(before, current, self.grid_bits)
        return spikes


class ClippedRelu(nn.Module):
    """A layer of activations."""

    def forward(self, current: Tensor) -> Tensor:
        return clipped_relu(current)


class FieldModule(nn.Module):
    """``net`` with direct input; accumulators of policy [B, 4672] and wdl [B, 3] after T steps."""

    def __init__(self, net: IntegerNet) -> None:
        super().__init__()
        config = self.config = net.config
        self.names = {name: f"{name.replace('.', '_')}" for name in net.layers}
        for name, layer in self.names.items():
            self.add_module(layer, _layer(net, name))
        for name in neuron_layers(config):
            activates = reads_activations(config, name)
            neurons = ClippedRelu() if activates else Lif(config.grid_bits)
            self.add_module(f"neurons_{name.replace('.', '_')}", neurons)

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """planes: [B, P, 8, 8]."""
        for module in self.modules():
            if isinstance(module, Lif):
                module.membrane = None
        stem = self._current("stem", planes)
        steps = [self._step(stem) for _ in range(self.config.time_steps)]
        policy, wdl = zip(*steps, strict=True)
        return torch.stack(policy).sum(0), torch.stack(wdl).sum(0)

    def _step(self, stem: Tensor) -> tuple[Tensor, Tensor]:
        hidden, buffers = hidden_layers(self.config), [stem, stem]
        for index, layer in enumerate(hidden):
            fired = self._fired(layer.name, buffers[index % 2])
            current = self._current(layer.name, fired)
            target = 1 - index % 2
            buffers[target] = buffers[target] + current if layer.adds else current
        fired = self._fired("heads", buffers[len(hidden) % 2])
        if self.config.kind == "plain":
            pooled = fired.mean((2, 3))
            return self._current("policy", pooled), self._current("value.outcome", pooled)
        policy = self._current("policy", fired).flatten(1)
        fired = self._fired("value.outcome", self._current("value.squeeze", fired))
        return policy, self._current("value.outcome", fired.permute(0, 2, 3, 1).flatten(1))

    def _current(self, name: str, inputs: Tensor) -> Tensor:
        sums: Tensor = self.get_submodule(self.names[name])(inputs)
        is_rounded = input_bits(self.config, name) > 0
        return floor_on_grid(sums, self.config.grid_bits) if is_rounded else sums

    def _fired(self, name: str, current: Tensor) -> Tensor:
        return self.get_submodule(f"neurons_{name.replace('.', '_')}")(current)  # type: ignore[no-any-return]


def _layer(net: IntegerNet, name: str) -> nn.Conv2d | nn.Linear:
    """A layer's weights; a bias on the grid may be added before the sum is rounded down to it."""
    weight, bias = net.layers[name].floats(net.config)
    layer: nn.Conv2d | nn.Linear
    if name == "value.outcome" or (net.config.kind == "plain" and name == "policy"):
        layer, values = nn.Linear(weight.shape[1], len(weight)), weight
    else:
        taps = 1 if name in ("policy", "value.squeeze") else 3
        values = convolution_kernel(weight, taps)
        layer = nn.Conv2d(values.shape[1], len(weight), taps, padding=taps // 2)
    layer.weight.data, layer.bias.data = torch.from_numpy(values), torch.from_numpy(bias)
    return layer.double()


def boards_of(words: Tensor) -> Tensor:
    """Bitboards int64[B, P] as float64[B, P, 8, 8]."""
    squares = torch.arange(NUM_SQUARES)
    return (words[..., None] >> squares & 1).double().unflatten(-1, (8, 8))
