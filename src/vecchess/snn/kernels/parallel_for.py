"""Work on many boards, split over as many threads as torch may use."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

import torch


def parallel_for(work: Callable[[int, int], None], num: int) -> None:
    """Call ``work(begin, end)`` for ranges that make up ``range(num)``, at the same time.

    ``work`` releases the GIL, and what it does for one board does not depend on the others, so
    the number of threads changes nothing but the time.
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
