"""The forward that is trained, by kernels, against plain torch operators; and what a step needs."""

import numpy as np
import pytest
import torch

from tests.snn.positions import NUM_PLANES, random_positions
from vecchess.chess.planes import num_planes
from vecchess.chess.sample import random_planes
from vecchess.errors import ConfigError
from vecchess.shapes import NUM_ACTIONS
from vecchess.snn.initialise import new_network
from vecchess.snn.integer.bounds import check_bounds
from vecchess.snn.kernels.surrogate import SURROGATES
from vecchess.snn.modules.network import SpikingNet, unpack_bitboards
from vecchess.snn.modules.rate_coding import coded_input
from vecchess.snn.presets import NetConfig
from vecchess.snn.torch_integer import exported, from_integers, to_integers

WIDE = NetConfig(num_planes=NUM_PLANES, blocks=1, channels=64, value_channels=24, time_steps=4)
CONFIG = NetConfig(num_planes=NUM_PLANES, blocks=2, channels=32, time_steps=3)
TWIN = NetConfig(num_planes=NUM_PLANES, blocks=2, channels=32, neuron="relu", time_steps=1)
GRADED = CONFIG.model_copy(update={"readout": "graded"})
PLAIN = NetConfig(num_planes=NUM_PLANES, kind="plain", widths=(32, 96), time_steps=3)
RATE_CODED = PLAIN.model_copy(update={"input_rate": 11})
EIGHT = CONFIG.model_copy(update={"num_planes": 109})
EVERY_KIND = pytest.mark.parametrize(
    "config", [CONFIG, WIDE, GRADED, TWIN, PLAIN, RATE_CODED, EIGHT]
)


def _calibration(config: NetConfig) -> np.ndarray:
    """Planes of 16 positions to fit a network of ``config`` to."""
    return random_planes(16, 1, num_planes(8)) if config is EIGHT else random_positions(16, 1)[0]


def _bitboards(config: NetConfig, count: int = 9) -> np.ndarray:
    planes = (
        random_planes(count, 1, num_planes(8)) if config is EIGHT else random_positions(count, 1)[0]
    )
    return coded_input(config, planes)


def _planes(config: NetConfig, count: int = 9) -> torch.Tensor:
    return unpack_bitboards(torch.from_numpy(_bitboards(config, count)))


def _module(config: NetConfig, folded: bool) -> SpikingNet:
    """A network in training, with float or with integer weights."""
    if folded:
        return from_integers(new_network(config, 5, _calibration(config))).train()
    torch.manual_seed(2)
    return SpikingNet(config).train()


def _gradients(module: SpikingNet, planes: torch.Tensor) -> dict[str, torch.Tensor]:
    """Of a loss that reads every output: both heads at every step, rates and membranes."""
    module.zero_grad()
    output = module(planes)
    generator = torch.Generator().manual_seed(8)
    outputs = [output.policy, output.wdl, *output.membranes, *output.rates]
    parts = [
        (part * torch.randn(part.shape, generator=generator)).sum() / part.numel() ** 0.5
        for part in outputs
    ]
    (sum(parts) + 20 * torch.stack(output.rates).square().sum()).backward()
    return {name: p.grad.clone() for name, p in module.named_parameters() if p.grad is not None}


