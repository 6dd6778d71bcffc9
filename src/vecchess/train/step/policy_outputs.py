"""What a network says of a batch at each time step, as log probabilities over the legal moves.

The training forward's sums become what inference makes of accumulators: logits after t steps are
sum / t * gain (``snn/integer_net.py``), the softmax runs over the legal moves alone.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from vecchess.shapes import MAX_MOVES
from vecchess.snn.modules.network import NetOutput, SpikingNet

ILLEGAL = -1e9
"""Logit of what is no move: its probability is exactly zero in float32."""


class StepOutputs(NamedTuple):
    """log_policy: float32[T, B, L], log_wdl: float32[T, B, 3], mover's view, after each step."""

    log_policy: Tensor
    log_wdl: Tensor

    @property
    def num_steps(self) -> int:
        """T."""
        return len(self.log_wdl)

    def entropy(self) -> Tensor:
        """float32[T, B]: of the policies, in nats."""
        return -(self.log_policy.exp() * self.log_policy).sum(-1)


def step_outputs(
    net: SpikingNet, output: NetOutput, legal: Tensor, num_legal: Tensor
) -> StepOutputs:
    """``output`` of B positions with ``legal``: int64[B, L], first num_legal: int64[B] meant."""
    steps = torch.arange(1, len(output.wdl) + 1, device=legal.device)[:, None, None]
    chosen = output.policy.gather(2, legal.expand(len(output.policy), -1, -1))
    policy = chosen.float() * (net.policy_gain / steps)
    is_move = torch.arange(legal.shape[1], device=legal.device) < num_legal[:, None]
    policy = policy.masked_fill(~is_move, ILLEGAL)
    wdl = output.wdl.float() * (net.value_gain / steps)
    return StepOutputs(policy.log_softmax(-1), wdl.log_softmax(-1))


def widest(num_legal: Tensor) -> int:
    """The most legal moves in a batch: columns beyond it need not be looked at."""
    return min(int(num_legal.max()), MAX_MOVES)
