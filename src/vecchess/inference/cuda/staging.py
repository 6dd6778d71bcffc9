"""Copies questions to the device: as records in pinned memory, one copy for all admitted rows.

A record is RECORD 64-bit words, P input planes, legal actions, slot and their number:

    word  0 ......... P-1 | P ............. P+54 | P+55
          planes uint64   | legal uint16[218]    | slot int32, num_legal int32

Decision 116.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vecchess.inference.cuda.row_copies import write_records
from vecchess.inference.cuda.streams import Streams
from vecchess.inference.requests import Requests
from vecchess.shapes import MAX_MOVES

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
