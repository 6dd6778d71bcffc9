"""Round figures for the axes of charts, whichever program draws them."""

import math

NICE = (1, 2, 2.5, 5, 10)
LEAST = 1e-290
"""Values that differ by less count as equal: far below, floats have no powers of ten."""


def ticks(low: float, high: float, most: int) -> list[float]:
    """Round figures from ``low`` to ``high``, about ``most`` of them."""
    step = nice_step(high - low, most)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def nice_step(span: float, most: int) -> float:
    """A round step that fits into ``span`` at most ``most`` times."""
    rough = span / max(most, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    return next(nice * power for nice in NICE if nice * power >= rough * (1 - 1e-9))


def bounds(values: list[float], from_zero: bool, most: int = 4) -> tuple[float, float]:
    """Round bounds that hold ``values``, with about ``most`` ticks between; 0 is one of them where
    ``from_zero``, and where the smallest value is less than half the largest."""
    low, high = min(values), max(values)
    if low > 0 and (from_zero or low < high / 2):
        low = 0.0
    if high - low < LEAST:
        low, high = (0.0, 2 * high) if high > LEAST else (low - 1, high + 1)
    step = nice_step(high - low, most)
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step


def format_figure(value: float, unit: str = "") -> str:
    """A figure for an axis or a legend: 97 %, 9.4k, 0.081. ``unit``: "share" of 1, or ""."""
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
