"""The spiking residual tower as a torch module (MS-ResNet: only spikes enter a convolution).

Two phases. A new module trains with ordinary batch norm. ``fold()`` freezes the statistics into
weights and biases; from then on the forward uses weights int8 * 2^-k and biases on 2^-weight_bits
(straight-through gradients), so what is trained is, to the bit, what is deployed. No neuron sees
another time step than through its membrane, so the layers run one by one, each over all steps.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from vecchess.shapes import NUM_SQUARES
from vecchess.snn.bounds import INT16_LIMIT
from vecchess.snn.neuron import clipped_relu, floor_on_grid, leaky, quantise
from vecchess.snn.presets import WEIGHT_LIMIT, NetConfig
from vecchess.snn.topology import hidden_layers, input_bits, layer_shapes, neuron_layers

FIRST_BIAS = -0.6
"""Where batch norm centres the current of a new neuron: with spread 1 it fires at about 10 %."""


class Output(NamedTuple):
    """What T steps add up to. Accumulators are real numbers here, integers times 2^-F if folded.

    policy: float32[T, B, 4672] and wdl: float32[T, B, 3] after each step; membranes: one per
    neuron layer, to go on from; rates: float32[] per neuron layer, spikes per neuron and step (of
    the twin: share of active neurons).
    """

    policy: Tensor
    wdl: Tensor
    membranes: list[Tensor]
    rates: list[Tensor]


class Synapses(nn.Module):
    """A linear map [..., K] -> [..., O]: float with batch norm, or folded and quantised."""

    def __init__(
        self,
        num_inputs: int,
        num_outputs: int,
        weight_bits: int,
        norm: tuple[float, float] | None,
        floor_bits: int | None = None,
    ) -> None:
        """``norm``: first gain and bias of the batch norm, None for a plain bias.

        floor_bits: the grid currents are rounded down to where the inputs are no spikes.
        """
        super().__init__()
        self.weight_bits = weight_bits
        self.floor_bits = floor_bits
        self.weight = nn.Parameter(torch.randn(num_outputs, num_inputs) / num_inputs**0.5)
        self.bias = nn.Parameter(torch.zeros(num_outputs))
        self.norm = None if norm is None else nn.BatchNorm1d(num_outputs)
        if norm is not None and self.norm is not None:
            nn.init.constant_(self.norm.weight, norm[0])
            nn.init.constant_(self.norm.bias, norm[1])
        self.register_buffer("shift", torch.zeros(num_outputs))
        self.register_buffer("folded", torch.tensor(False))
        self.shift: Tensor
        self.folded: Tensor

    def forward(self, inputs: Tensor) -> Tensor:
        """Currents; exact whenever folded, because autocast and Winograd are kept away."""
        if self.folded:
            with torch.autocast(inputs.device.type, enabled=False):
                weight, bias = self.quantised()
                sums = functional.linear(inputs.float(), weight)
                if self.floor_bits is not None:
                    sums = floor_on_grid(sums, self.floor_bits)
                return sums + bias
        currents = functional.linear(inputs, self.weight)
        if self.norm is None:
            return currents + self.bias
        normed: Tensor = self.norm(currents.flatten(0, -2))
        return normed.view(currents.shape)

    def quantised(self) -> tuple[Tensor, Tensor]:
        """The deployed weight [O, K] and bias [O], still attached to their parameters."""
        weight = quantise(self.weight, torch.exp2(self.shift)[:, None], WEIGHT_LIMIT)
        grid = torch.tensor(2.0**self.weight_bits, device=self.bias.device)
        return weight, quantise(self.bias, grid, 2.0**24)

    @torch.no_grad()
    def fold(self) -> None:
        """Take the batch norm's running statistics into weight and bias, and choose the grid."""
        if self.folded:
            return
        if self.norm is not None:
            assert self.norm.running_var is not None
            assert self.norm.running_mean is not None
            gain = self.norm.weight / torch.sqrt(self.norm.running_var + self.norm.eps)
            self.weight.mul_(gain[:, None])
            self.bias.copy_(self.norm.bias - self.norm.running_mean * gain)
            self.norm = None
        largest = self.weight.abs().amax(dim=1, keepdim=True)
        sides = torch.maximum(self.weight.relu().sum(1), (-self.weight).relu().sum(1))[:, None]
        powers = 2.0 ** torch.arange(1, self.weight_bits + 1, device=largest.device)
        room = INT16_LIMIT - self.weight.shape[1] / 2  # rounding may add half a unit a weight
        fits = (largest * powers <= WEIGHT_LIMIT) & (sides * powers < room)
        self.shift.copy_(fits.sum(dim=1))
        self.folded.fill_(True)