def _assert_close(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, gradient in expected.items():
        error = (found[name] - gradient).norm()
        assert error <= 1e-4 * gradient.norm() + 1e-6, (name, error, gradient.norm())


@EVERY_KIND
@pytest.mark.parametrize("folded", [True, False])
def test_kernels_have_the_gradients_of_plain_torch(config: NetConfig, folded: bool) -> None:
    module = _module(config, folded)
    found = _gradients(module, _planes(config))
    module.compiled = False
    expected = _gradients(module, _planes(config))
    _assert_close(found, expected)
    used = [name for name in expected if "weight" in name and expected[name].abs().max() > 0]
    assert len(used) >= len(module.layers)


@EVERY_KIND
@pytest.mark.parametrize("folded", [True, False])
def test_policy_of_chosen_actions_is_that_of_all(config: NetConfig, folded: bool) -> None:
    module = _module(config, folded)
    planes = _planes(config, 70)
    legal = torch.randint(NUM_ACTIONS, (70, 12))
    legal[:, 10:] = legal[:, :1]  # an action may be there twice
    weights = torch.randn(config.time_steps, 70, 12)
    weights[:, :, 11] = 0
    found, gradients = [], []
    for chosen in (legal, None):
        module.zero_grad()
        policy = module(planes, legal=chosen).policy
        if chosen is None:
            policy = policy.gather(2, legal.expand(len(policy), -1, -1))
        (policy * weights).sum().backward()
        found.append(policy)
        used = {name: p.grad for name, p in module.named_parameters() if p.grad is not None}
        gradients.append({name: gradient.clone() for name, gradient in used.items()})
    assert torch.equal(*found) if folded else torch.allclose(*found, rtol=1e-5, atol=1e-5)
    common = gradients[0].keys() & gradients[1].keys()
    assert any(name.startswith("layers.policy") for name in common)
    _assert_close(*({name: row[name] for name in common} for row in gradients))


@pytest.mark.parametrize("name", SURROGATES)
def test_kernels_know_every_surrogate(name: str) -> None:
    net = new_network(CONFIG, 5, random_positions(16, 1)[0])
    module = from_integers(net, surrogate=name)
    found = _gradients(module, _planes(CONFIG))
    module.compiled = False
    _assert_close(found, _gradients(module, _planes(CONFIG)))


@EVERY_KIND
def test_kernels_give_the_bits_of_plain_torch_at_every_number_of_steps(config: NetConfig) -> None:
    module = _module(config, folded=True)
    for steps in range(1, config.time_steps + 1):
        module.compiled = True
        ours = module(_planes(config), steps)
        boards = module(torch.from_numpy(_bitboards(config).view(np.int64)), steps)
        module.compiled = False
        plain = module(_planes(config), steps)
        for found in (ours, boards):
            assert torch.equal(found.policy, plain.policy)
            assert torch.equal(found.wdl, plain.wdl)
            assert len(found.policy) == steps
            pairs = zip(found.membranes, plain.membranes, strict=True)
            assert all(torch.equal(*pair) for pair in pairs)
            assert torch.allclose(torch.stack(found.rates), torch.stack(plain.rates))


def _head_gradients(
    module: SpikingNet, planes: torch.Tensor
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """The policy, and gradients of a sum over boards that reads both heads."""
    module.zero_grad()
    output = module(planes)
    (output.policy.square().sum() + output.wdl.square().sum()).backward()
    found = {name: p.grad for name, p in module.named_parameters() if p.grad is not None}
    return output.policy.detach(), found


@pytest.mark.parametrize("config", [CONFIG, GRADED, PLAIN])
@pytest.mark.parametrize("folded", [True, False])
def test_number_of_threads_changes_nothing_in_layers(config: NetConfig, folded: bool) -> None:
    before = torch.get_num_threads()
    module = _module(config, folded)
    results = []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            policy, gradients = _head_gradients(module, _planes(config, 70))
            layers = ("layers.block0_first.weight", "layers.conv1.weight")
            results.append([policy, *(gradients[name] for name in layers if name in gradients)])
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(*pair) for pair in zip(*results, strict=True))
    assert len(results[0]) == 2


@pytest.mark.parametrize("folded", [True, False])
def test_gradients_of_a_batch_are_those_of_its_groups(folded: bool) -> None:
    module, planes = _module(CONFIG, folded), _planes(CONFIG, 70)
    policy, whole = _head_gradients(module, planes)
    parts = [_head_gradients(module, part) for part in planes.split(32)]
    assert torch.equal(policy, torch.cat([part[0] for part in parts], dim=1))
    sums = {name: sum(part[1][name] for part in parts) for name in whole}
    _assert_close(whole, sums)  # type: ignore[arg-type]


def test_unfolded_network_in_evaluation_is_that_of_plain_torch() -> None:
    module = _module(CONFIG, folded=False)
    module(_planes(CONFIG))
    module.absorb_statistics(lambda sums: None, momentum=1.0)
    module.eval()
    found = _gradients(module, _planes(CONFIG))
    module.compiled = False
    _assert_close(found, _gradients(module, _planes(CONFIG)))


def test_gradients_are_asked_for_once() -> None:
    loss = _module(CONFIG, folded=True)(_planes(CONFIG)).policy.sum()
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="computed already"):
        loss.backward()


