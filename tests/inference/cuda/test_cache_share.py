"""The wish for first-level cache, with a simulated driver."""

import ctypes
from types import SimpleNamespace
from typing import Any

import pytest
import torch

pytest.importorskip("triton")

from vecchess.inference.cuda import launches

MOST = SimpleNamespace(shared_memory_per_multiprocessor=233_472)


class Driver:
    """Holds ``programs`` of any kernel; remembers what was asked of it."""

    def __init__(self, programs: int, failure: int = 0) -> None:
        self.programs, self.failure = programs, failure
        self.asked: list[tuple[int, int, int]] = []

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(  # noqa: N802
        self, programs: Any, function: ctypes.c_void_p, threads: int, shared: ctypes.c_size_t
    ) -> int:
        programs._obj.value = self.programs
        return self.failure

    def cuFuncSetAttribute(  # noqa: N802
        self, function: ctypes.c_void_p, attribute: int, value: int
    ) -> int:
        self.asked.append((function.value or 0, attribute, value))
        return 0


def _asked(monkeypatch: pytest.MonkeyPatch, driver: Driver, shared_bytes: int) -> list[int]:
    """Percent that the driver is asked for, when two launches of a kernel wish for cache."""
    launches._set_carveout.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: driver)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda: MOST)
    metadata = SimpleNamespace(num_warps=8, shared=shared_bytes)
    for _ in range(2):
        launches.leave_cache(SimpleNamespace(function=77, metadata=metadata))
    assert all(call[:2] == (77, launches.CARVEOUT) for call in driver.asked)
    return [percent for _, _, percent in driver.asked]


def test_the_programs_that_fit_keep_their_memory_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert _asked(monkeypatch, Driver(1), 98_304) == [43]
    assert _asked(monkeypatch, Driver(2), 98_304) == [86]
    assert _asked(monkeypatch, Driver(3), 98_304) == [100]


def test_a_driver_that_cannot_be_asked_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _asked(monkeypatch, Driver(1, failure=999), 98_304) == []
    launches._set_carveout.cache_clear()

    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    metadata = SimpleNamespace(num_warps=8, shared=1)
    launches.leave_cache(SimpleNamespace(function=77, metadata=metadata))
