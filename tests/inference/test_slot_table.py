import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vecchess.inference.engine import FREE, SlotTable


@given(
    num_slots=st.integers(1, 9),
    num_rows=st.integers(1, 20),
    choices=st.lists(st.integers(0, 2**16), max_size=60),
)
def test_rows_are_seated_first_come_first_served(num_slots, num_rows, choices) -> None:
    """Against lists: the row that waited longest gets the next free slot, and no row is lost."""
    table = SlotTable(num_slots)
    outside, queue, seated = list(range(num_rows)), [], {}
    for choice in choices:
        come = [row for row in outside if (row + choice) % 3 == 0]
        table.enqueue(np.array(come, np.int32))
        queue += come
        outside = [row for row in outside if row not in come]
        slots, rows, waits = table.assign()
        expected = queue[: num_slots - len(seated)]
        assert rows.tolist() == expected
        assert sum(count for _, count in waits) == len(expected)
        queue = queue[len(expected) :]
        assert not set(slots.tolist()) & set(seated)
        seated |= dict(zip(slots.tolist(), expected, strict=True))
        leaving = [slot for slot in seated if (slot + choice) % 2]
        left = table.release(np.array(leaving, np.int32))
        assert left.tolist() == [seated.pop(slot) for slot in leaving]
        outside += left.tolist()
        assert table.num_waiting == len(queue)
        assert table.num_occupied == len(seated)
        assert {s: r for s, r in enumerate(table.occupant.tolist()) if r != FREE} == seated
