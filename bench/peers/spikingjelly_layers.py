"""spikingjelly in its fast mode: layer by layer, every layer over all time steps at once.

Its LIF fires at u >= 1 where ours, as snntorch's, fires at u > 1, and it always compares with 1
where snntorch compares with 2 after a step that left more than 1 behind. So it is not the same
network; with ``neuron`` in place of its LIF the rest of this tower can be shown to be.
"""

from collections.abc import Callable

from bench.peers.copy_weights import (
    GradedReadout,
    convolution,
    head,
    outcome,
    require_residual,
)
from torch import Tensor, nn

from vecchess.snn.integer.integer_net import IntegerNet


class SpikingjellyLayers(nn.Module):
    """planes float32[B, P, 8, 8] -> sums over T: policy float32[B, 4672], wdl float32[B, 3]."""

    def __init__(self, net: IntegerNet, neuron: Callable[[], nn.Module] | None = None) -> None:
        """The tower of ``net``; ``neuron`` makes modules [T, ...] -> [T, ...], default its LIF.

        Raises ``ImportError`` without spikingjelly, ``NetworkError`` if ``net`` is no tower.
        """
        super().__init__()
        require_residual(net)
        make = neuron or lif
        self.time_steps = net.config.time_steps
        self.stem = convolution(net, "stem")
        blocks = range(net.config.blocks)
        self.inner = nn.ModuleList(_half(net, f"block{block}.first", make) for block in blocks)
        self.outer = nn.ModuleList(_half(net, f"block{block}.second", make) for block in blocks)
        self.heads = GradedReadout() if net.config.readout == "graded" else make()
        self.policy = head(net, "policy")
        self.squeeze = head(net, "value.squeeze")
        self.fired = make()
        self.outcome = outcome(net)
        self.eval()

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        from spikingjelly.activation_based import functional

        functional.reset_net(self)
        current = self.stem(planes)
        stream = current.expand(self.time_steps, *current.shape)
        for inner, outer in zip(self.inner, self.outer, strict=True):
            stream = stream + outer(inner(stream))
        spikes = self.heads(stream)
        policy = functional.seq_to_ann_forward(spikes, self.policy)
        squeezed = functional.seq_to_ann_forward(spikes, self.squeeze)
        wdl = self.outcome(self.fired(squeezed).flatten(2))
        return policy.sum(0).flatten(1), wdl.sum(0)


def lif() -> nn.Module:
    """Its LIF nearest to ours: leak one half, reset by subtraction, all steps at once."""
    from spikingjelly.activation_based import neuron

    node: nn.Module = neuron.LIFNode(tau=2.0, decay_input=False, v_reset=None, step_mode="m")
    return node


def _half(net: IntegerNet, name: str, make: Callable[[], nn.Module]) -> nn.Module:
    """Half a block: neurons, then a convolution over all steps at once."""
    from spikingjelly.activation_based import layer

    half: nn.Module = nn.Sequential(make(), layer.SeqToANNContainer(convolution(net, name)))
    return half
