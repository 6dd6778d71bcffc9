"""Kernels of the host that copy questions into records and answers into request rows.

Only legal moves are touched: a row has room for 218, and most positions have about thirty, so the
rest would be most of the memory that a turn of the central loop goes through.

Decision 244.
"""

from vecchess.jit import kernel


@kernel
def write_records(slots, rows, planes, legal, num_legal, words, shorts, ints):  # type: ignore[no-untyped-def]
    """The first K of the records ``words: uint64[., RECORD]`` from the questions in ``rows``.

    slots, rows: int32[K]; ``shorts`` and ``ints`` are the same memory in 16 and 32 bits. What lies
    beyond the legal moves of a record stays as it was.
    """
    num_planes, slot_at = planes.shape[1], ints.shape[1] - 2
    for k in range(slots.shape[0]):
        row = rows[k]
        for plane in range(num_planes):
            words[k, plane] = planes[row, plane]
        for move in range(num_legal[row]):
            shorts[k, 4 * num_planes + move] = legal[row, move]
        ints[k, slot_at] = slots[k]
        ints[k, slot_at + 1] = num_legal[row]


@kernel
def copy_answers(  # type: ignore[no-untyped-def]
    slots, row_of_slot, policy, wdl, steps, num_legal, to_policy, to_wdl, to_steps
):
    """Answers of ``slots: int32[K]`` into their rows; columns of ``to_policy`` beyond the legal
    moves stay as they were."""
    for k in range(slots.shape[0]):
        slot = slots[k]
        row = row_of_slot[slot]
        for move in range(num_legal[row]):
            to_policy[row, move] = policy[slot, move]
        for outcome in range(to_wdl.shape[1]):
            to_wdl[row, outcome] = wdl[slot, outcome]
        to_steps[row] = steps[slot]
