"""The optimiser's groups, and its state by the names of parameters."""

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from vecchess.chess.planes import num_planes
from vecchess.config import OptimiserConfig
from vecchess.errors import ConfigError
from vecchess.snn.modules.network import SpikingNet
from vecchess.snn.presets import NetConfig
from vecchess.train.step.optimiser import (
    GradientSum,
    load_optimiser_tensors,
    make_optimiser,
    optimiser_tensors,
)


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


def test_weights_decay_and_biases_and_gains_do_not() -> None:
    net = SpikingNet(NetConfig(num_planes=25, blocks=1, channels=32, time_steps=4))
    before = {name: tensor.detach().clone() for name, tensor in net.named_parameters()}
    optimiser = make_optimiser(net, OptimiserConfig())
    for parameter in net.parameters():
        parameter.grad = torch.zeros_like(parameter)
    for _ in range(250):
        optimiser.step()
    for name, parameter in net.named_parameters():
        ratio = parameter.norm() / before[name].norm().clamp(min=1e-9)
        assert torch.equal(parameter, before[name]) if parameter.ndim < 2 else ratio < 0.99, name


def test_fused_and_separate_steps_load_each_others_state() -> None:
    torch.manual_seed(1)
    model = nn.Linear(3, 4)
    stored = {
        name: tensor.clone()
        for name, tensor in optimiser_tensors(
            trained(model, [["weight", "bias"]], 3), model
        ).items()
    }
    fused = torch.optim.AdamW(model.parameters(), fused=True)
    load_optimiser_tensors(fused, model, stored)
    model(torch.ones(2, 3)).sum().backward()
    fused.step()
    after = optimiser_tensors(fused, model)
    assert after.keys() == stored.keys()
    for name, tensor in after.items():
        assert (tensor.shape, tensor.dtype) == (stored[name].shape, stored[name].dtype)
    assert after["weight/step"] == 4
    separate = torch.optim.AdamW(model.parameters())
    load_optimiser_tensors(separate, model, after)
    separate.step()
    assert optimiser_tensors(separate, model)["weight/step"] == 5


def test_steps_are_fused_on_a_gpu_and_counted_there() -> None:
    stored = optimiser_tensors(trained(model := nn.Linear(3, 4), [["weight", "bias"]], 1), model)
    assert not make_optimiser(model, OptimiserConfig()).defaults["fused"]
    with FakeTensorMode(allow_non_fake_inputs=True):
        there = nn.Module()
        there.weight = nn.Parameter(torch.empty(4, 3, device="cuda"))
        there.bias = nn.Parameter(torch.empty(4, device="cuda"))
        optimiser = make_optimiser(there, OptimiserConfig())
        assert all(group["fused"] for group in optimiser.param_groups)
        load_optimiser_tensors(optimiser, there, stored)
    devices = {tensor.device.type for tensor in optimiser_tensors(optimiser, there).values()}
    assert devices == {"cuda"}


def test_the_value_head_has_its_own_learning_rate_and_weights_alone_decay() -> None:
    net = SpikingNet(NetConfig(num_planes=25, blocks=1, channels=32, time_steps=4))
    names = {parameter: name for name, parameter in net.named_parameters()}
    config = OptimiserConfig(lr=0.01, value_lr=0.03, weight_decay=0.5)
    seen = set()
    for group in make_optimiser(net, config).param_groups:
        for parameter in group["params"]:
            name = names[parameter]
            is_value = name.startswith(("layers.value_", "value_gain"))
            assert group["height"] == (0.03 if is_value else 0.01), name
            assert group["weight_decay"] == (0.5 if parameter.ndim > 1 else 0.0), name
            seen.add((is_value, parameter.ndim > 1))
    assert len(seen) == 4
    same = make_optimiser(net, OptimiserConfig(lr=0.01)).param_groups
    assert {group["height"] for group in same} == {0.01}


def test_weights_of_inputs_of_moves_learn_faster() -> None:
    net = SpikingNet(
        NetConfig(num_planes=num_planes(moves=True), blocks=1, channels=32, time_steps=4)
    )
    groups = make_optimiser(net, OptimiserConfig(lr=0.01)).param_groups
    found = {id(one): group["height"] for group in groups for one in group["params"]}
    heights = {name: found[id(one)] for name, one in net.named_parameters()}
    faster = {name for name, height in heights.items() if height == 0.01 * 10}
    assert faster == {"layers.moves.weight", "layers.moves.bias"}
    assert set(heights.values()) == {0.01, 0.01 * 10}


def test_parts_may_use_other_parameters() -> None:
    """As where layers are skipped at random, of weights of any dtype."""
    net = nn.ModuleList(
        [
            nn.Linear(3, 2),
            nn.Linear(3, 2, dtype=torch.float64),
            nn.Linear(3, 2).requires_grad_(requires_grad=False),
        ]
    )
    gradients = GradientSum(net, torch.ones(()))
    for used in ([0], [1], [0, 1], []):
        for index in used:
            layer = net[index]
            layer(torch.ones(4, 3, dtype=layer.weight.dtype) * (index + 1)).sum().backward()
        gradients.add()
        assert all(parameter.grad is None for parameter in net.parameters())
    gradients.write()
    for layer, gradient in zip(net, (2 * 4.0, 2 * 8.0), strict=False):
        assert layer.weight.grad.equal(torch.full((2, 3), gradient, dtype=layer.weight.dtype))
        assert layer.bias.grad.equal(torch.full((2,), 2 * 4.0, dtype=layer.weight.dtype))
    assert net[2].weight.grad is None


def test_state_of_any_dtype_is_loaded() -> None:
    model = nn.Linear(3, 4, dtype=torch.float64)
    optimiser = torch.optim.AdamW(model.parameters())
    model(torch.ones(2, 3, dtype=torch.float64)).sum().backward()
    optimiser.step()
    stored = optimiser_tensors(optimiser, model)
    fresh = torch.optim.AdamW(model.parameters())
    load_optimiser_tensors(fresh, model, stored)
    for name, tensor in optimiser_tensors(fresh, model).items():
        assert tensor.equal(stored[name])
