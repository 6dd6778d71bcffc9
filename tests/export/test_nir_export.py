"""Networks in NIR: the spikes and accumulators of our reference step by step, and back by bits."""

import io
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import nir
import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tests.export.nir_runner import NirRunner
from tests.export.test_onnx_export import net_of, planes_for
from vecchess.chess.move_inputs import NUM_CODES, SIZES
from vecchess.chess.sample import random_planes
from vecchess.chess.unpack_planes import unpack_planes
from vecchess.errors import ConfigError, NetworkError
from vecchess.export.nir_file import export_nir, read_nir
from vecchess.export.nir_graph import BOARD, from_nir, to_nir
from vecchess.export.nir_neurons import DT, NeuronGraph, activation_graph, floor_graph, lif_graph
from vecchess.snn.integer.bounds import check_bounds
from vecchess.snn.integer.integer_net import IntegerNet, move_currents
from vecchess.snn.integer.net_file import load_net, save_net
from vecchess.snn.modules.neuron import clipped_relu, lif, lif_steps
from vecchess.snn.modules.rate_coding import coded_input
from vecchess.snn.topology import MOVES, layer_key, membrane_layers, stem_planes
from vecchess.snn.torch_integer import from_integers

NAMES = ["plain", "graded", "twin", "long", "coded"]
"""Networks of every kind of head, readout and input, and one whose leak leaves the grid."""

SLOWLY_READ = ["graded", "long", "coded"]


@cache
def written(name: str) -> bytes:
    """The file of a network."""
    data = io.BytesIO()
    nir.write(data, to_nir(net_of(name)))
    return data.getvalue()


def graph_of(name: str) -> nir.NIRGraph:
    return nir.read(io.BytesIO(written(name)))


def inputs_of(net: IntegerNet, planes: NDArray[np.uint64]) -> list[NDArray[np.float32]]:
    """The network's planes at each step."""
    steps = net.config.time_steps
    coded = np.broadcast_to(coded_input(net.config, planes), (steps, *planes.shape))
    return [unpack_planes(step) for step in coded]


@torch.no_grad()
def reference(
    net: IntegerNet, planes: NDArray[np.uint64]
) -> tuple[dict[str, NDArray[np.float32]], NDArray[np.float32], NDArray[np.float32]]:
    """Spikes [T, B, C, 8, 8] by layer that reads them, and accumulators [T, B, ...]."""
    module = from_integers(net).eval()
    module.compiled = False
    spikes: list[torch.Tensor] = []

    def noted(*given: object) -> object:
        fired = lif(*given)  # type: ignore[arg-type]
        spikes.append(fired.spikes.values)
        return fired

    module.lif = noted  # type: ignore[assignment]
    boards = torch.from_numpy(np.stack(inputs_of(net, planes))).permute(0, 1, 3, 4, 2)
    output = module(boards if net.config.is_rate_coded else boards[0])
    named = zip(membrane_layers(net.config), spikes, strict=True)
    by_layer = {name: one.permute(0, 1, 4, 2, 3).numpy() for name, one in named}
    return by_layer, output.policy.numpy(), output.wdl.numpy()


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_the_graph_gives_our_spikes_and_accumulators_at_every_step(name: str) -> None:
    assert_same(net_of(name), graph_of(name), planes_for(net_of(name), 2))


@pytest.mark.slow
def test_the_network_of_vecchess_on_256_positions() -> None:
    net = load_net("default")
    graph = to_nir(net)
    for seed in range(8):
        assert_same(net, graph, random_planes(32, seed, stem_planes(net.config)))


