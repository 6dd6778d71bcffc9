"""New networks: alive, not saturated, the same on every machine, saying something."""

import numpy as np
import pytest
import torch

from tests.snn.positions import NUM_PLANES, random_positions
from vecchess.errors import ConfigError
from vecchess.snn.initialise import bell_weights, new_network
from vecchess.snn.integer.bounds import check_bounds
from vecchess.snn.modules.network import SpikingNet, unpack_bitboards
from vecchess.snn.presets import PRESETS, preset
from vecchess.snn.torch_integer import from_integers

SLOW = pytest.mark.slow
ALIVE = (0.02, 0.40)


def _rates(module: SpikingNet, count: int) -> list[float]:
    planes, _ = random_positions(count, seed=2)
    with torch.no_grad():
        return [float(rate) for rate in module(unpack_bitboards(torch.from_numpy(planes))).rates]


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("tiny", 0),
        ("tiny", 1),
        ("small", 0),
        *[pytest.param(name, 2, marks=SLOW) for name in PRESETS],
        *[pytest.param(name, seed, marks=SLOW) for name in ("tiny", "small") for seed in (3, 4, 5)],
    ],
)
def test_no_layer_is_dead_or_saturated(name: str, seed: int) -> None:
    planes, _ = random_positions(64 if name in ("tiny", "small") else 12, seed=1)
    net = new_network(preset(name, NUM_PLANES), seed, planes)
    assert check_bounds(net).exact
    assert check_bounds(net).int16_sums
    assert net.config.leak_exact
    rates = _rates(from_integers(net).eval(), 12)
    assert len(rates) == 2 * net.config.blocks + 2
    assert all(ALIVE[0] < rate < ALIVE[1] for rate in rates), rates


@pytest.mark.parametrize("name", ["tiny", "small", pytest.param("base", marks=SLOW)])
def test_untrained_module_is_alive_too(name: str) -> None:
    torch.manual_seed(0)
    module = SpikingNet(preset(name, NUM_PLANES)).train()
    assert all(ALIVE[0] < rate < ALIVE[1] for rate in _rates(module, 24))


def test_same_seed_same_bits_and_the_bits_are_known() -> None:
    planes, _ = random_positions(64, seed=1)
    first, again = (new_network(preset("tiny", NUM_PLANES), 7, planes) for _ in range(2))
    assert first.sha256 == again.sha256
    assert first.sha256.startswith("2a2b0438e4a240fc")
    four_steps = first.config.model_copy(update={"time_steps": 4})
    assert new_network(four_steps, 7, planes).sha256.startswith("b3e2d70d6f078238")
    spikes = four_steps.model_copy(update={"readout": "spikes"})
    assert new_network(spikes, 7, planes).sha256.startswith("9c32e667069d4482")
    assert new_network(preset("tiny", NUM_PLANES), 8, planes).sha256 != first.sha256
    assert bell_weights(7, 3, (2, 3)).tolist() == [[107, 97, -72], [247, 76, 61]]


def test_policy_says_something_and_value_stays_near_even() -> None:
    planes, _ = random_positions(64, seed=1)
    seen, legal = random_positions(48, seed=2)
    net = new_network(preset("tiny", NUM_PLANES), 7, planes)
    with torch.no_grad():
        output = from_integers(net).eval()(unpack_bitboards(torch.from_numpy(seen)))
    unit = 2.0**net.config.grid_bits / net.config.time_steps
    policy = output.policy[-1].numpy() * unit * net.policy_scale
    spread = [policy[i, moves].std() for i, moves in enumerate(legal) if len(moves) > 5]
    assert 0.3 < np.mean(spread) < 1.3
    wdl = output.wdl[-1].numpy() * unit * net.value_scale
    assert 0.05 < wdl.std() < 0.8


def test_wrong_planes_and_names_are_refused() -> None:
    planes, _ = random_positions(8, seed=1)
    with pytest.raises(ConfigError, match="no network preset 'huge'"):
        preset("huge", NUM_PLANES)
    with pytest.raises(ConfigError, match="planes"):
        new_network(preset("tiny", NUM_PLANES + 1), 1, planes)
