"""Runs kernels over the rows of an environment, on several threads."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards import tables
from vecchess.chess.movegen import MOVE_BUFFER
from vecchess.env.game_rows import EnvRecord

FEWEST_ROWS = 64
"""Rows worth a thread of their own: to hand work to one takes as long as some dozens of steps."""


class RowRunner:
    """The record of an environment, its scratch memory and its threads.

    The record holds addresses of arrays that it keeps. Rows are divided among the threads; since
    they do not depend on each other, the number of threads changes no result.
    """

    def __init__(self, num_games: int, threads: int, num_planes: int) -> None:
        """``threads``: the caller's thread is one of them."""
        self._header: NDArray[Any] = np.zeros((), EnvRecord.dtype)
        self._header["tables"], self._header["num_games"] = tables.address(), num_games
        self._num_games = num_games
        self._kept: dict[str, NDArray[Any]] = {}
        shares = max(1, min(threads, num_games // FEWEST_ROWS))
        self._moves = np.zeros((shares, MOVE_BUFFER), np.uint16)
        self._planes = np.zeros((shares, num_planes), np.uint64)
        self._pool = ThreadPoolExecutor(shares - 1, "env") if shares > 1 else None

    def point(self, **arrays: NDArray[Any]) -> None:
        """Let fields of the record hold the addresses of arrays, and keep the arrays."""
        for name, array in arrays.items():
            self._kept[name] = array
            self._header[name] = array.ctypes.data if array.size else 0

    def set(self, **values: int) -> None:
        """Set numbers of the record."""
        for name, value in values.items():
            self._header[name] = value

    def run(self, kernel: Callable[..., Any], *arguments: int) -> list[Any]:
        """What ``kernel(record, begin, end, *arguments)`` returns for ranges of all rows."""
        return self._on_ranges(lambda _, begin, end: kernel(self._address, begin, end, *arguments))

    def run_with_scratch(self, kernel: Callable[..., Any]) -> None:
        """Call ``kernel(record, begin, end, moves, planes)`` for ranges of all rows."""
        self._on_ranges(lambda share, begin, end: self._call(kernel, share, begin, end))

    def run_rows(self, kernel: Callable[..., Any], rows: NDArray[np.int64]) -> None:
        """Call ``kernel`` as ``run_with_scratch`` does, for each of ``rows``, int64[K]."""
        for row in rows.tolist():
            self._call(kernel, 0, row, row + 1)

    @property
    def _address(self) -> int:
        return int(self._header.ctypes.data)

    def _call(self, kernel: Callable[..., Any], share: int, begin: int, end: int) -> None:
        moves, planes = self._moves[share].ctypes.data, self._planes[share].ctypes.data
        kernel(self._address, begin, end, moves, planes)

    def _on_ranges(self, work: Callable[[int, int, int], Any]) -> list[Any]:
        """``work(share, begin, end)`` of ranges that make up all rows, in their order."""
        shares = len(self._moves)
        if self._pool is None:
            return [work(0, 0, self._num_games)]
        ends = [self._num_games * share // shares for share in range(shares + 1)]
        parts = [(share, *part) for share, part in enumerate(pairwise(ends))]
        others = [self._pool.submit(work, *part) for part in parts[1:]]
        return [work(*parts[0]), *(other.result() for other in others)]
