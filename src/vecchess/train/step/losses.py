"""Losses of each objective, one number a row of the batch.

alphazero, supervised   cross-entropy to the target policy and to a win/draw/loss target
                        (Silver et al. 2018), at every time step (TET, Deng et al. 2022)
ppo                     the clipped ratio at the step that chose the move (Schulman et al. 2017), to
                        the learner of the generation's first update (Hilton et al. 2021)
reinforce               log probability times advantage over the value (Williams 1992)

ppo and reinforce learn from the one time step that chose the move. The other steps learn its
policy by cross-entropy, so that an early exit keeps its meaning (decision 88).

The policy's loss is weighed by ``has_policy`` as ``copy_batch`` gives it: a mean over the rows that
have a policy.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from vecchess.config import LossConfig
from vecchess.snn.modules.network import NetOutput
from vecchess.train.data.samples import Samples
from vecchess.train.step.trained_module import LearnedNet

ILLEGAL = -1e9
"""Logit of columns without a move: their probability is exactly zero in float32."""
MOST_WEIGHT = 2.0
"""Importance weights are cut here, as in V-trace (Espeholt et al. 2018)."""
PROB_RELATIVE, PROB_ABSOLUTE = 1.01 / 256, 2.0**-23
"""Largest error of a recorded probability: a bfloat16, of integer weights out of 2**24."""


class StepOutputs(NamedTuple):
    """The network's answers after each time step, mover's view.

    log_policy: float32[T, B, L], over the legal moves; log_wdl: float32[T, B, 3].
    old: the answers of the learner as it was when the generation began; None where that is the
    network that acted, whose probabilities are recorded (ppo).
    """

    log_policy: Tensor
    log_wdl: Tensor
    old: "StepOutputs | None" = None

    @property
    def num_steps(self) -> int:
        """T."""
        return len(self.log_wdl)

    def entropy(self) -> Tensor:
        """float32[T, B]: entropy of the policies in nats."""
        return -(self.log_policy.exp() * self.log_policy).sum(-1)


def step_outputs(
    net: LearnedNet, output: NetOutput, legal: Tensor, num_legal: Tensor
) -> StepOutputs:
    """``output`` for ``legal``: int64[B, L] of B positions, which has num_legal: int64[B] moves.

    As in inference, logits after t steps are sum / t * gain (``snn/integer/integer_net.py``) and
    the softmax runs over the legal moves alone.
    """
    steps = torch.arange(1, len(output.wdl) + 1, device=legal.device)[:, None, None]
    # one gain a row: torch sums a single gradient of many terms in an order that threads decide
    gain = (net.policy_gain / steps).expand(-1, len(legal), 1)
    policy = output.policy.float() * gain
    is_move = torch.arange(legal.shape[1], device=legal.device) < num_legal[:, None]
    policy = policy.masked_fill(~is_move, ILLEGAL)
    wdl = output.wdl.float() * (net.value_gain / steps)
    return StepOutputs(policy.log_softmax(-1), wdl.log_softmax(-1))


class Losses(NamedTuple):
    """float32[B] each: the losses to minimise, and further metrics by name."""

    policy: Tensor
    value: Tensor
    metrics: dict[str, Tensor]


Objective = Callable[[StepOutputs, Samples[Tensor], LossConfig], Losses]


def step_weights(kind: str, num_steps: int, device: torch.device) -> Tensor:
    """float32[T, 1]: weights of the time steps, with sum 1."""
    ramp = torch.arange(1, num_steps + 1, dtype=torch.float32, device=device)
    weights = {
        "uniform": torch.ones_like(ramp),
        "last": (ramp == num_steps).float(),
        "late": ramp,
        "early": ramp.flip(0),
    }[kind]
    return (weights / weights.sum())[:, None]


def learn_targets(outputs: StepOutputs, batch: Samples[Tensor], loss: LossConfig) -> Losses:
    """``alphazero`` and ``supervised``: recorded policies; recorded values mixed with returns."""
    weights = step_weights(loss.step_weights, outputs.num_steps, batch.policy.device)
    cross_entropy = -(batch.policy * outputs.log_policy).sum(-1)
    share = loss.root_value_share * batch.has_value.float()[:, None]
    target = (1 - share) * batch.returned + share * batch.value
    value = -(target * outputs.log_wdl).sum(-1)
    weight = batch.has_policy
    best = outputs.log_policy[-1].argmax(-1)
    metrics = {
        "cross_entropy": cross_entropy[-1].detach() * weight,
        "value_cross_entropy": value[-1].detach(),
        "entropy": outputs.entropy()[-1].detach(),
        "top1": (best == batch.policy.argmax(-1)).float() * weight,
    }
    policy = (weights * cross_entropy).sum(0) * weight
    return Losses(policy, (weights * value).sum(0), metrics)


def clip_ratios(outputs: StepOutputs, batch: Samples[Tensor], loss: LossConfig) -> Losses:
    """``ppo``, with the recorded values.

    Ratios are to ``outputs.old``, or to the recorded probabilities without it. Rows count by how
    much more often that learner would have chosen the move than the network that acted (decision
    232).
    """
    chosen = _choosing_step(outputs, batch)
    if outputs.old is None:
        log_ratio, weight = _log_ratio(chosen, batch), torch.ones_like(batch.prob)
    else:
        before = _choosing_step(outputs.old, batch)
        log_ratio, weight = chosen.log_prob - before.log_prob, _log_ratio(before, batch).exp()
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - loss.clip, 1 + loss.clip)
    gain = torch.minimum(ratio * batch.advantage, clipped * batch.advantage)
    metrics = {
        "kl": ratio - 1 - log_ratio,  # Schulman's estimator of KL(old || new)
        "clipped": (ratio != clipped).float(),
        "ratio_error": (ratio - 1).abs(),
        "acting_error": (weight - 1).abs(),
    }
    pushed = -gain * weight.clamp(max=MOST_WEIGHT)
    return _policy_gradient(outputs, batch, loss, chosen, pushed, metrics)


def follow_advantage(outputs: StepOutputs, batch: Samples[Tensor], loss: LossConfig) -> Losses:
    """``reinforce``: the advantage is the return less the recorded value, the baseline.

    Rows count by how much more often the learner would have chosen the move than the network that
    acted (decision 232).
    """
    chosen = _choosing_step(outputs, batch)
    weight = _log_ratio(chosen, batch).detach().exp()
    gain = chosen.log_prob * batch.advantage * weight.clamp(max=MOST_WEIGHT)
    metrics = {"acting_error": (weight - 1).abs()}
    return _policy_gradient(outputs, batch, loss, chosen, -gain, metrics)


OBJECTIVES: dict[str, Objective] = {
    "alphazero": learn_targets,
    "supervised": learn_targets,
    "ppo": clip_ratios,
    "reinforce": follow_advantage,
}


class _ChoosingStep(NamedTuple):
    """The time step that chose the move: log policy float32[B, L], and of the move played [B]."""

    log_policy: Tensor
    log_prob: Tensor


def _choosing_step(outputs: StepOutputs, batch: Samples[Tensor]) -> _ChoosingStep:
    """``outputs`` are of all time steps, so that the recorded one is among them."""
    step = (batch.steps - 1).clamp(min=0)  # a game that ended in its opening has plies without
    log_policy = outputs.log_policy[step, torch.arange(len(step), device=step.device)]
    return _ChoosingStep(log_policy, log_policy.gather(1, batch.played[:, None])[:, 0])


def _log_ratio(chosen: _ChoosingStep, batch: Samples[Tensor]) -> Tensor:
    """float32[B]: log of the probability now over the one that drew the move.

    The latter is recorded rounded, and counts as the number nearest to the probability now that
    may have been rounded so: 0 exactly where nothing was learnt since (decision 222).
    """
    error = PROB_RELATIVE * batch.prob + PROB_ABSOLUTE
    lowest = (batch.prob - error).clamp(min=torch.finfo(torch.float32).tiny)
    drawn = chosen.log_prob.detach().clamp(lowest.log(), (batch.prob + error).log())
    return chosen.log_prob - drawn


def _policy_gradient(
    outputs: StepOutputs,
    batch: Samples[Tensor],
    loss: LossConfig,
    chosen: _ChoosingStep,
    pushed: Tensor,
    metrics: dict[str, Tensor],
) -> Losses:
    """The terms that ppo and reinforce share: entropy, the other steps, the value.

    ``pushed``: float32[B], the loss of the move played. ``metrics``: float32[B] each, of rows with
    a policy. The value learns the returns.
    """
    weights = step_weights(loss.step_weights, outputs.num_steps, pushed.device)
    policy = chosen.log_policy.exp()
    entropy = -(policy * chosen.log_policy).sum(-1)
    followed = -(policy.detach() * outputs.log_policy).sum(-1) - entropy.detach()
    value = -(batch.returned * outputs.log_wdl).sum(-1)
    shown = {name: figure.detach() * batch.has_policy for name, figure in metrics.items()} | {
        "entropy": entropy.detach(),
        "value_cross_entropy": value[-1].detach(),
        "advantage": batch.advantage.abs(),
    }
    policy_loss = pushed - loss.entropy_bonus * entropy + (weights * followed).sum(0)
    return Losses(policy_loss * batch.has_policy, (weights * value).sum(0), shown)
