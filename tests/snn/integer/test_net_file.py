"""Network files: whole or refused with one line."""

import errno
import json
import os
from collections.abc import Callable
from dataclasses import replace
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.snn.positions import NUM_PLANES, random_positions
from vecchess.errors import DataError, NetworkError
from vecchess.inference.source import find
from vecchess.runtime import retried_read
from vecchess.safe_parse import MOST_BYTES, open_regular
from vecchess.snn.initialise import new_network
from vecchess.snn.integer import net_file
from vecchess.snn.integer.bounds import check_bounds, net_facts
from vecchess.snn.integer.integer_net import IntegerNet, tensors_of
from vecchess.snn.integer.net_file import SHIPPED_NET, load_exact, load_net, save_net
from vecchess.snn.presets import NetConfig
from vecchess.train.checkpoint.checkpoint_folder import encode_checkpoint


@pytest.fixture(scope="module")
def net() -> IntegerNet:
    config = NetConfig(num_planes=NUM_PLANES, blocks=1, channels=32, time_steps=4)
    return new_network(config, 1, random_positions(16, 1)[0])


@pytest.fixture
def path(net: IntegerNet, tmp_path: Path) -> Path:
    save_net(net, tmp_path / "net.safetensors")
    return tmp_path / "net.safetensors"


def test_round_trip_keeps_everything(net: IntegerNet, path: Path) -> None:
    loaded = load_net(path)
    assert loaded.sha256 == net.sha256
    assert loaded.config == net.config
    assert (loaded.policy_scale, loaded.value_scale) == (net.policy_scale, net.value_scale)
    for name, tensor in tensors_of(net).items():
        assert np.array_equal(tensors_of(loaded)[name], tensor)


def test_equal_networks_are_equal_files_and_nothing_else_is_left(
    net: IntegerNet, path: Path
) -> None:
    other = path.with_name("other.safetensors")
    save_net(load_net(path), other)
    assert other.read_bytes() == path.read_bytes()
    assert {entry.name for entry in path.parent.iterdir()} == {path.name, other.name}


def test_exit_rule_is_stored_and_part_of_the_hash(net: IntegerNet, tmp_path: Path) -> None:
    ruled = replace(net, exit_rule={"min_steps": 3})
    save_net(ruled, tmp_path / "ruled")
    assert load_net(tmp_path / "ruled").exit_rule == {"min_steps": 3}
    assert ruled.sha256 != net.sha256


def test_info_is_json(net: IntegerNet) -> None:
    facts = json.loads(json.dumps(net_facts(net)))
    assert facts["sha256"] == net.sha256
    assert facts["exact"] is True
    assert facts["weights"] == net.num_weights


def test_missing_file() -> None:
    with pytest.raises(NetworkError, match="there is no network file /nowhere/net"):
        load_net(Path("/nowhere/net"))


def test_the_network_of_vecchess_has_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever lies in the working folder: a file there is no network of vecchess."""
    monkeypatch.chdir(tmp_path)
    Path("default").write_text("no network")
    net = load_net("default")
    assert net.sha256 == load_net(Path("default")).sha256 == load_net(SHIPPED_NET).sha256
    check_bounds(net).require_exact()
    assert SHIPPED_NET.stat().st_size < 2e6
    monkeypatch.setattr(net_file, "SHIPPED_NET", tmp_path / "lost.safetensors")
    with pytest.raises(NetworkError) as caught:
        load_net("default")
    assert str(caught.value) == (
        f"this installation lacks its network {tmp_path}/lost.safetensors: install vecchess again"
    )


def test_a_failed_read_is_repeated(
    net: IntegerNet, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = [errno.EMFILE, errno.ESTALE]

    def refuse(file: Path) -> BufferedReader:
        if failures:
            raise OSError(failures.pop(), "not now")
        return open_regular(file)

    monkeypatch.setattr(retried_read, "open_regular", refuse)
    monkeypatch.setattr(retried_read, "PAUSES_S", (0.0, 0.0))
    assert load_net(path).sha256 == net.sha256
    failures += [errno.EIO] * 3
    with pytest.raises(NetworkError, match=r"cannot read .*: not now \(tried 3 times\)"):
        load_net(path)


@pytest.mark.parametrize("length", [0, 5, 100, -1])
def test_truncated_file(path: Path, length: int) -> None:
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(NetworkError, match="truncated"):
        load_net(path)


def test_flipped_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1000] ^= 1
    path.write_bytes(data)
    with pytest.raises(NetworkError, match="does not match its sha256"):
        load_net(path)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("schema", 9, "schema 9"),
        ("config", {"blocks": 1}, "wrong size"),
        ("policy_scale", 0.0, "policy_scale"),
        ("policy_scale", 1e300, "policy_scale"),
        ("policy_scale", 1e-300, "policy_scale"),
        ("policy_scale", float("nan"), "policy_scale"),
        ("value_scale", float("inf"), "value_scale"),
        ("value_scale", -1.0, "value_scale"),
        ("sha256", "0" * 64, "sha256"),
        ("exit_rule", {"min_steps": 1}, "sha256"),
    ],
)
def test_wrong_description(path: Path, key: str, value: object, message: str) -> None:
    _rewrite(path, key, value)
    with pytest.raises(NetworkError, match=message):
        load_net(path)


@pytest.mark.parametrize(
    "rule",
    [
        {"min_steps": 0},
        {"min_steps": True},
        {"value_drift": False},
        {"policy_margin": 1 << 41},
        {"mode": "x"},
        [],
        "",
        False,
    ],
)
def test_an_exit_rule_that_is_none_is_neither_read_nor_written(
    net: IntegerNet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: Any
) -> None:
    ruled, path = replace(net, exit_rule=rule), tmp_path / "net.safetensors"
    with pytest.raises(NetworkError, match="exit rule"):
        save_net(ruled, path)
    with monkeypatch.context() as context:
        context.setattr(net_file, "checked_answers", lambda description: description)
        save_net(ruled, path)
    with pytest.raises(NetworkError, match="exit rule"):
        load_net(path)


def test_an_interrupted_save_leaves_what_was_there(
    net: IntegerNet, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C, and a disk that refuses."""
    before = path.read_bytes()
    for error, raised in (
        (KeyboardInterrupt(), KeyboardInterrupt),
        (OSError(errno.EIO, "broken"), DataError),
    ):
        with monkeypatch.context() as context:
            context.setattr(os, "fsync", raiser(error))
            with pytest.raises(raised):
                save_net(replace(net, policy_scale=1.0), path)
        assert os.listdir(path.parent) == [path.name]
        assert path.read_bytes() == before
    with pytest.raises(NetworkError, match=r"cannot write .*nowhere"):
        save_net(net, path.parent / "nowhere" / "net")


