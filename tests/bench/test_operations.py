"""Counts against hand computations, and the roofline against sums done by hand."""

from dataclasses import replace

import numpy as np
import pytest
from bench.peers.machine_limits import Ceilings
from bench.peers.operations import (
    LayerWork,
    Work,
    count_work,
    dense_energy_proxy,
    energy_proxy,
)
from bench.peers.roofline import Traffic, count_traffic, least_seconds, membrane_bytes

from tests.bench.nets import questions, small_net, with_bias

REACHED = 22 * 22
"""Pairs of a square and a neighbour on the board, itself included: (2 + 6 * 3 + 2)^2."""


def by_name(work: Work) -> dict[str, LayerWork]:
    return {layer.name: layer for layer in work.layers}


def test_neurons_that_always_fire_are_heard_everywhere() -> None:
    net = with_bias(small_net(), "stem", 1 << 14)  # x0 of about 16: over any threshold
    work = count_work(net, questions())
    assert work.spike_rates["block0.first"] == 1.0
    assert by_name(work)["block0.first"].synaptic_ops == (REACHED * 32 * 32,) * 4


def test_neurons_that_never_fire_cost_nothing() -> None:
    work = count_work(with_bias(small_net(), "stem", -(1 << 14)), questions())
    assert work.spike_rates["block0.first"] == 0.0
    assert by_name(work)["block0.first"].synaptic_ops == (0.0,) * 4


def test_the_first_layer_hears_the_planes() -> None:
    planes = questions().planes
    reached = np.array([(2 + (0 < r < 7)) * (2 + (0 < f < 7)) for r in range(8) for f in range(8)])
    bits = (planes[:, :, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    by_hand = (bits * reached.astype(np.uint64)).sum() * 32 / len(planes)
    stem = by_name(count_work(small_net(), questions()))["stem"]
    assert stem.once
    assert stem.synaptic_ops == pytest.approx((float(by_hand),), rel=1e-12)


@pytest.mark.parametrize("readout", ["spikes", "graded"])
def test_heads_hear_every_spike_once(readout: str) -> None:
    work = count_work(small_net(readout), questions())
    layers, rates = by_name(work), work.spike_rates
    policy, outcome = rates["heads"] * 64 * 32 * 73, rates["value.outcome"] * 256 * 3
    assert layers["policy"].accumulates(4) == pytest.approx(4 * policy)
    assert layers["value.outcome"].accumulates(4) == pytest.approx(4 * outcome)
    graded = {name for name, layer in layers.items() if layer.multiplies}
    assert graded == ({"policy", "value.squeeze"} if readout == "graded" else set())
    assert layers["policy"].macs == 64 * 73 * 32
    assert layers["value.outcome"].macs == 3 * 256
    assert layers["block1.second"].macs == 64 * 9 * 32 * 32


TWO = Work(
    (
        LayerWork("stem", (100.0,), macs=1000, weight_bytes=50, once=True),
        LayerWork("block0.first", (100.0, 200.0, 300.0), macs=400, weight_bytes=80, once=False),
    ),
    {"block0.first": 0.1},
)


def test_energy_is_counted_as_papers_count_it() -> None:
    assert TWO.synaptic_ops(3) == 100 + 100 + 200 + 300
    assert TWO.synaptic_ops(1.5) == 100 + 100 + 0.5 * 200
    assert TWO.macs(3) == 1000 + 3 * 400
    assert energy_proxy(TWO, 3) == pytest.approx(0.7 * 0.9)
    graded = Work((TWO.layers[0], replace(TWO.layers[1], multiplies=True)), TWO.spike_rates)
    assert energy_proxy(graded, 3) == pytest.approx(0.1 * 0.9 + 0.6 * 4.6)
    assert dense_energy_proxy(TWO) == pytest.approx((100 * 0.9 + 400 * 4.6) / 1000)


def test_a_layer_takes_the_longer_of_arithmetic_and_memory() -> None:
    traffic = Traffic({"stem": 5.0, "block0.first": 8.0}, {"block0.first": 1000.0})
    ceilings = Ceilings(
        int8_ops_per_s=1000.0, fp32_ops_per_s=1.0, int16_adds_per_s=100.0, bytes_per_s=100.0
    )
    # stem: 1 s of additions (2 s dense); then 3 steps of 0.8 s dense (2 s of additions)
    assert least_seconds(TWO, traffic, ceilings, 3, in_slots=False) == pytest.approx(1 + 3 * 0.8)
    assert least_seconds(TWO, traffic, ceilings, 3, in_slots=True) == pytest.approx(1 + 3 * 10.08)
    dense = Ceilings(1000.0, 1.0, 0.0, 100.0)
    assert least_seconds(TWO, traffic, dense, 1, in_slots=False) == pytest.approx(2 + 0.8)


def test_slots_carry_their_membranes_to_memory_and_back() -> None:
    net = small_net()
    traffic = count_traffic(net, count_work(net, questions()), num_slots=4)
    width = membrane_bytes(net)
    tower = 5 * 64 * 32 * 2 * width + 64 * 4 * 2 * width
    assert sum(traffic.state.values()) == tower + 64 * 32 * 4
    assert traffic.weights["block0.first"] == 9 * 32 * 32 / 4


def test_every_state_is_paid_for_by_a_layer() -> None:
    net = small_net()
    work = count_work(net, questions())
    traffic = count_traffic(net, work, num_slots=1 << 30)
    slow_memory = Ceilings(1e30, 1.0, 0.0, 1.0)
    assert least_seconds(work, traffic, slow_memory, 1, in_slots=True) == pytest.approx(
        sum(traffic.state.values()), rel=1e-3
    )
