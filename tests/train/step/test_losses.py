"""The losses against the same formulae written out row by row."""

from math import exp

import pytest
import torch
from torch import Tensor

from vecchess.config import LossConfig
from vecchess.train.data.samples import Samples
from vecchess.train.step.losses import OBJECTIVES, StepOutputs, step_weights

B, L, T = 5, 7, 3


@pytest.fixture
def outputs() -> StepOutputs:
    generator = torch.Generator().manual_seed(1)
    policy = torch.randn(T, B, L, generator=generator)
    wdl = torch.randn(T, B, 3, generator=generator)
    return StepOutputs(policy.log_softmax(-1), wdl.log_softmax(-1))


@pytest.fixture
def batch() -> Samples[Tensor]:
    generator = torch.Generator().manual_seed(2)
    return Samples(
        planes=torch.zeros(B, 25, dtype=torch.long),
        legal=torch.arange(L).repeat(B, 1),
        num_legal=torch.full((B,), L),
        played=torch.tensor([0, 3, 6, 2, 1]),
        policy=torch.rand(B, L, generator=generator).softmax(-1),
        has_policy=torch.tensor([True, False, True, True, True]),
        outcome=torch.tensor([1, 0, -1, 1, -1], dtype=torch.int8),
        value=torch.rand(B, 3, generator=generator).softmax(-1),
        has_value=torch.tensor([True, True, False, True, True]),
        prob=torch.tensor([0.2, 0.05, 0.3, 0.1, 0.4]),
        steps=torch.tensor([1, 3, 2, 3, 1]),
        advantage=torch.tensor([0.5, -1.0, 2.0, -0.1, 0.3]),
        returned=torch.rand(B, 3, generator=generator).softmax(-1),
    )


def test_targets_at_every_step(outputs: StepOutputs, batch: Samples[Tensor]) -> None:
    losses = OBJECTIVES["alphazero"](outputs, batch, LossConfig(root_value_share=0.3))
    for b in range(B):
        policy = sum(
            -float(batch.policy[b, move]) * float(outputs.log_policy[t, b, move])
            for t in range(T)
            for move in range(L)
        )
        expected = policy / T if batch.has_policy[b] else 0.0
        assert float(losses.policy[b]) == pytest.approx(expected, rel=1e-5)
        share = 0.3 if batch.has_value[b] else 0.0
        value = 0.0
        for t in range(T):
            for place in range(3):
                rest = float(batch.returned[b, place])
                target = (1 - share) * rest + share * float(batch.value[b, place])
                value -= target * float(outputs.log_wdl[t, b, place]) / T
        assert float(losses.value[b]) == pytest.approx(value, rel=1e-5)


def ratio_to_recorded(log_prob: float, recorded: float) -> float:
    error = recorded * 1.01 / 256 + 2**-23
    return exp(log_prob) / min(max(exp(log_prob), recorded - error), recorded + error)


@pytest.mark.parametrize("objective", ["ppo", "ppo before the fold", "reinforce"])
def test_drawn_moves_push_the_step_that_acted(
    outputs: StepOutputs, batch: Samples[Tensor], objective: str
) -> None:
    loss = LossConfig(entropy_bonus=0.05, clip=0.2)
    generator = torch.Generator().manual_seed(3)
    before = outputs.log_policy + torch.randn(T, B, L, generator=generator) / 4
    old = StepOutputs(before.log_softmax(-1), outputs.log_wdl)
    outputs = outputs._replace(old=old if "fold" in objective else None)
    losses = OBJECTIVES[objective.split()[0]](outputs, batch, loss)
    for b in range(B):
        acted = outputs.log_policy[int(batch.steps[b]) - 1, b]
        chosen, advantage = float(acted[batch.played[b]]), float(batch.advantage[b])
        ratio, weight = ratio_to_recorded(chosen, float(batch.prob[b])), 1.0
        if "fold" in objective:
            was = float(old.log_policy[int(batch.steps[b]) - 1, b, batch.played[b]])
            ratio, weight = exp(chosen - was), ratio_to_recorded(was, float(batch.prob[b]))
        clipped = min(max(ratio, 0.8), 1.2)
        pushed = min(ratio * advantage, clipped * advantage) * min(weight, 2.0)
        if objective == "reinforce":
            pushed = chosen * advantage * min(ratio, 2.0)
        entropy = -sum(exp(float(x)) * float(x) for x in acted)
        followed = sum(
            exp(float(acted[move])) * (float(acted[move]) - float(outputs.log_policy[t, b, move]))
            for t in range(T)
            for move in range(L)
        )
        expected = (-pushed - 0.05 * entropy + followed / T) * bool(batch.has_policy[b])
        assert float(losses.policy[b]) == pytest.approx(expected, rel=1e-4)


def test_ppo_learns_nothing_beyond_the_clip(batch: Samples[Tensor]) -> None:
    """A ratio that has left the range on the good side has no gradient of its own."""
    logits = torch.zeros(1, B, L, requires_grad=True)
    outputs = StepOutputs(logits.log_softmax(-1), torch.zeros(1, B, 3).log_softmax(-1))
    loss = LossConfig(entropy_bonus=0.0)
    one_step = torch.ones(B, dtype=torch.long)
    losses = OBJECTIVES["ppo"](outputs, batch._replace(steps=one_step, has_policy=one_step), loss)
    losses.policy.sum().backward()
    assert logits.grad is not None
    ratios = (1 / L) / batch.prob
    for b in range(B):
        is_done = ratios[b] > 1.2 if batch.advantage[b] > 0 else ratios[b] < 0.8
        assert bool((logits.grad[0, b] == 0).all()) == bool(is_done)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("uniform", [1 / 3, 1 / 3, 1 / 3]),
        ("last", [0, 0, 1]),
        ("late", [1 / 6, 2 / 6, 3 / 6]),
        ("early", [3 / 6, 2 / 6, 1 / 6]),
    ],
)
def test_step_weights(kind: str, expected: list[float]) -> None:
    found = step_weights(kind, 3, torch.device("cpu"))[:, 0].tolist()
    assert found == pytest.approx(expected)
