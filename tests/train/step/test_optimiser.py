"""The optimiser's state by the names of parameters, and the learning rate over a run."""

import pytest
import torch
from torch import nn

from vecchess.config import OptimiserConfig
from vecchess.errors import ConfigError
from vecchess.train.step.optimiser import load_optimiser_tensors, optimiser_tensors, rate_at


def trained(model: nn.Module, groups: list[list[str]], steps: int) -> torch.optim.AdamW:
    named = dict(model.named_parameters())
    optimiser = torch.optim.AdamW([{"params": [named[n] for n in group]} for group in groups])
    for step in range(steps):
        optimiser.zero_grad()
        model(torch.full((2, 3), float(step + 1))).sum().backward()
        optimiser.step()
    return optimiser


def test_state_is_loaded_into_other_groups() -> None:
    torch.manual_seed(1)
    model = nn.Linear(3, 4)
    optimiser = trained(model, [["weight", "bias"]], 3)
    stored = {name: tensor.clone() for name, tensor in optimiser_tensors(optimiser, model).items()}
    other = nn.Linear(3, 4)
    other.load_state_dict(model.state_dict())
    again = trained(other, [["bias"], ["weight"]], 0)
    load_optimiser_tensors(again, other, stored)
    for net, optim in ((model, optimiser), (other, again)):
        optim.zero_grad()
        net(torch.ones(2, 3)).sum().backward()
        optim.step()
    assert other.weight.equal(model.weight)
    assert other.bias.equal(model.bias)


def test_another_networks_state_is_refused() -> None:
    model = nn.Linear(3, 4)
    stored = optimiser_tensors(trained(model, [["weight", "bias"]], 1), model)
    larger = nn.Linear(3, 5)
    with pytest.raises(ConfigError, match=r"weight.* of shape \[4, 3\], not .* of shape \[5, 3\]"):
        load_optimiser_tensors(trained(larger, [["weight"]], 0), larger, stored)
    tower = nn.Sequential(model)
    with pytest.raises(ConfigError, match=r"has weight, which the network lacks"):
        load_optimiser_tensors(trained(tower, [["0.weight"]], 0), tower, stored)
    fresh, wrong = trained(model, [["weight"]], 0), {"weight/step": torch.ones(2)}
    with pytest.raises(ConfigError, match=r"weight.step as .* of shape \[2\]"):
        load_optimiser_tensors(fresh, model, wrong)


def test_the_learning_rate_over_a_run() -> None:
    config = OptimiserConfig(warmup_samples=100, lr_schedule="cosine", lr_final=0.1)
    assert rate_at(config, 0, 0.0) == pytest.approx(0.01)
    assert rate_at(config, 99, 0.0) == 1
    assert rate_at(config, 1000, 0.5) == pytest.approx(0.55)
    assert rate_at(config, 1000, 1.5) == pytest.approx(0.1)
    constant = config.model_copy(update={"lr_schedule": "constant"})
    assert rate_at(constant, 1000, 0.9) == 1
