"""Where figures go on an axis, and which of them are written beside it."""

import math
from dataclasses import dataclass

NICE = (1, 2, 2.5, 5, 10)
LEAST = 1e-290
"""What is less apart is the same: far below it floats have no powers of ten."""


@dataclass(frozen=True)
class Scale:
    """Figures from ``low`` to ``high`` laid out from ``start`` to ``end``, in the units of a
    picture."""

    low: float
    high: float
    start: float
    end: float

    def place(self, value: float) -> float:
        """Where ``value`` is."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int) -> list[float]:
        """Round figures within the bounds, about so many."""
        step = nice_step(self.high - self.low, most)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]


def nice_step(span: float, most: int) -> float:
    """A round step that is taken at most so many times in ``span``."""
    rough = span / max(most, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    return next(nice * power for nice in NICE if nice * power >= rough * (1 - 1e-9))


def bounds(values: list[float], from_zero: bool, ticks: int = 4) -> tuple[float, float]:
    """Round bounds that hold ``values``; 0 is one where ``from_zero``, or where it is not far."""
    low, high = min(values), max(values)
    if low > 0 and (from_zero or low < high / 2):
        low = 0.0
    if high - low < LEAST:
        low, high = (0.0, 2 * high) if high > LEAST else (low - 1, high + 1)
    step = nice_step(high - low, ticks)
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step


def figure(value: float, unit: str = "") -> str:
    """A figure for an axis or a legend: 97 %, 9.4k, 0.081."""
    if unit == "share":
        digits = 0 if abs(value) >= 0.1 or value == 0 else 1
        return f"{100 * value:.{digits}f}\u202f%"
    if value == 0:
        return "0"
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 10 * size or (abs(value) >= size and letter != "k"):
            return f"{value / size:.3g}{letter}"
    if abs(value) >= 100 or value == int(value):
        return f"{value:.0f}"
    return f"{value:.3g}" if abs(value) >= 1e-4 else f"{value:.1e}"