def raiser(error: BaseException) -> Callable[[int], None]:
    """A function that raises ``error``."""

    def fail(_handle: int) -> None:
        raise error

    return fail


def test_a_number_out_of_range_is_neither_read_nor_written(
    net: IntegerNet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Training and torch's kernels would compute with -127 where others computed with -128."""
    layer, path = net.layers["policy"], tmp_path / "net.safetensors"
    weight = layer.weight.copy()
    weight[3, 0] = -128
    shift = np.full_like(layer.shift, net.config.weight_bits + 1)
    for wrong, message in (
        (replace(layer, weight=weight), "has a weight below -127 in layer policy"),
        (replace(layer, shift=shift), "has a shift beyond weight_bits in layer policy"),
    ):
        other = replace(net, layers=net.layers | {"policy": wrong})
        with pytest.raises(NetworkError, match=message):
            save_net(other, path)
        with monkeypatch.context() as context:
            context.setattr(net_file, "_check_ranges", lambda config, layers: None)
            save_net(other, path)
        with pytest.raises(NetworkError, match=message):
            load_net(path)


def test_what_could_not_be_read_again_is_not_written(net: IntegerNet, tmp_path: Path) -> None:
    for other in (
        replace(net, policy_scale=2.0**65),
        replace(net, calibration={"why": "\u00e9" * (MOST_BYTES // 6)}),
    ):
        with pytest.raises(NetworkError, match=r"has no policy_scale|calibration is too long"):
            save_net(other, tmp_path / "net.safetensors")
    assert list(tmp_path.iterdir()) == []


def test_a_network_that_is_not_exact_is_not_played(net: IntegerNet, tmp_path: Path) -> None:
    wild = replace(net.layers["stem"], bias=np.full(32, 2**31 - 1, np.int32))
    save_net(replace(net, layers={**net.layers, "stem": wild}), path := tmp_path / "n.safetensors")
    load_net(path)
    with pytest.raises(NetworkError, match=r"n\.safetensors is not exact: .* limit 16777216"):
        load_exact(path)
    with pytest.raises(NetworkError, match="is not exact"):
        find(str(path)).check()


def test_file_of_someone_else(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"x": np.zeros(3)}, tmp_path / "x")
    with pytest.raises(NetworkError, match="not written by vecchess"):
        load_net(tmp_path / "x")


def test_a_checkpoint_is_named_as_one(tmp_path: Path) -> None:
    file = tmp_path / "checkpoint.safetensors"
    file.write_bytes(encode_checkpoint({"net": torch.zeros(3)}, {}, {}))
    with pytest.raises(NetworkError, match="is a checkpoint of a training"):
        load_net(file)


def test_sizes_that_do_not_fit_the_tensors(path: Path) -> None:
    description = _description(path)
    _rewrite(path, "config", description["config"] | {"value_channels": 9})
    with pytest.raises(NetworkError, match=r"value.squeeze.weight as int8\[8, 32\]"):
        load_net(path)


def _description(path: Path) -> dict:
    data = path.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return json.loads(header["__metadata__"]["vecchess"])


def _rewrite(path: Path, key: str, value: object) -> None:
    from safetensors.numpy import load, save

    description = _description(path) | {key: value}
    path.write_bytes(save(load(path.read_bytes()), {"vecchess": json.dumps(description)}))


def test_a_folder_names_its_newest_network(path: Path, tmp_path: Path) -> None:
    path.with_name(f".partial-{path.name}").write_bytes(b"half")  # what a killed writer left
    with pytest.raises(NetworkError, match=r"newest network is .*/net\.safetensors"):
        load_net(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(NetworkError, match=r"is a folder, not a network file$"):
        load_net(tmp_path / "empty")


def test_another_kind_of_file_is_said_to_be_one(tmp_path: Path) -> None:
    file = tmp_path / "latest.json"
    file.write_text('{"schema": 1, "file": "net.safetensors"}')
    with pytest.raises(NetworkError, match=r"latest\.json is no network file"):
        load_net(file)
