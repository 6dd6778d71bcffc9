"""Peers compute our network: to the bit, or with our neuron in place of theirs."""

import sys

import pytest
import snntorch
import torch
from bench.peers import open_peers as peers
from bench.peers.agreement import STATISTICS, compare
from bench.peers.peer import Peer
from bench.peers.relu_tower import ReluTower
from bench.peers.snntorch_loop import SnntorchLoop
from bench.peers.spikingjelly_layers import SpikingjellyLayers

from tests.bench.nets import questions, small_net, with_bias
from vecchess.bench.entrants import reference_answers
from vecchess.bench.inference import BITS
from vecchess.errors import NetworkError, VecchessError
from vecchess.snn.create import create_twin
from vecchess.snn.integer.integer_net import ExitRule, IntegerNet
from vecchess.snn.presets import NetConfig


def questions_for(net: IntegerNet) -> peers.Questions:
    expected = reference_answers(net, questions(), ExitRule.never())
    return peers.Questions(net, questions(), expected, "cpu")


def settled(name: str, module: torch.nn.Module, asked: peers.Questions, batch: int) -> Peer:
    peer = asked.entrant(name, module)
    peer.settle(batch, "NHWC")
    return peer


READOUTS = pytest.mark.parametrize("readout", ["spikes", "graded"])


@pytest.mark.thorough
@pytest.mark.thorough
@READOUTS
@pytest.mark.parametrize("batch", [1, 7, 24])
def test_the_snntorch_loop_gives_our_bits_in_any_batch(batch: int, readout: str) -> None:
    asked = questions_for(small_net(readout))
    peer = settled("snntorch", SnntorchLoop(asked.net), asked, batch)
    assert asked.agreement(peer).agrees == BITS
    assert peer.turn() == (batch, 4 * batch)


def test_snntorch_forgets_our_neurons() -> None:
    before = list(snntorch.SpikingNeuron.instances)
    SnntorchLoop(small_net())
    assert before == snntorch.SpikingNeuron.instances


@pytest.mark.slow
def test_the_compiled_loop_gives_our_bits() -> None:
    asked = questions_for(small_net())
    module = SnntorchLoop(small_net())
    module.compile(dynamic=False)
    assert asked.agreement(settled("compiled", module, asked, 8)).agrees == BITS


@READOUTS
def test_spikingjelly_gives_our_bits_with_our_neuron(readout: str) -> None:
    pytest.importorskip("spikingjelly")
    asked = questions_for(small_net(readout))
    bits = asked.net.config.grid_bits
    wired = SpikingjellyLayers(asked.net, neuron=lambda: peers.OurNeuron(bits))
    assert asked.agreement(settled("wired", wired, asked, 7)).agrees == BITS
    stock = asked.agreement(settled("stock", SpikingjellyLayers(asked.net), asked, 24))
    assert stock.agrees == STATISTICS
    assert 0 <= stock.best_move <= 1


def test_the_relu_twin_in_torch_answers_nearly_alike() -> None:
    asked = questions_for(create_twin(small_net().config, 0))
    agreement = asked.agreement(settled("relu", ReluTower(asked.net), asked, 24))
    assert agreement.best_move > 0.7
    assert agreement.deviation < 0.1


def test_a_peer_that_answers_differently_is_refused() -> None:
    other = SnntorchLoop(with_bias(small_net(), "policy", 1))
    with pytest.raises(VecchessError, match="answers differently"):
        peers.require_wired("snntorch", other, questions_for(small_net()))


def test_peers_that_are_not_there_are_named_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spikingjelly.activation_based", None)
    found = peers.OpenedPeers()
    found.add("spikingjelly", lambda: peers._spikingjelly(questions_for(small_net())))
    assert found.entrants == []
    assert "pip install" in found.missing["spikingjelly"]


def test_peers_are_for_towers() -> None:
    plain = NetConfig(num_planes=25, kind="plain", widths=(32,), time_steps=4)
    net = IntegerNet(plain, {}, 1.0, 1.0)
    with pytest.raises(NetworkError, match="residual"):
        SnntorchLoop(net)


def test_agreement_looks_at_legal_moves_only() -> None:
    expected = reference_answers(small_net(), questions(), ExitRule.never())
    policy, wdl = torch.zeros(24, 4672), torch.zeros(24, 3)
    unit = 2.0**-13
    for row in range(24):
        count = expected.num_legal[row]
        legal = expected.legal[row, :count].astype(int)
        policy[row, legal] = torch.from_numpy(expected.policy[row, :count] * unit).float()
        wdl[row] = torch.from_numpy(expected.wdl[row] * unit)
    assert compare(policy.numpy(), wdl.numpy(), unit, expected).agrees == BITS
    illegal = next(a for a in range(4672) if a not in expected.legal[0])
    policy[0, illegal] = 9.0
    assert compare(policy.numpy(), wdl.numpy(), unit, expected).agrees == BITS
    policy[0, int(expected.legal[0, 0])] += unit
    assert compare(policy.numpy(), wdl.numpy(), unit, expected).agrees == STATISTICS