class SpikingNet(nn.Module):
    """planes float32[B, 8, 8, P] of 0 and 1 -> policy and win/draw/loss accumulators.

    Planes are float32[T, B, 8, 8, P] where the network is rate-coded; see ``coding``.
    """

    def __init__(self, config: NetConfig) -> None:
        """Unfolded, with torch's current random generator."""
        super().__init__()
        self.config = config
        self._hidden = hidden_layers(config)
        self.layers = nn.ModuleDict(
            {
                module_key(name): Synapses(
                    inputs,
                    outputs,
                    config.weight_bits,
                    _first_norm(config, name),
                    config.grid_bits if input_bits(config, name) else None,
                )
                for name, (outputs, inputs) in layer_shapes(config).items()
            }
        )
        self.policy_gain = nn.Parameter(torch.tensor(1.0))
        self.value_gain = nn.Parameter(torch.tensor(1.0))

    def layer(self, name: str) -> Synapses:
        """The layer called ``name`` in ``integer_net``."""
        module = self.layers[module_key(name)]
        assert isinstance(module, Synapses)
        return module

    @property
    def folded(self) -> bool:
        """True once the forward is the deployed one."""
        return bool(self.layer("stem").folded)

    def fold(self) -> None:
        """Enter the second phase: batch norm folded and frozen, weights quantised."""
        for layer in self.layers.values():
            assert isinstance(layer, Synapses)
            layer.fold()

    def forward(self, planes: Tensor, num_steps: int | None = None) -> Output:
        """``num_steps`` (T by default) steps from rest."""
        steps = self.config.time_steps if num_steps is None else num_steps
        return self.advance(self.inflow(planes), self.at_rest(planes.shape[-4]), steps)

    def inflow(self, planes: Tensor) -> Tensor:
        """x0: float32[B, 8, 8, C], the same at every step, or [T, B, 8, 8, C] if rate-coded."""
        return self.layer("stem")(patches(planes))  # type: ignore[no-any-return]

    def at_rest(self, num_boards: int) -> list[Tensor]:
        """Membranes of B boards before the first step, one per neuron layer; none of the twin."""
        if self.config.neuron == "relu":
            return []
        device = self.policy_gain.device
        sizes = neuron_layers(self.config).values()
        return [torch.zeros(num_boards, 8, 8, size // NUM_SQUARES, device=device) for size in sizes]

    def advance(self, inflow: Tensor, membranes: list[Tensor], num_steps: int) -> Output:
        """``num_steps`` more steps of B boards, from ``membranes``; accumulators start at 0."""
        neurons = _Neurons(self.config, membranes)
        per_step = inflow if self.config.is_rate_coded else inflow.expand(num_steps, *inflow.shape)
        buffers = [per_step, per_step]
        for index, layer in enumerate(self._hidden):
            source, target = index % 2, 1 - index % 2
            current = self.layer(layer.name)(patches(neurons.fire(buffers[source])))
            buffers[target] = buffers[target] + current if layer.adds else current
        spikes = neurons.fire(buffers[len(self._hidden) % 2])
        policy, wdl = self._heads(spikes, neurons)
        return Output(policy.cumsum(0), wdl.cumsum(0), neurons.after, neurons.rates)

    def _heads(self, spikes: Tensor, neurons: "_Neurons") -> tuple[Tensor, Tensor]:
        """Currents of policy [T, B, 4672] and win/draw/loss [T, B, 3] at each step."""
        if self.config.kind == "plain":
            pooled = spikes.mean((2, 3))
            return self.layer("policy")(pooled), self.layer("value.outcome")(pooled)
        policy = self.layer("policy")(spikes).permute(0, 1, 4, 2, 3).flatten(2)
        squeezed = neurons.fire(self.layer("value.squeeze")(spikes))
        return policy, self.layer("value.outcome")(squeezed.flatten(2))


class _Neurons:
    """The neuron layers of one forward, in order: each takes its membrane and leaves it behind."""

    def __init__(self, config: NetConfig, membranes: list[Tensor]) -> None:
        self._config = config
        self._before = membranes
        self.after: list[Tensor] = []
        self.rates: list[Tensor] = []

    def fire(self, current: Tensor) -> Tensor:
        """Spikes (or the twin's activations) of the next layer, shaped as ``current``."""
        if self._config.neuron == "relu":
            spikes = clipped_relu(current)
            self.rates.append((spikes > 0).float().mean())
            return spikes
        membrane = self._before[len(self.after)]
        spikes, membrane = leaky(current, membrane, self._config.grid_bits)
        self.after.append(membrane)
        self.rates.append(spikes.mean())
        return spikes


def _first_norm(config: NetConfig, name: str) -> tuple[float, float] | None:
    """First gain and bias of a layer's batch norm; None for the outputs, which have none."""
    if name in ("policy", "value.outcome"):
        return None
    if name.endswith(".second"):
        return config.blocks**-0.5, 0.0
    return 1.0, FIRST_BIAS if config.neuron == "lif" else 0.0


def module_key(name: str) -> str:
    """A layer's name as torch allows it."""
    return name.replace(".", "_")


def patches(boards: Tensor) -> Tensor:
    """[..., 8, 8, I] -> [..., 8, 8, 9 * I], tap by tap, squares off the board silent.

    A convolution in matrix form: exact in any order of summation, which Winograd's is not.
    """
    padded = functional.pad(boards, (0, 0, 1, 1, 1, 1))
    taps = [padded[..., r : r + 8, f : f + 8, :] for r in range(3) for f in range(3)]
    return torch.cat(taps, dim=-1)
