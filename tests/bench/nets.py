"""A small network on vecchess's planes, for the benchmarks' tests."""

from functools import cache

import numpy as np

from vecchess.chess.planes import NUM_PLANES
from vecchess.inference.requests import Requests
from vecchess.selfplay.worker.random_requests import random_requests
from vecchess.snn.create import create_sized
from vecchess.snn.integer.integer_net import IntegerNet, Layer
from vecchess.snn.presets import NetConfig

SMALL = NetConfig(num_planes=NUM_PLANES, blocks=2, channels=32, value_channels=4, time_steps=4)


@cache
def small_net(readout: str = "spikes") -> IntegerNet:
    """Two blocks of 32 channels."""
    return create_sized(SMALL.model_copy(update={"readout": readout}), 3)


@cache
def questions() -> Requests:
    """24 of them; not to be answered in place."""
    return random_requests(24, 5)


def with_bias(net: IntegerNet, name: str, bias: int) -> IntegerNet:
    """``net`` with every bias of layer ``name`` set (units 2^-weight_bits)."""
    layer = net.layers[name]
    changed = Layer(layer.weight, layer.shift, np.full_like(layer.bias, bias))
    return IntegerNet(net.config, net.layers | {name: changed}, net.policy_scale, net.value_scale)
