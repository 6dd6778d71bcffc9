"""The peer everyone starts from: snntorch neurons in a Python loop over time steps.

Written as snntorch's tutorials write it (one ``Leaky`` a layer, ``spk, mem = lif(cur, mem)``), with
what a careful user would add: the constant input current is computed once, no gradients.
"""

import torch
from bench.peers.copy_weights import (
    GradedReadout,
    convolution,
    head,
    outcome,
    require_residual,
)
from torch import Tensor, nn

from vecchess.snn.integer.integer_net import IntegerNet


class SnntorchLoop(nn.Module):
    """planes float32[B, P, 8, 8] -> sums over T: policy float32[B, 4672], wdl float32[B, 3]."""

    def __init__(self, net: IntegerNet) -> None:
        """The tower of ``net`` with its weights; raises ``NetworkError`` if it is no tower."""
        super().__init__()
        require_residual(net)
        self.time_steps = net.config.time_steps
        self.stem = convolution(net, "stem")
        blocks = range(net.config.blocks)
        self.first = nn.ModuleList(convolution(net, f"block{block}.first") for block in blocks)
        self.second = nn.ModuleList(convolution(net, f"block{block}.second") for block in blocks)
        self.policy = head(net, "policy")
        self.squeeze = head(net, "value.squeeze")
        self.outcome = outcome(net)
        self.neurons = nn.ModuleList(leaky_neurons(2 * len(blocks) + 2))
        if net.config.readout == "graded":
            self.neurons[-2] = GradedReadout()
        self.eval()

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        current = self.stem(planes)
        membranes = [torch.zeros_like(current) for _ in self.neurons[:-1]]
        membranes.append(torch.zeros_like(current[:, : self.squeeze.out_channels]))
        policy, wdl = self.step(current, membranes)
        for _ in range(self.time_steps - 1):
            more_policy, more_wdl = self.step(current, membranes)
            policy, wdl = policy + more_policy, wdl + more_wdl
        return policy.flatten(1), wdl

    def step(self, current: Tensor, membranes: list[Tensor]) -> tuple[Tensor, Tensor]:
        """One time step; ``membranes`` are replaced in the list. Currents [B, 73, 8, 8], [B, 3]."""
        stream, layer = current, 0
        for first, second in zip(self.first, self.second, strict=True):
            spikes, membranes[layer] = self.neurons[layer](stream, membranes[layer])
            inner = first(spikes)
            spikes, membranes[layer + 1] = self.neurons[layer + 1](inner, membranes[layer + 1])
            stream = stream + second(spikes)
            layer += 2
        spikes, membranes[layer] = self.neurons[layer](stream, membranes[layer])
        squeezed = self.squeeze(spikes)
        fired, membranes[layer + 1] = self.neurons[layer + 1](squeezed, membranes[layer + 1])
        return self.policy(spikes), self.outcome(fired.flatten(1))


def leaky_neurons(count: int) -> list[nn.Module]:
    """Neurons with the dynamics of ``snn.neuron``.

    snntorch keeps every neuron it ever made in a list of the class, so they would never be freed:
    ours are taken out again.
    """
    import snntorch

    kept = list(snntorch.SpikingNeuron.instances)
    neurons = [snntorch.Leaky(beta=0.5, reset_delay=False) for _ in range(count)]
    snntorch.SpikingNeuron.instances[:] = kept
    return neurons
