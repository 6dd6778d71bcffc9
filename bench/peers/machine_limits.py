"""Measured upper limits of this machine, independent of networks."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from time import perf_counter

import numpy as np
import torch

from vecchess.jit import kernel

L1_VALUES = 8192
"""int16 values that fit the first-level cache twice."""
COPIED_BYTES = 1 << 27
"""More than a core's share of the last-level cache."""
REPEATS = 5


@dataclass(frozen=True)
class Ceilings:
    """Operations and bytes per second; 0 for operations that the device is not used for.

    A multiply-accumulate counts as two operations, an addition as one, a copied byte as two (it is
    read and written).
    """

    int8_ops_per_s: float
    """Dense int8 matrix product with int32 sums, ``torch._int_mm``."""
    fp32_ops_per_s: float
    """Dense float32 matrix product, as peers use it."""
    int16_adds_per_s: float
    """Additions of int16 vectors from the first-level cache, as event-driven kernels use them."""
    bytes_per_s: float
    """Copying memory, read and write."""

    def highest(self, other: "Ceilings") -> "Ceilings":
        """The higher of each: a limit measured on a busy machine is too low."""
        names = [field.name for field in fields(self)]
        return Ceilings(**{name: max(getattr(self, name), getattr(other, name)) for name in names})

    def to_dict(self) -> dict[str, float]:
        """For JSON."""
        return asdict(self)


def measure_ceilings(device: str, threads: int) -> Ceilings:
    """Limits of ``device`` ("cpu" or "cuda:<n>"); torch must be set to ``threads`` threads."""
    on_cpu = device == "cpu"
    size = 1024 if on_cpu else 8192
    ops = 2 * size**3
    return Ceilings(
        int8_ops_per_s=ops / _fastest(_int8_product(size, device), device),
        fp32_ops_per_s=ops / _fastest(_fp32_product(size, device), device),
        int16_adds_per_s=_int16_adds(threads) if on_cpu else 0.0,
        bytes_per_s=2 * COPIED_BYTES / _fastest(_copy(device), device),
    )


def _fastest(work: Callable[[], object], device: str) -> float:
    """Seconds of the fastest of a few runs."""
    times = []
    for _ in range(REPEATS + 1):  # the first one warms up
        start = perf_counter()
        work()
        if device != "cpu":
            torch.cuda.synchronize(device)
        times.append(perf_counter() - start)
    return min(times[1:])


def _int8_product(size: int, device: str) -> Callable[[], object]:
    left = torch.randint(-127, 128, (size, size), dtype=torch.int8, device=device)
    right = torch.randint(-127, 128, (size, size), dtype=torch.int8, device=device).t()
    out = torch.empty(size, size, dtype=torch.int32, device=device)
    return lambda: torch._int_mm(left, right, out=out)


def _fp32_product(size: int, device: str) -> Callable[[], object]:
    left, right = (torch.rand(size, size, device=device) for _ in range(2))
    out = torch.empty(size, size, device=device)
    return lambda: torch.mm(left, right, out=out)


def _copy(device: str) -> Callable[[], object]:
    source = torch.zeros(COPIED_BYTES, dtype=torch.uint8, device=device)
    target = torch.ones_like(source)
    return lambda: target.copy_(source)


@kernel
def _sum_int16(values, repeats):  # type: ignore[no-untyped-def]
    total = np.int16(0)
    for _ in range(repeats):
        for i in range(values.shape[0]):
            total = np.int16(total + values[i])
        values[0] = total  # so that no compiler sums once and multiplies
    return total


def _int16_adds(threads: int) -> float:
    """Additions/s of ``threads`` threads together."""
    repeats = 4096
    values = [np.ones(L1_VALUES, np.int16) for _ in range(threads)]
    with ThreadPoolExecutor(threads) as pool:

        def work() -> None:
            list(pool.map(lambda array: _sum_int16(array, repeats), values))

        return threads * repeats * L1_VALUES / _fastest(work, "cpu")
