"""Logs of unfinished games: pages of a fixed number of items, chained per game.

Games differ in length by a factor of ten, so a fixed row a game would waste most of its memory.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vecchess.jit import inline

NO_PAGE = -1


class Pages(NamedTuple):
    """The arrays kernels work on.

    items: [pages, items a page, ...] of any kind. following: int32[pages], the next page of the
    same game, or of the list of free pages. free: int64[2], the first free page and how many.
    """

    items: NDArray[Any]
    following: NDArray[np.int32]
    free: NDArray[np.int64]


class PagedLog:
    """The pages of one mover's games; grows when they run short."""

    def __init__(self, page_shape: tuple[int, ...], dtype: type[np.generic]) -> None:
        """A log without pages, each of ``page_shape``."""
        self.pages = Pages(
            items=np.zeros((0, *page_shape), dtype),
            following=np.zeros(0, np.int32),
            free=np.array([NO_PAGE, 0], np.int64),
        )

    def reserve(self, num_pages: int) -> None:
        """Grow until at least ``num_pages`` are free; what is logged stays where it is."""
        items, following, free = self.pages
        missing = num_pages - int(free[1])
        if missing <= 0:
            return
        old = len(following)
        extra = max(missing, old // 64)
        added = np.arange(old + 1, old + extra + 1, dtype=np.int32)
        added[-1] = free[0]
        self.pages = Pages(
            items=np.concatenate([items, np.zeros((extra, *items.shape[1:]), items.dtype)]),
            following=np.concatenate([following, added]),
            free=np.array([old, free[1] + extra], np.int64),
        )

    def gathered(self, firsts: NDArray[np.int32], counts: NDArray[np.integer[Any]]) -> NDArray[Any]:
        """The first items of K games, one game after another; no kernel may run.

        firsts: int32[K], the first page of each. counts: [K], how many items of each.
        """
        items, following, _ = self.pages
        size, page = items.shape[1], firsts.astype(np.int64)
        left, at = counts.astype(np.int64), np.cumsum(counts, dtype=np.int64) - counts
        gathered = np.empty((int(counts.sum()), *items.shape[2:]), items.dtype)
        within = np.arange(size)
        while len(live := np.flatnonzero(left > 0)):
            left, at, page = left[live], at[live], page[live]
            is_one = within < left[:, None]
            gathered[(at[:, None] + within)[is_one]] = items[page][is_one]
            left, at, page = left - size, at + size, following[page].astype(np.int64)
        return gathered

    @property
    def nbytes(self) -> int:
        """Bytes of all pages."""
        return sum(array.nbytes for array in self.pages)


@inline
def add_page(log: Any, first: Any, last: Any, is_empty: Any) -> Any:
    """Chain one more page to a game with pages ``first`` .. ``last``; returns both.

    ``is_empty``: the game has no page yet. The caller has reserved one.
    """
    page = np.int32(log.free[0])
    log.free[0] = log.following[page]
    log.free[1] -= 1
    log.following[page] = NO_PAGE
    if is_empty:
        first = page
    else:
        log.following[last] = page
    return first, page


@inline
def free_pages(log: Any, first: Any, last: Any, num_pages: Any) -> None:
    """Give the ``num_pages`` pages ``first`` .. ``last`` of a game back."""
    if num_pages > 0:
        log.following[last] = log.free[0]
        log.free[0] = first
        log.free[1] += num_pages
