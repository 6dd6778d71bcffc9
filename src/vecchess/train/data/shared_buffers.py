"""Memory that batches are made in: one place for each batch under way, shared with processes.

On Linux it has a file of its own that no file system holds, so that the size of /dev/shm, of which
containers have little (64 MB with Docker), does not matter. All of it is taken at the start: pages
that are missing later would end the process that writes there, with SIGBUS and without a word.
"""

import os
import sys
import weakref
from multiprocessing.heap import Arena

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.planes import num_planes
from vecchess.errors import ConfigError
from vecchess.train.data.samples import row_bytes

PREFETCH = 4
"""Batches a loader process is ahead of whoever takes them."""


class SharedBuffers:
    """Rows for ``num_workers`` loader processes, or for this process alone where there is none."""

    def __init__(
        self, num_rows: int, num_workers: int = 0, prefetch: int = PREFETCH, history: int = 1
    ) -> None:
        """``num_rows``: B of the largest batch; ``history``: positions that the network sees.

        Raises ConfigError where there is no room.
        """
        self.num_rows = num_rows
        self.num_planes = num_planes(history)
        self.num_workers = num_workers
        self.ahead = prefetch * num_workers
        """Batches under way besides the one that is taken."""
        self._num_bytes = num_rows * row_bytes(self.num_planes)
        self._arena: Arena | None = None
        self._own = np.zeros(0 if num_workers else self._num_bytes, np.uint8)
        if num_workers:
            self._arena = self._share((self.ahead + 1) * self._num_bytes)

    def __getitem__(self, index: int) -> NDArray[np.uint8]:
        """uint8[num_rows * row_bytes(P)]: place ``index`` of ``ahead`` + 1, counted round."""
        if self._arena is None:
            return self._own
        first = index % (self.ahead + 1) * self._num_bytes
        return np.frombuffer(self._arena.buffer, np.uint8, self._num_bytes, first)

    def _share(self, size: int) -> Arena:
        try:
            if sys.platform != "linux":
                return Arena(size)  # in /dev/shm or the folder for temporary files
            handle = os.memfd_create("vecchess-batches")
            weakref.finalize(self, os.close, handle)
            os.posix_fallocate(handle, 0, size)
            return Arena(size, handle)
        except OSError as error:
            raise ConfigError(
                f"{self.num_workers} loader processes need {size / 2**20:,.0f} MB of memory for "
                f"{self.ahead + 1} batches of {self.num_rows:,} under way: {error.strerror}; use "
                "--loaders 0, or fewer, or a smaller --batch-size"
            ) from None
