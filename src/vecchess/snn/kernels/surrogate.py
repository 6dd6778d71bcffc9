"""Surrogate gradients, which replace the derivative of a spike, by name.

u is the charge above the threshold, alpha the slope. Names, formulas and default slopes are those
of other libraries, so that their settings can be used here.

    atan          alpha / 2 / (1 + (pi/2 alpha u)^2)      alpha  2  snntorch; Fang 2021, eq. 9
    fast_sigmoid  1 / (1 + alpha |u|)^2                   alpha 25  snntorch; Zenke, Ganguli 2018
    sigmoid       alpha e / (1 + e)^2, e = exp(-alpha u)  alpha 25  snntorch
    triangle      alpha max(0, 1 - alpha |u|)             alpha  1  spikingjelly PiecewiseQuadratic
    rectangle     alpha where |u| < 1 / (2 alpha)         alpha  1  spikingjelly Rect; Wu 2018
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vecchess.errors import ConfigError
from vecchess.jit import inline

DEFAULT_SURROGATE = "atan"
ATAN, FAST_SIGMOID, SIGMOID, TRIANGLE, RECTANGLE = range(5)
_ONE = np.float32(1)
_HALF = np.float32(0.5)


@dataclass(frozen=True)
class Surrogate:
    """A surrogate; kernels get its ``number``."""

    name: str
    number: int
    slope: float
    formula: Callable[[Tensor, float], Tensor]

    def derivative(self, excess: Tensor) -> Tensor:
        """The derivative of the spike by ``excess``, the charge above the threshold; its shape."""
        return self.formula(excess, self.slope)


def _atan(excess: Tensor, slope: float) -> Tensor:
    return slope / 2 / (1 + (torch.pi / 2 * slope * excess) ** 2)


def _fast_sigmoid(excess: Tensor, slope: float) -> Tensor:
    return 1 / (1 + slope * excess.abs()) ** 2


def _sigmoid(excess: Tensor, slope: float) -> Tensor:
    falling = torch.exp(-slope * excess.abs())  # symmetric, and this side cannot overflow
    return slope * falling / (1 + falling) ** 2


def _triangle(excess: Tensor, slope: float) -> Tensor:
    return slope * (1 - slope * excess.abs()).clamp(min=0)


def _rectangle(excess: Tensor, slope: float) -> Tensor:
    return slope * (excess.abs() < 0.5 / slope).to(excess.dtype)


SURROGATES = {
    surrogate.name: surrogate
    for surrogate in (
        Surrogate("atan", ATAN, 2.0, _atan),
        Surrogate("fast_sigmoid", FAST_SIGMOID, 25.0, _fast_sigmoid),
        Surrogate("sigmoid", SIGMOID, 25.0, _sigmoid),
        Surrogate("triangle", TRIANGLE, 1.0, _triangle),
        Surrogate("rectangle", RECTANGLE, 1.0, _rectangle),
    )
}
"""Name -> surrogate."""


def surrogate_named(name: str) -> Surrogate:
    """Raises ``ConfigError`` that lists the known names for one that is not among them."""
    if name not in SURROGATES:
        raise ConfigError(f"no surrogate '{name}'; there are {', '.join(SURROGATES)}")
    return SURROGATES[name]


@inline
def write_derivatives(number: Any, slope: Any, excess: Any, out: Any) -> None:
    """``derivative`` of a row of neurons: excess, out float32[N]; slope float32."""
    if number == ATAN:
        half, steep = slope * _HALF, np.float32(np.pi / 2) * slope
        for i in range(excess.shape[0]):
            x = steep * excess[i]
            out[i] = half / (_ONE + x * x)
    elif number == FAST_SIGMOID:
        for i in range(excess.shape[0]):
            x = _ONE + slope * abs(excess[i])
            out[i] = _ONE / (x * x)
    elif number == SIGMOID:
        for i in range(excess.shape[0]):
            falling = np.exp(-slope * abs(excess[i]))
            x = _ONE + falling
            out[i] = slope * falling / (x * x)
    elif number == TRIANGLE:
        for i in range(excess.shape[0]):
            out[i] = slope * max(_ONE - slope * abs(excess[i]), np.float32(0))
    else:
        for i in range(excess.shape[0]):
            out[i] = slope if abs(excess[i]) < _HALF / slope else np.float32(0)
