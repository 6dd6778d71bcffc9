"""``bench.peers training``: the loop it compares with is the same network, and what it prints."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from bench.peers.training import TrainingBench, run
from bench.peers.training_loop import TrainingLoop

from tests.snn.positions import NUM_PLANES, random_positions
from vecchess.errors import ConfigError, NetworkError
from vecchess.snn.modules.network import SpikingNet, unpack_bitboards
from vecchess.snn.presets import NetConfig

CONFIG = NetConfig(num_planes=NUM_PLANES, blocks=1, channels=32, time_steps=4)


@torch.no_grad()
def _copied(module: SpikingNet) -> TrainingLoop:
    """The loop with the weights of ``module``."""
    loop = TrainingLoop(module.config)
    normed = {"stem": loop.stem, "value.squeeze": loop.squeeze}
    normed |= {"block0.first": loop.first[0], "block0.second": loop.second[0]}
    for name, (convolution, norm) in normed.items():
        layer, shape = module.layer(name), convolution.weight.shape
        taps_first = layer.weight.view(shape[0], shape[2], shape[3], shape[1])
        convolution.weight.copy_(taps_first.permute(0, 3, 1, 2))
        assert layer.norm is not None
        norm.weight.copy_(layer.norm.weight)
        norm.bias.copy_(layer.norm.bias)
    loop.policy.weight.copy_(module.layer("policy").weight[..., None, None])
    by_square = module.layer("value.outcome").weight.view(3, 64, -1)
    loop.outcome.weight.copy_(by_square.transpose(1, 2).flatten(1))
    for head in (loop.policy, loop.outcome):
        head.bias.zero_()
    return loop


def test_loop_is_the_same_network_where_the_norms_see_the_same() -> None:
    torch.manual_seed(1)
    module = SpikingNet(CONFIG).eval()
    for layer in module.layers.values():
        if layer.norm is not None:
            torch.nn.init.uniform_(layer.norm.bias, 0.5, 1.5)  # so that there are spikes
    loop = _copied(module).eval()
    planes = unpack_bitboards(torch.from_numpy(random_positions(6, 1)[0]))
    with torch.no_grad():
        ours, theirs = module(planes), loop(planes.permute(0, 3, 1, 2))
    # rounding moves a spike here and there, and of the value a board hears each at every square
    for one, other, share in (
        (ours.policy, theirs.policy, 0.9),
        (ours.wdl[:1], theirs.wdl[:1], 0.7),
    ):
        assert one.shape == other.shape
        close = (one - other).abs() < 0.02 * other.std()
        assert close.float().mean() > share
    assert ours.wdl.shape == theirs.wdl.shape
    assert torch.allclose(torch.stack(ours.rates), torch.stack(theirs.rates), atol=3e-3)
    assert max(ours.rates) > 0.01


def test_prints_speeds_and_ratios(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("bench.peers.training.num_cores", lambda: 1)
    sizes = tmp_path / "wee.toml"
    sizes.write_text("blocks = 1\nchannels = 32\ntime_steps = 2\n")
    threads = torch.get_num_threads()
    config = TrainingBench(net=str(sizes), batch_size=4, seconds=0.1, cores=0)
    facts = run(config)
    assert torch.get_num_threads() == threads
    assert facts["samples_per_s"].keys() == {"float", "folded", "snntorch", "relu_twin"}
    assert all(value > 0 for value in facts["ratio_to_snntorch"].values())
    assert facts["rounds"] >= 5
    assert 0 < facts["mean_rates"]["folded"] < 1


def test_refuses_what_it_cannot_compare() -> None:
    with pytest.raises(ConfigError, match="no network preset"):
        run(TrainingBench(net="huge", seconds=0.1, cores=0))
    with pytest.raises(NetworkError, match="residual spiking"):
        TrainingLoop(NetConfig(num_planes=25, kind="plain", widths=(32,), time_steps=4))


@pytest.mark.slow
def test_step_of_the_learner_is_timed_beside_another_tree(tmp_path) -> None:
    root = Path(__file__).parent.parent.parent
    sizes = tmp_path / "wee.toml"
    sizes.write_text("blocks = 1\nchannels = 32\ntime_steps = 2\n")
    options = ["--nets", str(sizes), "--batch", "4", "--rounds", "2", "--shares"]
    script = [sys.executable, "-m", "bench.training_step", "--before", str(root)]
    done = subprocess.run([*script, *options], cwd=root, capture_output=True, text=True, check=True)
    facts = json.loads(done.stdout)
    assert facts["samples_per_cpu_s"] > 0 < facts["before_samples_per_cpu_s"]
    assert facts["ratio"] > 0
    assert 0.5 < sum(facts["shares"].values()) <= 1
