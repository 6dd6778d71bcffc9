import numpy as np
import pytest

from vecchess.inference.builtin import ConstantBackend
from vecchess.inference.engine import SlotEngine, age_percentile_ms
from vecchess.inference.requests import Requests


class ScriptedBackend(ConstantBackend):
    """Row r takes r % 3 + 1 steps and answers with its number."""

    time_steps = 3

    def __init__(self, num_slots: int) -> None:
        super().__init__(num_slots)
        self.left = np.zeros(num_slots, np.int64)
        self.row = np.full(num_slots, -1)

    def admit(self, slots, requests, rows):
        assert (self.row[slots] == -1).all()
        self.left[slots] = rows % 3 + 1
        self.row[slots] = rows
        requests.policy[rows, 0] = rows
        requests.steps[rows] = rows % 3 + 1

    def advance(self):
        self.left[self.row >= 0] -= 1

    def settled(self):
        slots = np.flatnonzero((self.row >= 0) & (self.left == 0)).astype(np.int32)
        self.row[slots] = -1
        return slots


@pytest.mark.parametrize("num_slots", [1, 2, 5, 40])
def test_every_row_is_answered_once_and_slots_are_refilled(num_slots: int) -> None:
    requests = Requests.empty(40, 3)
    engine = SlotEngine(ScriptedBackend(num_slots), requests)
    engine.submit(np.arange(40, dtype=np.int32))
    answered: list[int] = []
    while not engine.is_idle:
        rows = engine.step()
        assert (requests.policy[rows, 0] == rows).all()
        answered += rows.tolist()
    assert sorted(answered) == list(range(40))
    counters = engine.counters
    assert counters.positions == 40
    steps = sum(row % 3 + 1 for row in range(40))
    assert counters.slot_steps == steps
    assert counters.batches <= steps // num_slots + 3
    assert counters.steps[1:4].tolist() == [14, 13, 13]
    assert counters.queue_age.sum() == 40
    assert counters.full_batches <= counters.batches


def test_an_early_leaver_makes_room_at_the_next_step() -> None:
    requests = Requests.empty(4, 1)
    engine = SlotEngine(ScriptedBackend(2), requests)
    engine.submit(np.array([0, 2, 3, 1], np.int32))
    assert [engine.step().tolist() for _ in range(4)] == [[0], [3], [2], [1]]


def test_constant_backend_answers_at_once() -> None:
    requests = Requests.empty(3, 1)
    requests.policy[:] = 9
    requests.num_legal[:] = 5
    engine = SlotEngine(ConstantBackend(2), requests)
    engine.submit(np.arange(3, dtype=np.int32))
    assert sorted(engine.step().tolist() + engine.step().tolist()) == [0, 1, 2]
    assert (requests.policy[:, :5] == 0).all()
    assert (requests.wdl == 0).all()
    assert (requests.steps == 1).all()


def test_age_percentile() -> None:
    ages = np.zeros(160, np.int64)
    assert age_percentile_ms(ages, 99) == 0.0
    ages[80] = 99  # 2**20 ns, about a millisecond
    ages[120] = 1
    assert 1.0 < age_percentile_ms(ages, 98) < 1.3
    assert age_percentile_ms(ages, 99.9) > 1000
