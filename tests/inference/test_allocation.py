"""A server that runs for weeks: stepping allocates next to nothing, and keeps none of it."""

import gc
import sys
import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest

from tests.inference.requests import ask
from tests.snn.positions import NUM_PLANES, random_positions
from vecchess.inference.backend_registry import open_backend
from vecchess.inference.engine import SlotEngine
from vecchess.snn.initialise import new_network
from vecchess.snn.integer.integer_net import ExitRule
from vecchess.snn.presets import NetConfig

SLOTS = 8
WARM_UP_STEPS = 100
STEPS = 400
KEPT_BYTES_PER_STEP = 16
"""Less than the smallest object that could be forgotten at every step."""
ADMISSION_BYTES = 1024
"""Passing room a slot, for its legal moves and their indices."""
STEP_BYTES = 128
"""Passing room a slot in a step without admissions; a board's membranes are 8,192."""
FEW_OBJECTS = 8192
"""Of Python and numba: 3.8 kB at most steps, 5.4 seen."""


@pytest.fixture(params=[ExitRule.never(), ExitRule()], ids=["fixed T", "exits"])
def engine(request: pytest.FixtureRequest) -> SlotEngine:
    """An engine whose slots are always full and whose rows come round again."""
    config = NetConfig(num_planes=NUM_PLANES, blocks=2, channels=32, time_steps=4)
    net = new_network(config, seed=1, calibration_planes=random_positions(64, 1)[0])
    requests = ask(3 * SLOTS)
    engine = SlotEngine(open_backend("cpu", net, SLOTS, request.param), requests)
    engine.submit(np.arange(requests.num_rows, dtype=np.int32))
    return engine


@pytest.fixture(autouse=True)
def traced() -> Iterator[None]:
    """Python's allocations are counted while a test runs; numpy reports its arrays too."""
    tracemalloc.start()
    yield
    tracemalloc.stop()


def turn(engine: SlotEngine, steps: int) -> None:
    for _ in range(steps):
        engine.submit(engine.step())


def kept_bytes() -> int:
    """What is allocated, without the attribute names that Python's type cache holds on to.

    numba looks attributes up by strings made for each call; the cache keeps up to 4,096 of them.
    """
    gc.collect()
    sys._clear_type_cache()
    return tracemalloc.get_traced_memory()[0]


def test_nothing_is_kept(engine: SlotEngine) -> None:
    turn(engine, WARM_UP_STEPS)
    before = kept_bytes()
    turn(engine, STEPS)
    assert kept_bytes() - before < KEPT_BYTES_PER_STEP * STEPS


def test_passing_room_is_small(engine: SlotEngine) -> None:
    turn(engine, WARM_UP_STEPS)
    for _ in range(40):
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        admits = engine.slots.num_occupied < SLOTS
        rows = engine.step()
        _, peak = tracemalloc.get_traced_memory()
        engine.submit(rows)
        room = ADMISSION_BYTES if admits or len(rows) else STEP_BYTES
        assert peak - before < room * SLOTS + FEW_OBJECTS
