"""What is shown of neurons is what the deployed network does: its backends, and snntorch."""

from typing import Any

import chess
import numpy as np
import pytest
import torch
from bench.peers.snntorch_loop import SnntorchLoop
from torch import Tensor

from tests.snn.positions import random_positions
from vecchess.analysis.parse_position import STARTPOS, position_reached, request_at
from vecchess.analysis.spike_trace import SpikeTracer
from vecchess.chess.planes import NUM_PLANES, num_planes
from vecchess.errors import ConfigError
from vecchess.inference.backend_registry import open_backend
from vecchess.inference.engine import SlotEngine
from vecchess.inference.requests import Requests
from vecchess.inference.tune.step_traces import record_steps
from vecchess.snn.initialise import new_network
from vecchess.snn.integer.integer_net import ExitRule, IntegerNet
from vecchess.snn.modules.network import unpack_bitboards
from vecchess.snn.presets import NetConfig

RUY = ["e2e4", "e7e5", "g1f3", "b8c6", "f1b5"]
PLACES = [
    (STARTPOS, []),
    (STARTPOS, RUY),
    ("8/5k2/8/8/4K3/8/3P4/8 b - - 3 60", []),
    (STARTPOS, ["g1f3", "g8f6", "f3g1", "f6g8"]),
]
RESIDUAL = NetConfig(num_planes=NUM_PLANES, blocks=2, channels=32, time_steps=4)
GRADED = RESIDUAL.model_copy(update={"readout": "graded"})
CODED = {"kind": "plain", "widths": (32, 32), "time_steps": 5, "input_rate": 8}
PLAIN = NetConfig.model_validate({"num_planes": NUM_PLANES, **CODED})
TWIN = NetConfig(num_planes=NUM_PLANES, blocks=1, channels=32, neuron="relu", time_steps=1)


def network(config: NetConfig) -> IntegerNet:
    return new_network(config, 3, random_positions(16, 1)[0][:, : config.num_planes])


def questions(planes: int = NUM_PLANES) -> list[Requests]:
    return [request_at(position_reached(*place), planes) for place in PLACES]


KINDS = {"residual": RESIDUAL, "graded": GRADED, "plain": PLAIN, "relu": TWIN}


@pytest.mark.parametrize("config", KINDS.values(), ids=KINDS)
def test_accumulators_are_those_of_the_backend_at_every_step(config: NetConfig) -> None:
    net = network(config)
    observer, steps = SpikeTracer(net), config.time_steps
    for question in questions():
        seen = observer.look(question)
        theirs = record_steps(lambda rule: open_backend("cpu", net, 1, rule), question, steps)
        assert np.array_equal(seen.policy, theirs.policy[:, 0])
        assert np.array_equal(seen.wdl, theirs.wdl[:, 0])


@pytest.mark.parametrize(
    "rule", [ExitRule(), ExitRule.never(), ExitRule(1, 300, False)], ids=["stable", "never", "sure"]
)
def test_a_position_leaves_when_the_backend_lets_it_go(rule: ExitRule) -> None:
    net = network(RESIDUAL)
    stored = IntegerNet(
        net.config, net.layers, net.policy_scale, net.value_scale, rule.to_metadata()
    )
    observer = SpikeTracer(stored)
    for question in questions():
        engine = SlotEngine(open_backend("cpu", stored, 1), question)
        engine.submit(np.zeros(1, np.int32))
        while not engine.is_idle:
            engine.step()
        seen = observer.look(question)
        assert seen.steps == question.steps[0]
        assert np.array_equal(seen.wdl[seen.steps - 1], question.wdl[0])


@pytest.mark.parametrize("config", [RESIDUAL, GRADED], ids=["spikes", "graded"])
def test_spikes_are_those_of_snntorch(config: NetConfig) -> None:
    net = network(config)
    peer, observer = SnntorchLoop(net), SpikeTracer(net)
    fired: list[list[Tensor]] = [[] for _ in peer.neurons]
    for neuron, spikes in zip(peer.neurons, fired, strict=True):
        neuron.register_forward_hook(
            lambda module, inputs, output, kept=spikes: kept.append(output[0])
        )
    total = 0
    for question in questions():
        for spikes in fired:
            spikes.clear()
        with torch.no_grad():
            peer(unpack_bitboards(torch.from_numpy(question.planes)).permute(0, 3, 1, 2))
        seen = observer.look(question)
        assert [layer.name for layer in seen.layers] == [
            "block0.first", "block0.second", "block1.first", "block1.second", "heads",
            "value.outcome",
        ]  # fmt: skip
        for layer, spikes in zip(seen.layers, fired, strict=True):
            counts = torch.stack(spikes)[:, 0].count_nonzero(1).flatten(1).numpy()
            assert np.array_equal(layer.counts, counts)
            assert layer.channels == spikes[0].shape[1]
            neurons = spikes[0][0].numel()
            assert np.array_equal(layer.shares, counts.sum(1) / neurons)
            total += int(counts.sum())
    assert total > 0, "a silent network shows nothing"


def test_a_network_without_spikes_has_no_layers() -> None:
    seen = SpikeTracer(network(TWIN)).look(questions()[0])
    assert seen.layers == []
    assert seen.policies.shape == (1, 20)
    assert np.allclose(seen.outlooks.sum(1), 1)


def test_a_network_sees_the_moves_that_led_there() -> None:
    config = NetConfig(num_planes=num_planes(3), blocks=1, channels=32, time_steps=4)
    rng: Any = np.random.default_rng(1)
    net = new_network(config, 1, rng.integers(0, 2**63, (16, config.num_planes)).astype(np.uint64))
    board = chess.Board()
    for uci in RUY:
        board.push_uci(uci)
    without, after = (
        request_at(position_reached(*place), num_planes(3))
        for place in [(board.fen(), []), (STARTPOS, RUY)]
    )
    assert (without.planes[0, NUM_PLANES:] == 0).all()
    assert (after.planes[0, NUM_PLANES:] != 0).any()
    looks = [SpikeTracer(net).look(question) for question in (without, after)]
    assert not np.array_equal(looks[0].policy, looks[1].policy)


def test_nothing_is_asked_where_nothing_can_be_moved() -> None:
    with pytest.raises(ConfigError, match="without a legal move"):
        request_at(position_reached(STARTPOS, ["f2f3", "e7e5", "g2g4", "d8h4"]), NUM_PLANES)
