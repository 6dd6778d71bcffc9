"""The torch module: folding, the deployed forward, and the integers it exports."""

import numpy as np
import pytest
import torch

from tests.snn.positions import NUM_PLANES, random_positions
from vecchess.errors import NetworkError
from vecchess.snn.convert import from_integers, to_integers, unpack_planes
from vecchess.snn.initialise import _sums, fire, new_network
from vecchess.snn.integer_net import IntegerNet
from vecchess.snn.network import SpikingNet
from vecchess.snn.presets import NetConfig

CONFIG = NetConfig(num_planes=NUM_PLANES, blocks=2, channels=32)


def _planes(count: int = 12, seed: int = 1) -> torch.Tensor:
    return unpack_planes(random_positions(count, seed)[0])


def _trained() -> SpikingNet:
    """A module with batch-norm statistics of its own, folded."""
    torch.manual_seed(3)
    module = SpikingNet(CONFIG).train()
    with torch.no_grad():
        for seed in range(20):
            module(_planes(16, seed))
    module.eval().fold()
    return module


def _integer_forward(net: IntegerNet, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int64 accumulators after each step: policy [T, B, 4672] and wdl [T, B, 3], in numpy."""
    config = net.config

    def currents(name: str, spikes: np.ndarray) -> np.ndarray:
        layer = net.layers[name]
        bias = layer.bias.astype(np.int64) << (config.grid_bits - config.weight_bits)
        return (_sums(spikes, layer.weight) << (config.grid_bits - layer.shift.astype(int))) + bias

    stream = np.repeat(currents("stem", planes[None]), config.time_steps, axis=0)
    for block in range(config.blocks):
        inner = currents(f"block{block}.first", fire(config, stream))
        stream = stream + currents(f"block{block}.second", fire(config, inner))
    spikes = fire(config, stream)
    policy = currents("policy", spikes).transpose(0, 1, 4, 2, 3)
    squeezed = fire(config, currents("value.squeeze", spikes))
    wdl = currents("value.outcome", squeezed.reshape(*squeezed.shape[:2], 1, 1, -1))
    return policy.reshape(*policy.shape[:2], -1).cumsum(0), wdl[:, :, 0, 0].cumsum(0)


def test_deployed_forward_is_the_integer_forward() -> None:
    module = _trained()
    net = to_integers(module)
    planes = _planes()
    with torch.no_grad():
        output = module(planes)
    policy, wdl = _integer_forward(net, planes.numpy())
    unit = 2.0**CONFIG.grid_bits
    assert np.array_equal(output.policy.numpy() * unit, policy)
    assert np.array_equal(output.wdl.numpy() * unit, wdl)
    assert len(np.unique(policy)) > 100


def test_export_and_import_keep_every_bit() -> None:
    module = _trained()
    net = to_integers(module)
    copy = from_integers(net)
    assert to_integers(copy).sha256 == net.sha256
    with torch.no_grad():
        ours, theirs = module(_planes()), copy(_planes())
    assert torch.equal(ours.policy, theirs.policy)
    assert torch.equal(ours.wdl, theirs.wdl)


def test_new_network_survives_the_module() -> None:
    net = new_network(CONFIG, 5, random_positions(16, 1)[0])
    assert to_integers(from_integers(net)).sha256 == net.sha256


def test_folding_takes_batch_norm_in() -> None:
    torch.manual_seed(4)
    module = SpikingNet(CONFIG).train()
    with torch.no_grad():
        for seed in range(20):
            module(_planes(16, seed))
        module.eval()
        before = module.inflow(_planes())
        module.fold()
        after = module.inflow(_planes())
    step = 9 * NUM_PLANES * 2.0 ** -float(module.layer("stem").shift.min())
    assert (before - after).abs().max() < step / 2
    assert module.folded


def test_steps_one_by_one_equal_steps_together() -> None:
    module = _trained()
    planes = _planes()
    with torch.no_grad():
        together = module(planes)
        inflow, membranes = module.inflow(planes), module.at_rest(len(planes))
        total = torch.zeros(len(planes), 3)
        for t in range(CONFIG.time_steps):
            one = module.advance(inflow, membranes, 1)
            membranes, total = one.membranes, total + one.wdl[0]
            assert torch.equal(total, together.wdl[t])


def test_folded_module_still_learns() -> None:
    module = from_integers(new_network(CONFIG, 5, random_positions(16, 1)[0]))
    before = to_integers(module).sha256
    optimiser = torch.optim.SGD(module.parameters(), lr=0.05)
    output = module(_planes())
    loss = (output.policy[-1] * module.policy_gain).square().mean() + output.wdl.square().mean()
    loss.backward()
    assert all(module.layer(name).weight.grad is not None for name in ("stem", "block1.second"))
    optimiser.step()
    assert to_integers(module).sha256 != before


def test_autocast_does_not_touch_the_deployed_forward() -> None:
    module = _trained()
    with torch.no_grad():
        plain = module(_planes())
        with torch.autocast("cpu", dtype=torch.bfloat16):
            cast = module(_planes())
    assert torch.equal(plain.policy, cast.policy)


def test_unfolded_network_has_no_integers() -> None:
    with pytest.raises(NetworkError, match="fold"):
        to_integers(SpikingNet(CONFIG))
