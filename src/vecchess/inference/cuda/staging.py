"""Copies questions to the device: as records in pinned memory, one copy for all admitted rows.

A record is RECORD 64-bit words, P input planes, legal actions, slot and their number:

    word  0 ......... P-1 | P ............. P+54 | P+55
          planes uint64   | legal uint16[218]    | slot int32, num_legal int32

Kernels of the host copy questions into records, and answers into rows of the requests. Only legal
moves are touched: a row has room for 218, and most positions have about thirty, so the rest would
be most of the memory that a turn of the central loop goes through.

Decisions 116 and 244.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vecchess.inference.cuda.streams import Streams
from vecchess.inference.requests import Requests
from vecchess.jit import kernel
from vecchess.shapes import MAX_MOVES


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


LEGAL_WORDS = -(-MAX_MOVES // 4)


def record_words(num_planes: int) -> int:
    """64-bit words of a record."""
    return num_planes + LEGAL_WORDS + 1


class StagingBuffer:
    """Room for ``capacity`` records, in pinned host memory and on the device."""

    def __init__(self, capacity: int, num_planes: int, streams: Streams) -> None:
        """Raises torch.OutOfMemoryError."""
        shape = (capacity, record_words(num_planes))
        self.host = streams.host_tensor(shape, torch.int64)
        self.device = torch.zeros(shape, dtype=torch.int64, device=streams.device)
        words = self.host.numpy()
        self._records = [words.view(kind) for kind in (np.uint64, np.uint16, np.int32)]

    def write(
        self, slots: NDArray[np.int32], requests: Requests, rows: NDArray[np.int32]
    ) -> tuple[Tensor, Tensor]:
        """Fill one record a row; returns (target on the device, source on the host) to copy.

        The legal moves of a record are as many as ``num_legal`` says; what follows them is left.
        """
        count = len(slots)
        question = requests.planes, requests.legal, requests.num_legal
        write_records(slots, rows, *question, *self._records)
        return self.device[:count], self.host[:count]
