"""What training makes small: one loss a row of the batch, for each objective.

alphazero, supervised   cross-entropy to the target policy and to a win/draw/loss target
                        (Silver et al. 2018), at every time step (TET, Deng et al. 2022)
ppo                     the clipped ratio at the step that chose the move (Schulman et al. 2017)
reinforce               log probability times advantage over the value (Williams 1992)

The two that learn from drawn moves know one time step that acted. The other steps learn to say
what that one says (cross-entropy to it), so that leaving early keeps its meaning.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from vecchess.config import LossConfig
from vecchess.train.step.policy_outputs import StepOutputs


class DeviceBatch(NamedTuple):
    """A batch on the device: the columns of ``samples.Samples``, indices as int64."""

    legal: Tensor
    num_legal: Tensor
    played: Tensor
    policy: Tensor
    has_policy: Tensor
    outcome: Tensor
    value: Tensor
    has_value: Tensor
    prob: Tensor
    steps: Tensor
    advantage: Tensor
    returned: Tensor


class Losses(NamedTuple):
    """float32[B] each: what is minimised, and what is told."""

    policy: Tensor
    value: Tensor
    told: dict[str, Tensor]


Objective = Callable[[StepOutputs, DeviceBatch, LossConfig], Losses]


def step_weights(kind: str, num_steps: int, device: torch.device) -> Tensor:
    """float32[T, 1]: how much each time step counts; they add up to 1."""
    ramp = torch.arange(1, num_steps + 1, dtype=torch.float32, device=device)
    weights = {
        "uniform": torch.ones_like(ramp),
        "last": (ramp == num_steps).float(),
        "late": ramp,
        "early": ramp.flip(0),
    }[kind]
    return (weights / weights.sum())[:, None]


def result_of(rows: DeviceBatch) -> Tensor:
    """float32[B, 3]: the game's result for the mover, as win, draw, loss."""
    return (rows.outcome[:, None] == torch.arange(1, -2, -1, device=rows.outcome.device)).float()


def learn_targets(outlook: StepOutputs, rows: DeviceBatch, loss: LossConfig) -> Losses:
    """``alphazero`` and ``supervised``: recorded policies, results mixed with recorded values."""
    weights = step_weights(loss.step_weights, outlook.num_steps, rows.policy.device)
    cross_entropy = -(rows.policy * outlook.log_policy).sum(-1)
    share = loss.root_value_share * rows.has_value.float()[:, None]
    target = (1 - share) * result_of(rows) + share * rows.value
    value = -(target * outlook.log_wdl).sum(-1)
    has_policy = rows.has_policy.float()
    best = outlook.log_policy[-1].argmax(-1)
    told = {
        "cross_entropy": cross_entropy[-1].detach() * has_policy,
        "value_cross_entropy": value[-1].detach(),
        "entropy": outlook.entropy()[-1].detach(),
        "top1": (best == rows.policy.argmax(-1)).float() * has_policy,
        "has_policy": has_policy,
    }
    return Losses((weights * cross_entropy).sum(0) * has_policy, (weights * value).sum(0), told)


def clip_ratios(outlook: StepOutputs, rows: DeviceBatch, loss: LossConfig) -> Losses:
    """``ppo``: advantages and returns are those of ``returns.py``."""
    acted = _acting(outlook, rows)
    log_ratio = acted.chosen - rows.prob.log()
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - loss.clip, 1 + loss.clip)
    gain = torch.minimum(ratio * rows.advantage, clipped * rows.advantage)
    told = {
        "kl": (ratio - 1 - log_ratio).detach(),  # Schulman's estimator of KL(old || new)
        "clipped": (ratio != clipped).float().detach(),
    }
    return _of_drawn_moves(outlook, rows, loss, acted, -gain, rows.returned, told)


def follow_advantage(outlook: StepOutputs, rows: DeviceBatch, loss: LossConfig) -> Losses:
    """``reinforce``: the advantage is the result against the recorded value, the baseline."""
    acted = _acting(outlook, rows)
    pushed = -acted.chosen * rows.advantage
    return _of_drawn_moves(outlook, rows, loss, acted, pushed, result_of(rows), {})


OBJECTIVES: dict[str, Objective] = {
    "alphazero": learn_targets,
    "supervised": learn_targets,
    "ppo": clip_ratios,
    "reinforce": follow_advantage,
}


class _Acting(NamedTuple):
    """The step that chose the move: its policy float32[B, L], what it held of the move played."""

    log_policy: Tensor
    chosen: Tensor


def _acting(outlook: StepOutputs, rows: DeviceBatch) -> _Acting:
    step = (rows.steps - 1).clamp(0, outlook.num_steps - 1)
    log_policy = outlook.log_policy[step, torch.arange(len(step), device=step.device)]
    return _Acting(log_policy, log_policy.gather(1, rows.played[:, None])[:, 0])


def _of_drawn_moves(
    outlook: StepOutputs,
    rows: DeviceBatch,
    loss: LossConfig,
    acted: _Acting,
    pushed: Tensor,
    target: Tensor,
    told: dict[str, Tensor],
) -> Losses:
    """What ppo and reinforce share: entropy, the other steps, the value. target: float32[B, 3]."""
    weights = step_weights(loss.step_weights, outlook.num_steps, pushed.device)
    policy = acted.log_policy.exp()
    entropy = -(policy * acted.log_policy).sum(-1)
    followed = -(policy.detach() * outlook.log_policy).sum(-1) - entropy.detach()
    value = -(target * outlook.log_wdl).sum(-1)
    told |= {
        "entropy": entropy.detach(),
        "value_cross_entropy": value[-1].detach(),
        "advantage": rows.advantage.abs(),
    }
    policy_loss = pushed - loss.entropy_bonus * entropy + (weights * followed).sum(0)
    return Losses(policy_loss, (weights * value).sum(0), told)