def assert_same(net: IntegerNet, graph: nir.NIRGraph, planes: NDArray[np.uint64]) -> None:
    spikes, policy, wdl = reference(net, planes)
    runner = NirRunner(graph, DT)
    codes = np.random.default_rng(0).integers(0, NUM_CODES, len(planes))
    numbers = zip(SIZES, np.unravel_index(codes, SIZES, order="F"), strict=True)
    moves = np.hstack([np.eye(size)[number] for size, number in numbers])
    for step, boards in enumerate(inputs_of(net, planes)):
        runner.step({"planes": boards, "move": moves})
        for layer, ours in spikes.items():
            theirs = runner.values[f"{layer_key(layer)}_neurons.output"]
            assert np.array_equal(theirs, ours[step]), (layer, step)
        assert np.array_equal(runner.values["output_policy"], policy[step])
        assert np.array_equal(runner.values["output_value"], wdl[step])
        if MOVES in net.layers:
            of_move = runner.values["output_move"] * 2**net.config.grid_bits
            assert np.array_equal(of_move[:, 0], move_currents(net)[codes])
    assert np.ptp(policy[-1]) > 0
    assert all(0 < ours.mean() < 1 for ours in spikes.values())


@pytest.mark.parametrize("floor", [None, (3, 4)])
def test_neurons_whose_currents_leave_them_above_the_threshold(
    floor: tuple[int, int] | None,
) -> None:
    """The rare cases: a membrane above 1 after its reset, and leaks that leave the grid."""
    generator = np.random.default_rng(7)
    grid = 4 if floor else 12
    currents = generator.integers(-40, 60, (9, 5, 32, 8, 8)).astype(np.float32) / 16
    spikes, _ = lif_steps(torch.from_numpy(currents), torch.zeros(5, 32, 8, 8), grid)
    runner = NirRunner(lif_graph((32, *BOARD), floor), DT)
    raised = 0.0
    for step, current in enumerate(currents):
        runner.step({"input": current})
        assert np.array_equal(runner.values["output"], spikes[step].numpy())
        raised += runner.values["above"].mean()
    assert raised > 0.1


def test_digits_are_our_activations_and_floors() -> None:
    values = np.arange(-4096, 4096, dtype=np.float32).reshape(-1, 2, 64) / 512  # -8 to 8
    runner = NirRunner(activation_graph((2, 64)), DT)
    runner.step({"input": values})
    wanted = clipped_relu(torch.from_numpy(values)).numpy()
    assert np.array_equal(runner.values["output"], wanted)
    assert (wanted.min(), wanted.max()) == (0, 127 / 64)
    runner = NirRunner(floor_graph((2, 64), 3, 5), DT)
    runner.step({"input": values})
    assert np.array_equal(runner.values["output"], np.floor(values * 32) / 32)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name",
    ["plain", "twin", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOWLY_READ)],
)
def test_a_round_trip_gives_the_same_file(name: str, tmp_path: Path) -> None:
    net = replace(net_of(name), calibration={"by": "hand"}, exit_rule=None)
    file, back = tmp_path / "net.nir", tmp_path / "back.safetensors"
    done = export_nir(net, file)
    assert done.num_bytes == file.stat().st_size
    assert done.edges > done.nodes > 10
    save_net(net, tmp_path / "net.safetensors")
    save_net(read_nir(file), back)
    assert back.read_bytes() == (tmp_path / "net.safetensors").read_bytes()


def test_nodes_of_the_field() -> None:
    """A layer of neurons is one LIF node with our leak and threshold, and a reset to 0."""
    net = net_of("plain")
    graph = to_nir(net, "lif")
    nodes = [node for node in graph.nodes.values() if isinstance(node, nir.LIF)]
    assert len(nodes) == len(membrane_layers(net.config))
    for node in nodes:
        assert np.all(DT / node.tau == 0.5)
        assert np.all(node.r * DT / node.tau == 1)
        assert np.all(node.v_threshold == 1)
        assert np.all(node.v_reset == 0)
    assert from_nir(graph).sha256 == net.sha256
    spikes, _, _ = reference(net, planes_for(net, 6))
    runner = NirRunner(graph, DT)
    for boards in inputs_of(net, planes_for(net, 6)):
        runner.step({"planes": boards})
    last = runner.values[f"{layer_key('heads')}_neurons"]
    assert not np.array_equal(last, spikes["heads"][-1])  # what a reset to 0 costs


