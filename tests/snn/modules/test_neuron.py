"""The neuron against its definition, snntorch.Leaky, and against integers."""

import numpy as np
import pytest
import snntorch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vecchess.snn.initialise import neuron_outputs
from vecchess.snn.modules.neuron import lif_step, lif_steps, quantise
from vecchess.snn.presets import NetConfig

CONFIG = NetConfig(num_planes=4, blocks=1, channels=32, time_steps=4)


def _currents(seed: int, steps: int, limit: int) -> np.ndarray:
    """int64[steps, 200] multiples of 2^-10 in units of 2^-13."""
    return np.random.default_rng(seed).integers(-limit, limit, (steps, 200)) * 8


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32), limit=st.sampled_from([1500, 20_000, 200_000]))
def test_equals_snntorch_bit_for_bit(seed: int, limit: int) -> None:
    currents = torch.tensor(_currents(seed, 4, limit) * 2.0**-13, dtype=torch.float32)
    oracle = snntorch.Leaky(beta=0.5, threshold=1.0, reset_mechanism="subtract", reset_delay=False)
    expected_membrane = torch.zeros(200)
    membrane = torch.zeros(200)
    for current in currents:
        expected_spikes, expected_membrane = oracle(current, expected_membrane)
        spikes, membrane = lif_step(membrane, current, grid_bits=13)
        assert torch.equal(spikes, expected_spikes)
        assert torch.equal(membrane, expected_membrane)


def test_membrane_left_above_threshold_raises_the_next_threshold() -> None:
    currents = torch.tensor([[3.0, 3.0, 0.875], [0.5, 1.5, 0.875]])
    spikes, membrane = lif_steps(currents, torch.zeros(3), 13)
    assert spikes.tolist() == [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]
    assert membrane.tolist() == [1.5, 1.5, 0.3125]


@pytest.mark.parametrize("steps", [4, 12])
def test_integers_equal_floats_with_and_without_floor(steps: int) -> None:
    currents = _currents(5, steps, 3000)
    floats = torch.tensor(currents * 2.0**-13, dtype=torch.float32)
    spikes, _ = lif_steps(floats, torch.zeros(200), grid_bits=13)
    assert np.array_equal(spikes.numpy(), neuron_outputs(CONFIG, currents, "heads"))
    assert 0 < spikes.mean() < 1


def test_threshold_itself_does_not_fire() -> None:
    spikes, membrane = lif_step(torch.zeros(2), torch.tensor([1.0, 1.0 + 2.0**-13]), 13)
    assert spikes.tolist() == [0.0, 1.0]
    assert membrane.tolist() == [1.0, 2.0**-13]


def test_gradients_pass_spike_leak_and_rounding() -> None:
    current = torch.tensor([0.9, -3.0], requires_grad=True)
    lif_steps(torch.stack([current, current]), torch.zeros(2), 13)[0].sum().backward()
    assert current.grad is not None
    assert (current.grad > 0).all()
    weight = torch.tensor([0.3], requires_grad=True)
    quantise(weight, torch.tensor(4.0), 127.0).sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [1.0]


def test_leak_is_exact_for_presets_and_said_not_to_be_beyond() -> None:
    assert CONFIG.leak_exact
    assert not CONFIG.model_copy(update={"time_steps": 5}).leak_exact
