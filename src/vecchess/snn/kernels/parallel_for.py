"""Runs work on many boards on as many threads as torch may use."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor


def parallel_for(work: Callable[[int, int], None], num: int) -> None:
    """Call ``work(begin, end)`` at the same time for ranges that make up ``range(num)``.

    ``work`` releases the GIL, and its results for one board do not depend on the others, so
    the number of threads changes only the time.
    """
    threads = min(torch.get_num_threads(), num)
    if threads <= 1:
        work(0, num)
        return
    ends = [num * share // threads for share in range(threads + 1)]
    others = [_pool(threads).submit(work, *share) for share in pairwise(ends[1:])]
    work(0, ends[1])
    for other in others:
        other.result()


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads - 1, thread_name_prefix="snn")


def by_board(boards: Tensor) -> Any:
    """float32[T, B, N] in numpy of ``boards[T, B, ...]``: the same memory if it is contiguous."""
    return boards.detach().contiguous().view(*boards.shape[:2], -1).numpy()


def distinct_steps(boards: Tensor) -> Tensor:
    """``boards[T, ...]``, or its first step alone where all are the same memory."""
    return boards[:1] if len(boards) > 1 and boards.stride(0) == 0 else boards