def test_weights_that_were_trained_elsewhere() -> None:
    """Weights on the grid are taken, with another shift where the recorded one is too small."""
    graph = graph_of("plain")
    node = graph.nodes["conv1"]
    net = net_of("plain")
    node.weight = node.weight.copy()
    node.weight[0] = 0
    node.weight[0, 0, 0, 0] = 2.0**-net.config.weight_bits
    node.bias = node.bias + np.float32(2.0**-net.config.weight_bits)
    changed = from_nir(graph)
    layer, before = changed.layers["conv1"], net.layers["conv1"]
    assert layer.shift[0] == net.config.weight_bits or layer.weight[0, 0] > 1
    assert layer.weight[0, 0] * 2.0 ** -float(layer.shift[0]) == 2.0**-net.config.weight_bits
    assert np.array_equal(layer.weight[1:], before.weight[1:])
    assert np.array_equal(layer.bias, before.bias + 1)
    assert changed.sha256 != net.sha256
    assert check_bounds(changed).exact


@pytest.mark.thorough
def test_graphs_that_are_no_networks_of_ours(tmp_path: Path) -> None:
    graph = graph_of("plain")
    graph.nodes["conv1"].weight = graph.nodes["conv1"].weight + np.float32(1e-4)
    with pytest.raises(NetworkError, match=r"layer conv1 that are not int8 \* 2\^-k"):
        from_nir(graph)
    graph = graph_of("plain")
    graph.edges.remove(("planes", "stem"))
    with pytest.raises(NetworkError, match=r"not the graph .* its edges"):
        from_nir(graph)
    graph = graph_of("plain")
    graph.nodes["heads_neurons"].nodes["spike"].threshold *= 2
    with pytest.raises(NetworkError, match=r"heads_neurons.*spike.*threshold"):
        from_nir(graph)
    graph = graph_of("plain")
    del graph.nodes["policy"]
    with pytest.raises(NetworkError, match="lacks layer policy"):
        from_nir(graph)
    graph = graph_of("plain")
    graph.metadata.clear()
    with pytest.raises(NetworkError, match="without vecchess's description"):
        from_nir(graph)
    other = NeuronGraph((2,))
    file = tmp_path / "other.nir"
    nir.write(file, other.output("input"))
    with pytest.raises(NetworkError, match=rf"{file} is a NIR graph without vecchess"):
        read_nir(file)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    file = tmp_path / "net.nir"
    with pytest.raises(NetworkError, match="there is no NIR file"):
        read_nir(file)
    for data in (b"", b"nir", written("plain")[:5000]):
        file.write_bytes(data)
        with pytest.raises(NetworkError, match="is no NIR file that nir reads"):
            read_nir(file)


def test_few_bytes_that_stand_for_many(tmp_path: Path) -> None:
    import h5py

    file = tmp_path / "large.nir"
    with h5py.File(file, "w") as large:
        large.create_dataset("node/weight", shape=(1 << 40,), dtype="f4", chunks=True)
    with pytest.raises(NetworkError, match="holds 4,398,046,511,104 bytes, more than"):
        read_nir(file)


@pytest.mark.parametrize("kind", ["array", "group", "soft", "external"])
def test_an_array_of_several_names_is_refused(kind: str, tmp_path: Path) -> None:
    """nir would read it once for each of them: few bytes that stand for many again."""
    import h5py

    file = tmp_path / "linked.nir"
    nir.write(file, graph_of("plain"))
    with h5py.File(file, "r+") as linked:
        weight = "/node/nodes/conv1/weight"
        names = {
            "array": linked[weight],
            "group": linked["/"],
            "soft": h5py.SoftLink(weight),
            "external": h5py.ExternalLink("other.nir", weight),
        }
        linked["/node/nodes/conv1/again"] = names[kind]
    with pytest.raises(
        NetworkError, match=r"linked\.nir has a second name for an array or a group"
    ):
        read_nir(file)


def test_the_library_is_named_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "nir", raising=False)
    for attempt in (
        lambda: export_nir(net_of("plain"), tmp_path / "net.nir"),
        lambda: read_nir(tmp_path / "net.nir"),
    ):
        with pytest.raises(ConfigError, match=r"nir is not installed: pip install 'vecchess\[nir"):
            attempt()
