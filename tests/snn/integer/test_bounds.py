"""The exactness proof: never below what happens, and refusing what it must refuse."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.snn.positions import NUM_PLANES, random_positions
from vecchess.chess.planes import num_planes
from vecchess.errors import NetworkError
from vecchess.snn.create import create_sized
from vecchess.snn.initialise import new_network
from vecchess.snn.integer.bounds import EXACT_LIMIT, _membrane, check_bounds
from vecchess.snn.integer.integer_net import IntegerNet, Layer, move_currents
from vecchess.snn.presets import NetConfig
from vecchess.snn.topology import MOVES

CONFIG = NetConfig(num_planes=NUM_PLANES, blocks=1, channels=32, time_steps=4)


def _net() -> IntegerNet:
    return new_network(CONFIG, 1, random_positions(16, 1)[0])


def _with(net: IntegerNet, name: str, layer: Layer) -> IntegerNet:
    return replace(net, layers=net.layers | {name: layer})


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-60_000, 60_000), min_size=4, max_size=4), st.integers(1, 60_000))
def test_membrane_bound_holds(currents: list[int], reach: int) -> None:
    low, high = min(*currents, -reach), max(*currents, reach)
    bounds: list = []
    _membrane(CONFIG, "x", (np.array([low]), np.array([high])), bounds)
    membrane = 0
    for current in currents:
        limit = 1 << 13 << (membrane > 1 << 13)
        membrane = (membrane >> 1) + current
        assert abs(membrane) <= bounds[0].bound
        assert abs(membrane - limit) <= bounds[0].bound
        membrane -= (membrane > limit) << 13


def test_stem_bound_is_reached_by_its_worst_input() -> None:
    net = _net()
    stem = net.layers["stem"]
    bound = next(
        b for b in check_bounds(net).bounds if (b.layer, b.quantity) == ("stem", "current")
    )
    weight = stem.weight[bound.channel].astype(int)
    scale, bias = 1 << (13 - int(stem.shift[bound.channel])), int(stem.bias[bound.channel]) << 3
    high = weight[weight > 0].sum() * scale + max(bias, 0)
    low = weight[weight < 0].sum() * scale + min(bias, 0)
    assert bound.bound == max(high, -low)


def test_network_out_of_range_is_refused_by_name() -> None:
    net = _net()
    layer = net.layers["block0.second"]
    bias = layer.bias.copy()
    bias[17] = EXACT_LIMIT >> 3
    broken = _with(net, "block0.second", Layer(layer.weight, layer.shift, bias))
    assert not check_bounds(broken).exact
    with pytest.raises(NetworkError, match=r"layer heads, channel 17, can reach \d+"):
        check_bounds(broken).require_exact()


def _with_biases(policy: int, moves: int) -> IntegerNet:
    """A network that reads inputs of moves, exact where the biases are small."""
    sizes = {"num_planes": num_planes(moves=True), "time_steps": 2}
    net = create_sized(CONFIG.model_copy(update=sizes), 1)
    for name, bias in (("policy", policy), (MOVES, moves)):
        layer = net.layers[name]
        net = _with(net, name, replace(layer, bias=np.full_like(layer.bias, bias)))
    return net


@pytest.mark.parametrize("moves", [1 << 29, 1 << 28, -(1 << 28), EXACT_LIMIT >> 3])
def test_inputs_of_moves_are_bounded_before_they_are_narrowed(moves: int) -> None:
    """int32 would make 0 of 2^29 units of 2^-10 on the grid of 2^-13."""
    net = _with_biases(0, moves)
    of_moves = move_currents(net)
    assert of_moves.min() == of_moves.max() == moves << 3
    report = check_bounds(net)
    assert report.largest("current", lambda layer: layer == MOVES) == abs(moves) << 3
    assert not report.exact


def test_the_policy_is_bounded_with_and_without_inputs_of_moves() -> None:
    """Backends add them first or last."""
    half = EXACT_LIMIT >> 5
    assert check_bounds(_with_biases(half, -half)).exact
    assert not check_bounds(_with_biases(2 * half, -half)).exact


def test_sums_beyond_int16_are_noticed() -> None:
    net = _net()
    assert check_bounds(net).int16_sums
    layer = net.layers["block0.first"]
    heavy = Layer(np.full_like(layer.weight, 127), np.full_like(layer.shift, 10), layer.bias)
    report = check_bounds(_with(net, "block0.first", heavy))
    assert report.exact
    assert not report.int16_sums
