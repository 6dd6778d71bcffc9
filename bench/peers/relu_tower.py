"""The ReLU twin as anybody would write it in torch: float32, one pass, no spikes, no grid.

Our own twin rounds activations down to seven bits, this one does not, so it answers nearly alike.
"""

from bench.peers.copy_weights import convolution, outcome, require_residual
from torch import Tensor, nn

from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.presets import ACTIVATION_BITS, ACTIVATION_LIMIT

HIGHEST = ACTIVATION_LIMIT * 2.0**-ACTIVATION_BITS


class ReluTower(nn.Module):
    """planes float32[B, P, 8, 8] -> policy float32[B, 4672] and wdl float32[B, 3]."""

    def __init__(self, net: IntegerNet) -> None:
        """The tower of ``net``, which is a ReLU network; ``NetworkError`` if it is no tower."""
        super().__init__()
        require_residual(net)
        self.stem = convolution(net, "stem")
        blocks = range(net.config.blocks)
        self.first = nn.ModuleList(convolution(net, f"block{block}.first") for block in blocks)
        self.second = nn.ModuleList(convolution(net, f"block{block}.second") for block in blocks)
        self.policy = convolution(net, "policy")
        self.squeeze = convolution(net, "value.squeeze")
        self.outcome = outcome(net)
        self.eval()

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        stream = self.stem(planes)
        for first, second in zip(self.first, self.second, strict=True):
            stream = stream + second(_relu(first(_relu(stream))))
        activations = _relu(stream)
        wdl = self.outcome(_relu(self.squeeze(activations)).flatten(1))
        return self.policy(activations).flatten(1), wdl


def _relu(current: Tensor) -> Tensor:
    return current.clamp(0.0, HIGHEST)