def test_saturated_and_silent_layers_are_summed_right() -> None:
    module = from_integers(new_network(CONFIG, 5, random_positions(16, 1)[0]))
    with torch.no_grad():
        module.layer("stem").bias.fill_(9.0)
        module.layer("block0.first").bias.fill_(-9.0)
    output = module(_planes(CONFIG))
    assert output.rates[0] == 1
    assert output.rates[1] == 0
    module.compiled = False
    assert torch.equal(output.policy, module(_planes(CONFIG)).policy)


def test_grown_weights_stay_exportable_and_the_grid_never_gets_finer() -> None:
    module = from_integers(new_network(CONFIG, 5, random_positions(16, 1)[0]))
    before = {name: layer.shift.clone() for name, layer in module.layers.items()}
    grown, stem = module.layer("block1.first"), module.layer("stem")
    with torch.no_grad():
        grown.weight[3] *= 9
        grown.weight[4] = 2.0
        grown.weight[5, 0] = 200.0
        grown.weight[6] *= 40 / grown.weight[6].abs().sum()
        stem.weight[:5] *= 1.7
        stem.weight[7] /= 64
    module.settle_grid()
    net = exported(module)
    assert check_bounds(net).int16_sums
    assert grown.weight.max() == 127
    assert grown.shift[3] < before["block1_first"][3]
    assert all((layer.shift <= before[name]).all() for name, layer in module.layers.items())
    unchanged = np.delete(np.arange(32), [3, 4, 5, 6])
    assert torch.equal(grown.shift[unchanged], before["block1_first"][unchanged])
    with torch.no_grad():
        ours, theirs = module(_planes(CONFIG)), from_integers(net)(_planes(CONFIG))
    assert torch.equal(ours.policy, theirs.policy)


def test_settled_grid_is_the_grid_that_folding_would_choose() -> None:
    module = from_integers(new_network(CONFIG, 5, random_positions(16, 1)[0]))
    shifts = module.layer("block0.first").shift.clone()
    module.settle_grid()
    assert torch.equal(module.layer("block0.first").shift, shifts)


def test_exported_folds_a_copy_and_leaves_the_module_alone() -> None:
    torch.manual_seed(2)
    module = SpikingNet(CONFIG).train()
    with torch.no_grad():
        module(_planes(CONFIG))
    module.absorb_statistics(lambda sums: None)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    net = exported(module)
    assert not module.folded
    assert module.training
    after = module.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    module.fold()
    assert to_integers(module).sha256 == net.sha256
    assert exported(module).sha256 == net.sha256


def test_folded_state_loads_into_a_folded_module() -> None:
    module = from_integers(new_network(CONFIG, 5, random_positions(16, 1)[0]))
    fresh = SpikingNet(CONFIG)
    fresh.fold()
    fresh.load_state_dict(module.state_dict())
    assert to_integers(fresh).sha256 == to_integers(module).sha256


def test_unknown_surrogate_is_refused_by_a_list_of_known_ones() -> None:
    with pytest.raises(ConfigError, match="no surrogate 'step'; there are atan, fast_sigmoid"):
        SpikingNet(CONFIG, surrogate="step")
