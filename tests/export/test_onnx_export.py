"""Networks in ONNX: the bits of the torch module, for every kind of network."""

import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from vecchess.chess.planes import NUM_PLANES, num_planes
from vecchess.chess.sample import random_planes
from vecchess.errors import ConfigError, NetworkError
from vecchess.export import onnx_net
from vecchess.export.onnx_export import ask_onnx, check_parity, export_onnx, open_session
from vecchess.export.onnx_net import to_onnx
from vecchess.snn.create import create_sized
from vecchess.snn.integer.integer_net import IntegerNet, Layer
from vecchess.snn.modules.rate_coding import coded_input
from vecchess.snn.presets import NetConfig
from vecchess.snn.torch_integer import from_integers

CONFIGS = {
    "spiking": NetConfig(num_planes=NUM_PLANES, blocks=2, channels=32, time_steps=4),
    "history": NetConfig(num_planes=num_planes(3), blocks=1, channels=32, time_steps=2),
    "long": NetConfig(num_planes=NUM_PLANES, blocks=1, channels=32, time_steps=9, grid_bits=11),
    "graded": NetConfig(
        num_planes=NUM_PLANES, blocks=2, channels=32, readout="graded", time_steps=4
    ),
    "twin": NetConfig(num_planes=NUM_PLANES, blocks=2, channels=32, time_steps=1, neuron="relu"),
    "plain": NetConfig(
        num_planes=NUM_PLANES, kind="plain", widths=(32, 64), grid_bits=11, time_steps=4
    ),
    "coded": NetConfig(
        num_planes=NUM_PLANES, kind="plain", widths=(32, 32), time_steps=5, input_rate=12,
        grid_bits=11,
    ),
}  # fmt: skip


@cache
def net_of(name: str) -> IntegerNet:
    return create_sized(CONFIGS[name], 3)


def planes_for(net: IntegerNet, count: int = 24) -> np.ndarray:
    return random_planes(count, 5, net.config.num_planes)


@torch.no_grad()
def expected(net: IntegerNet, planes: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """All accumulators after so many steps, in units of 2^-F, by the module without our kernels."""
    module = from_integers(net).eval()
    module.compiled = False
    output = module(torch.from_numpy(coded_input(net.config, planes, steps).view(np.int64)), steps)
    unit = 2.0**net.config.grid_bits
    return (output.policy[-1] * unit).numpy(), (output.wdl[-1] * unit).numpy()


@pytest.mark.thorough
@pytest.mark.parametrize("name", CONFIGS)
def test_all_accumulators_are_the_same_bits(name: str) -> None:
    net = net_of(name)
    planes = planes_for(net, 10)
    for steps in {1, net.config.time_steps}:
        session = open_session(to_onnx(net, steps).SerializeToString())
        policy, value = ask_onnx(session, net, planes, steps)
        assert (policy.shape, value.shape) == ((10, 4672), (10, 3))
        wanted_policy, wanted_value = expected(net, planes, steps)
        assert np.array_equal(policy, wanted_policy)
        assert np.array_equal(value, wanted_value)
        assert np.ptp(policy) > 0
        assert (policy == np.round(policy)).all()


def test_any_number_of_positions() -> None:
    net = net_of("spiking")
    planes, session = planes_for(net), open_session(to_onnx(net).SerializeToString())
    together = ask_onnx(session, net, planes, 4)
    for first, end in ((0, 1), (1, 8), (8, 24)):
        apart = ask_onnx(session, net, planes[first:end], 4)
        for one, other in zip(apart, together, strict=True):
            assert np.array_equal(one, other[first:end])


@pytest.mark.parametrize("name", CONFIGS)
def test_the_check_asks_our_backend(name: str) -> None:
    net = net_of(name)
    parity = check_parity(net, to_onnx(net).SerializeToString(), net.config.time_steps, 40)
    assert parity.positions == 40
    assert parity.numbers > 40 * 3
    assert parity.different == 0


def test_the_check_finds_one_weight_that_differs() -> None:
    net = net_of("spiking")
    model = to_onnx(with_other_bias(net)).SerializeToString()
    assert check_parity(net, model, 4, 40).different > 0


def with_other_bias(net: IntegerNet) -> IntegerNet:
    layer = net.layers["value.outcome"]
    bias = layer.bias + np.array([1, 0, 0], np.int32)
    changed = Layer(layer.weight, layer.shift, bias)
    return replace(net, layers=net.layers | {"value.outcome": changed})


def test_what_is_not_the_same_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, out = net_of("spiking"), tmp_path / "net.onnx"
    other = to_onnx(with_other_bias(net))
    with monkeypatch.context() as patched:
        patched.setattr(onnx_net, "to_onnx", lambda *_: other)
        done = export_onnx(net, out)
        assert (done.written, out.exists()) == (False, False)
        assert export_onnx(net, out, check=False).written
    done = export_onnx(net, out, num_steps=2)
    assert done.written
    assert done.num_bytes == out.stat().st_size
    assert done.parity is not None
    assert done.parity.different == 0


def test_the_file_says_what_it_is() -> None:
    net = net_of("coded")
    model = to_onnx(net, 3)
    facts = {entry.key: entry.value for entry in model.metadata_props}
    assert facts["vecchess.sha256"] == net.sha256
    assert float(facts["vecchess.policy_scale"]) == net.policy_scale
    assert float(facts["vecchess.value_scale"]) == net.value_scale
    assert (facts["vecchess.time_steps"], facts["vecchess.input_rate"]) == ("3", "12")
    assert shape_of(model.graph.input[0]) == [3, "B", NUM_PLANES, 8, 8]
    assert [shape_of(output) for output in model.graph.output] == [["B", 4672], ["B", 3]]
    assert [entry.version for entry in model.opset_import] == [17]
    weights = [t for t in model.graph.initializer if t.data_type == onnx.TensorProto.INT8]
    assert len(weights) == len(net.layers)


@pytest.mark.parametrize("name", CONFIGS)
def test_every_constant_is_used(name: str) -> None:
    """onnxruntime warns of others."""
    for num_steps in {1, CONFIGS[name].time_steps}:
        graph = to_onnx(net_of(name), num_steps).graph
        used = {value for node in graph.node for value in node.input}
        assert {constant.name for constant in graph.initializer} <= used


def shape_of(value: onnx.ValueInfoProto) -> list[int | str]:
    return [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]


def test_what_cannot_be_exported() -> None:
    net = net_of("spiking")
    for steps in (0, 5):
        with pytest.raises(ConfigError, match=f"--steps {steps}: .* 1 to 4"):
            to_onnx(net, steps)
    layer = net.layers["policy"]
    heavy = Layer(np.full_like(layer.weight, 127), layer.shift * 0, layer.bias)
    loud = replace(net, layers=net.layers | {"policy": heavy}, config=net.config)
    with pytest.raises(NetworkError, match="not exact"):
        to_onnx(loud)
    with pytest.raises(NetworkError, match="onnxruntime refuses"):
        open_session(b"no model")


@pytest.mark.parametrize("library", ["onnx", "onnxruntime"])
def test_a_library_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, library, raising=False)
    with pytest.raises(ConfigError, match=rf"{library} is not installed: pip install 'vecchess"):
        export_onnx(net_of("spiking"), tmp_path / "net.onnx")
