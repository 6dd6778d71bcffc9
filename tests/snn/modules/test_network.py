"""The torch module: folding, the deployed forward, and the integers it exports."""

import numpy as np
import pytest
import torch

from tests.snn.positions import NUM_PLANES, random_positions
from vecchess.errors import NetworkError
from vecchess.snn.initialise import _sums, neuron_outputs, new_network
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.integer.net_file import load_net, save_net
from vecchess.snn.modules.network import SpikingNet, unpack_bitboards
from vecchess.snn.presets import NetConfig
from vecchess.snn.topology import input_bits, layer_shapes, neuron_layers
from vecchess.snn.torch_integer import from_integers, network_input, to_integers

CONFIG = NetConfig(num_planes=NUM_PLANES, blocks=2, channels=32, time_steps=4)
TWIN = NetConfig(num_planes=NUM_PLANES, blocks=2, channels=32, neuron="relu", time_steps=1)
GRADED = CONFIG.model_copy(update={"readout": "graded"})
PLAIN = NetConfig(num_planes=NUM_PLANES, kind="plain", widths=(32, 64, 96), time_steps=6)
ONE_WIDTH = NetConfig(num_planes=NUM_PLANES, kind="plain", widths=(64,), time_steps=4)
RATE_CODED = PLAIN.model_copy(update={"input_rate": 11})
EVERY_KIND = pytest.mark.parametrize("config", [CONFIG, GRADED, TWIN, PLAIN, ONE_WIDTH, RATE_CODED])


def _planes(count: int = 12, seed: int = 1, config: NetConfig = CONFIG) -> torch.Tensor:
    return unpack_bitboards(network_input(config, random_positions(count, seed)[0]))


def _trained(config: NetConfig = CONFIG) -> SpikingNet:
    """A module with batch-norm statistics of its own, folded."""
    torch.manual_seed(3)
    module = SpikingNet(config).train()
    with torch.no_grad():
        for seed in range(60):  # running statistics start at variance 1 and have to forget it
            module(_planes(8, seed, config))
            module.absorb_statistics(lambda sums: None)
    module.eval().fold()
    return module


def _integer_forward(net: IntegerNet, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int64 accumulators after each step: policy [T, B, 4672] and wdl [T, B, 3], in numpy."""
    config = net.config

    def currents(name: str, inputs: np.ndarray) -> np.ndarray:
        layer, bits = net.layers[name], input_bits(config, name)
        bias = layer.bias.astype(np.int64) << (config.grid_bits - config.weight_bits)
        sums = _sums(inputs.astype(np.float64), layer.weight)
        return (sums << (config.grid_bits - layer.shift.astype(int)) >> bits) + bias

    stream = currents("stem", planes if planes.ndim == 5 else planes[None])
    stream = np.broadcast_to(stream, (config.time_steps, *stream.shape[1:]))
    if config.kind == "plain":
        for index in range(1, len(config.widths)):
            stream = currents(f"conv{index}", neuron_outputs(config, stream, f"conv{index}"))
        counts = neuron_outputs(config, stream, "heads").sum(axis=(2, 3), keepdims=True)
        policy, wdl = (currents(head, counts) for head in ("policy", "value.outcome"))
        return policy[:, :, 0, 0].cumsum(0), wdl[:, :, 0, 0].cumsum(0)
    for block in range(config.blocks):
        first, second = f"block{block}.first", f"block{block}.second"
        inner = currents(first, neuron_outputs(config, stream, first))
        stream = stream + currents(second, neuron_outputs(config, inner, second))
    spikes = neuron_outputs(config, stream, "heads")
    policy = currents("policy", spikes).transpose(0, 1, 4, 2, 3)
    squeezed = neuron_outputs(config, currents("value.squeeze", spikes), "value.outcome")
    wdl = currents("value.outcome", squeezed.reshape(*squeezed.shape[:2], 1, 1, -1))
    return policy.reshape(*policy.shape[:2], -1).cumsum(0), wdl[:, :, 0, 0].cumsum(0)


@EVERY_KIND
def test_deployed_forward_is_the_integer_forward(config: NetConfig) -> None:
    module = _trained(config)
    net = to_integers(module)
    planes = _planes(config=config)
    with torch.no_grad():
        output = module(planes)
    policy, wdl = _integer_forward(net, planes.numpy())
    unit = 2.0**config.grid_bits
    assert np.array_equal(output.policy.numpy() * unit, policy)
    assert np.array_equal(output.wdl.numpy() * unit, wdl)
    assert len(np.unique(policy)) > 100


@EVERY_KIND
def test_new_network_is_alive_and_comes_back_from_its_file(config: NetConfig, tmp_path) -> None:
    net = new_network(config, 5, random_positions(32, 1)[0])
    save_net(net, tmp_path / "net.safetensors")
    assert load_net(tmp_path / "net.safetensors").sha256 == net.sha256
    with torch.no_grad():
        output = from_integers(net)(_planes(config=config))
    assert all(0.02 < rate < 0.7 for rate in output.rates), output.rates
    assert len(output.rates) == len(neuron_layers(config))
    logits = output.policy[-1] / config.time_steps * net.policy_scale * 2**config.grid_bits
    assert 0.2 < logits.std() < 2


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
            module.absorb_statistics(lambda sums: None)
        module.eval()
        before = module.input_current(_planes())
        module.fold()
        after = module.input_current(_planes())
    step = 9 * NUM_PLANES * 2.0 ** -float(module.layer("stem").shift.min())
    assert (before - after).abs().max() < step / 2
    assert module.folded


def test_steps_one_by_one_equal_steps_together() -> None:
    module = _trained()
    planes = _planes()
    with torch.no_grad():
        together = module(planes)
        inflow, membranes = module.input_current(planes), module.resting_membranes(len(planes))
        total = torch.zeros(len(planes), 3)
        for t in range(CONFIG.time_steps):
            one = module.advance(inflow, membranes, 1)
            membranes, total = one.membranes, total + one.wdl[0]
            assert torch.equal(total, together.wdl[t])


@EVERY_KIND
def test_folded_module_still_learns(config: NetConfig) -> None:
    module = from_integers(new_network(config, 5, random_positions(16, 1)[0]))
    before = to_integers(module).sha256
    optimiser = torch.optim.SGD(module.parameters(), lr=0.05)
    output = module(_planes(config=config))
    loss = (output.policy[-1] * module.policy_gain).square().mean() + output.wdl.square().mean()
    loss.backward()
    gradients = {name: module.layer(name).weight.grad for name in layer_shapes(config)}
    assert all(found is not None and found.any() for found in gradients.values())
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
