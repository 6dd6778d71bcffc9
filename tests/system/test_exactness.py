"""Ten thousand real positions: every way to compute a network gives the same accumulators.

What the GPU adds to this is in ``bench/gpu_report.py``.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from tests.inference.requests import same
from tests.nets import FOUR_STEPS
from vecchess.inference.backend import Backend
from vecchess.inference.backend_registry import open_backend
from vecchess.inference.cpu.backend import CpuBackend
from vecchess.inference.engine import SlotEngine
from vecchess.inference.requests import Requests
from vecchess.selfplay.worker.random_requests import random_requests
from vecchess.snn.create import create_network
from vecchess.snn.integer.integer_net import ExitRule, IntegerNet

SLOW = pytest.mark.slow
Answers = tuple[np.ndarray, np.ndarray, np.ndarray]


@cache
def _net(name: str) -> IntegerNet:
    return create_network(name, seed=1)


def _answers(backend: Backend, questions: Requests, order: np.ndarray) -> Answers:
    engine = SlotEngine(backend, questions)
    engine.submit(order.astype(np.int32))
    while not engine.is_idle:
        engine.step()
    return questions.policy.copy(), questions.wdl.copy(), questions.steps.copy()


def _ways(net: IntegerNet, rule: ExitRule) -> Iterator[Backend]:
    """Events and dense products, on one thread and two, in batches of different sizes."""
    for num_slots, threads, dense in ((97, 1, False), (256, 2, True), (5, 1, None)):
        yield CpuBackend(net, num_slots, rule, threads, dense)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        (FOUR_STEPS, 200),
        pytest.param(FOUR_STEPS, 10_000, marks=[SLOW, pytest.mark.timeout(1200)]),
        pytest.param("small", 10_000, marks=[SLOW, pytest.mark.timeout(1200)]),
        pytest.param("base", 10_000, marks=[SLOW, pytest.mark.timeout(3600)]),
        pytest.param("large", 500, marks=[SLOW, pytest.mark.timeout(3600)]),
        pytest.param("configs/nets/twin.toml", 10_000, marks=[SLOW, pytest.mark.timeout(1200)]),
        pytest.param(
            "configs/nets/rate-coded.toml", 2_000, marks=[SLOW, pytest.mark.timeout(1200)]
        ),
    ],
)
def test_the_same_accumulators_everywhere(name: str, count: int) -> None:
    net, rule = _net(name), ExitRule()
    planes = net.config.num_planes
    shuffled = np.random.default_rng(1).permutation(count)
    reference = open_backend("reference", net, 128, rule)
    expected = _answers(reference, random_requests(count, 7, planes), np.arange(count))
    for backend in _ways(net, rule):
        assert same(_answers(backend, random_requests(count, 7, planes), shuffled), expected)
