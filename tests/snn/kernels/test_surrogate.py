"""Surrogates against the libraries whose names and formulas they carry."""

from collections.abc import Callable

import numpy as np
import pytest
import snntorch.surrogate
import torch

from vecchess.snn.kernels.surrogate import SURROGATES
from vecchess.snn.modules.neuron import lif_step

EXCESS = torch.tensor([-40.0, -2.0, -0.7, -0.3, -0.01, 0.0, 0.004, 0.2, 0.49, 0.9, 1.1, 30.0])


def _derivative(spike: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    excess = EXCESS.clone().requires_grad_()
    spike(excess).sum().backward()
    assert excess.grad is not None
    return excess.grad


@pytest.mark.parametrize("name", ["atan", "fast_sigmoid", "sigmoid"])
def test_equals_snntorch(name: str) -> None:
    peer = _derivative(getattr(snntorch.surrogate, name)())
    ours = SURROGATES[name].derivative(EXCESS)
    known = ~peer.isnan()  # snntorch's sigmoid overflows
    assert known.sum() >= 11
    assert torch.allclose(ours[known], peer[known], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("name", "peer"), [("triangle", "PiecewiseQuadratic"), ("rectangle", "Rect")]
)
def test_equals_spikingjelly(name: str, peer: str) -> None:
    surrogate = pytest.importorskip("spikingjelly.activation_based.surrogate")
    expected = _derivative(getattr(surrogate, peer)())
    assert torch.allclose(SURROGATES[name].derivative(EXCESS), expected, atol=1e-6)


@pytest.mark.parametrize("name", SURROGATES)
def test_neuron_uses_it_and_it_has_its_top_at_the_threshold(name: str) -> None:
    surrogate = SURROGATES[name]
    ours = _derivative(lambda u: lif_step(torch.zeros(12), u + 1, 20, surrogate)[0])
    assert torch.allclose(ours, surrogate.derivative(EXCESS), rtol=1e-3, atol=1e-5)
    values = surrogate.derivative(EXCESS).numpy()
    assert values.max() == values[5]
    assert np.isfinite(values).all()
