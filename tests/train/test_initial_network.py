"""The network that a run starts with."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from vecchess.chess.planes import MOVE_WORDS, num_planes
from vecchess.chess.sample import random_planes
from vecchess.config import TrainConfig, build
from vecchess.errors import ConfigError, NetworkError
from vecchess.snn.create import create_sized, sizes_of, with_move_inputs
from vecchess.snn.integer.net_file import load_net, save_net
from vecchess.snn.modules.network import SpikingNet, unpack_bitboards
from vecchess.snn.torch_integer import exported, to_integers
from vecchess.train.initial_network import first_net, first_sizes


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("nets") / "little.toml"
    file.write_text("blocks = 1\nchannels = 32\ntime_steps = 4\n")
    return file


def config_of(**settings: Any) -> TrainConfig:
    return build(TrainConfig, {name: str(value) for name, value in settings.items()})


def test_a_new_network_spikes_at_a_rate_from_the_first_game_on(sizes: Path) -> None:
    net = first_net(config_of(net=sizes)).eval()
    assert not net.folded
    planes = torch.from_numpy(random_planes(64, 3, num_planes(tactical=True)).view(np.int64))
    with torch.no_grad():
        rates = [float(rate) for rate in net(unpack_bitboards(planes)).rates]
    assert all(0.02 < rate < 0.4 for rate in rates), rates
    assert exported(net).sha256 == exported(first_net(config_of(net=sizes))).sha256
    assert exported(net).sha256 != exported(first_net(config_of(net=sizes, seed=1))).sha256


def test_a_new_network_has_the_history_asked_for(sizes: Path, tmp_path: Path) -> None:
    """From the setting, the file of sizes, or the network whose weights it takes."""
    four = first_net(config_of(net=sizes, history=4)).eval()
    assert four.config.num_planes == 72
    with torch.no_grad():
        planes = torch.from_numpy(random_planes(64, 3, num_planes(4, tactical=True)).view(np.int64))
        rates = [float(rate) for rate in four(unpack_bitboards(planes)).rates]
    assert all(0.02 < rate < 0.4 for rate in rates), rates
    assert first_sizes(config_of(net="tiny", history=8)).num_planes == 120
    two = tmp_path / "two.toml"
    two.write_text("blocks = 1\nchannels = 32\nhistory = 2\n")
    assert first_sizes(config_of(net=two)).num_planes == 48
    made = tmp_path / "made.safetensors"
    save_net(create_sized(sizes_of(str(two)), 7), made)
    assert first_sizes(config_of(net=made)).num_planes == 48
    assert first_sizes(config_of(net=sizes, init_from=made)).num_planes == 48
    for net in (two, made):
        with pytest.raises(ConfigError, match=f"{net}: .*sees a history of 2 positions, not 4"):
            first_sizes(config_of(net=net, history=4))
    with pytest.raises(ConfigError, match=r"sees a history of 2 positions .* ask for .* 3 pos"):
        first_sizes(config_of(net=sizes, history=3, init_from=made))
    with pytest.raises(ConfigError, match="history"):
        config_of(net=sizes, history=9)


def test_a_new_network_has_tactical_planes_unless_refused(sizes: Path, tmp_path: Path) -> None:
    assert first_sizes(config_of(net=sizes, history=2)).num_planes == 48
    assert first_sizes(config_of(net=sizes, history=2, tactical=False)).num_planes == 37
    assert first_sizes(config_of(net="tiny", tactical=False)).num_planes == 25
    tactical = tmp_path / "tactical.toml"
    tactical.write_text("blocks = 1\nchannels = 32\ntactical = true\n")
    assert first_sizes(config_of(net=tactical)).num_planes == 36
    made = tmp_path / "made.safetensors"
    save_net(create_sized(sizes_of(str(tactical)), 7), made)
    assert first_sizes(config_of(net=sizes, init_from=made)).num_planes == 36
    for net in (tactical, made):
        with pytest.raises(ConfigError, match=f"{net}: the network sees tactical planes"):
            first_sizes(config_of(net=net, tactical=False))
    with pytest.raises(ConfigError, match=r"1 positions and tactical planes, --net, .* ask for a"):
        first_sizes(config_of(net=sizes, tactical=False, init_from=made))


def test_a_network_that_is_quantised_at_once(sizes: Path) -> None:
    net = first_net(config_of(net=sizes, fold_at=0, seed=4))
    assert net.folded
    made = create_sized(sizes_of(str(sizes)), 4)
    assert exported(net).layers.keys() == made.layers.keys()
    assert all((exported(net).layers[n].weight == made.layers[n].weight).all() for n in made.layers)


def test_the_weights_of_another(sizes: Path, tmp_path: Path) -> None:
    file = tmp_path / "made.safetensors"
    made = create_sized(sizes_of(str(sizes)), 7)
    save_net(made, file)
    for config in (config_of(net=sizes, init_from=file), config_of(net=file)):
        net = exported(first_net(config))
        assert (net.layers["stem"].weight == made.layers["stem"].weight).all()
    shipped = load_net("default")
    net = exported(first_net(config_of(net="default")))
    assert (net.layers["stem"].weight == shipped.layers["stem"].weight).all()
    assert first_sizes(config_of(net="default", init_from="default")) == shipped.config
    longer = tmp_path / "longer.toml"
    longer.write_text("blocks = 1\nchannels = 32\ntime_steps = 8\n")
    net = exported(first_net(config_of(net=longer, init_from=file)))
    assert net.config.time_steps == 8
    assert net.policy_scale == made.policy_scale
    with pytest.raises(ConfigError, match=r"other sizes than --net tiny: blocks 1, not 4$"):
        first_sizes(config_of(net="tiny", init_from=file))
    spiking = tmp_path / "spiking.toml"
    spiking.write_text('blocks = 1\nchannels = 32\nreadout = "spikes"\n')
    with pytest.raises(ConfigError, match=r"--net spiking: readout graded, not spikes$"):
        first_sizes(config_of(net=spiking, init_from=file))
    with pytest.raises(NetworkError, match="nowhere"):
        first_sizes(config_of(net=tmp_path / "nowhere.safetensors"))


def test_a_network_that_could_not_be_published_again_is_refused(
    sizes: Path, tmp_path: Path
) -> None:
    net = create_sized(sizes_of(str(sizes)), 7)
    wild = replace(net.layers["policy"], bias=np.full(73, 2**31 - 1, np.int32))
    save_net(
        replace(net, layers={**net.layers, "policy": wild}), file := tmp_path / "a.safetensors"
    )
    for config in (config_of(net=file), config_of(net=sizes, init_from=file)):
        with pytest.raises(NetworkError, match=r"a\.safetensors is not exact: .* layer policy"):
            first_sizes(config)


def test_a_network_from_a_file_may_begin_to_read_moves(sizes: Path, tmp_path: Path) -> None:
    made = tmp_path / "made.safetensors"
    before = create_sized(sizes_of(str(sizes)), 7)
    save_net(before, made)
    words = before.config.num_planes + MOVE_WORDS
    for config in (
        config_of(net=made, move_inputs=True),
        config_of(net=sizes, init_from=made, move_inputs=True),
    ):
        assert first_sizes(config).num_planes == words
        net = first_net(config)
        assert isinstance(net, SpikingNet)
        layers = to_integers(net).layers
        assert not layers.pop("moves").weight.any()
        assert {name: layer.weight.tobytes() for name, layer in layers.items()} == {
            name: layer.weight.tobytes() for name, layer in before.layers.items()
        }
    assert first_sizes(config_of(net=sizes, move_inputs=True)).num_planes == words
    reading = tmp_path / "reading.safetensors"
    save_net(with_move_inputs(before), reading)
    assert first_sizes(config_of(net=reading)).num_planes == words
    with pytest.raises(ConfigError, match="the network reads inputs of moves"):
        first_sizes(config_of(net=reading, move_inputs=False))
    plain = tmp_path / "coded.toml"
    plain.write_text('kind = "plain"\nwidths = [32]\ninput_rate = 8\n')
    with pytest.raises(ConfigError, match="a rate-coded network reads no inputs of moves"):
        first_sizes(config_of(net=plain, move_inputs=True))
