"""The mean of two networks."""

import sys
from pathlib import Path

import numpy as np
import pytest
from bench.learning import average_networks
from bench.learning.average_networks import averaged

from tests.bench.nets import SMALL
from vecchess.snn.create import create_sized
from vecchess.snn.integer.integer_net import IntegerNet, Layer
from vecchess.snn.integer.net_file import load_net, save_net


def network(seed: int, blocks: int = 1) -> IntegerNet:
    return create_sized(SMALL.model_copy(update={"blocks": blocks}), seed)


def values(layer: Layer) -> np.ndarray:
    """The weights in units of 1."""
    return np.ldexp(layer.weight.astype(np.float64), -layer.shift.astype(np.int64)[:, None])


def test_mean_of_a_network_with_itself_is_the_network() -> None:
    net = network(1)
    assert averaged(net, net, 0.3).sha256 == net.sha256


def test_weights_lie_between_on_the_coarser_grid() -> None:
    first, second = network(1), network(2)
    between = averaged(first, second, 0.25)
    for name, layer in between.layers.items():
        ours, theirs = first.layers[name], second.layers[name]
        assert (layer.shift == np.minimum(ours.shift, theirs.shift)).all()
        wanted = 0.75 * values(ours) + 0.25 * values(theirs)
        unit = np.ldexp(1.0, -layer.shift.astype(np.int64))[:, None]
        assert (np.abs(values(layer) - wanted) <= unit / 2 + 1e-6).all(), name
    assert between.sha256 not in (first.sha256, second.sha256)


def test_networks_of_other_sizes_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / "a.safetensors", tmp_path / "b.safetensors"]
    for file, blocks in zip(files, (1, 2), strict=True):
        save_net(network(1, blocks), file)
    out = tmp_path / "out.safetensors"
    monkeypatch.setattr(sys, "argv", ["average", *map(str, files), "--out", str(out)])
    with pytest.raises(SystemExit) as ended:
        average_networks.main()
    assert ended.value.code == 2
    assert "not of the same sizes" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["average", *[str(files[0])] * 2, "--out", str(out)])
    average_networks.main()
    assert load_net(out).sha256 == load_net(files[0]).sha256
