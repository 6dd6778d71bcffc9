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

    items: [pages, items a page, numbers an item] of any kind. following: int32[pages], the next
    page of the same game, or of the list of free pages. free: int64[2], the first free page and
    how many.
    """

    items: NDArray[Any]
    following: NDArray[np.int32]
    free: NDArray[np.int64]


class PagedLog:
    """The pages of one mover's games; grows when they run short."""

    def __init__(self, page_items: int, width: int, dtype: type[np.generic]) -> None:
        """A log without pages; an item is ``width`` numbers."""
        self.pages = Pages(
            items=np.zeros((0, page_items, width), dtype),
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
        gathered = np.empty((int(counts.sum()), items.shape[2]), items.dtype)
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


# ``chains``: int32[G, 2], the first and last page of each game; without meaning where it has none.


@inline
def next_place(log: Any, chains: Any, game: Any, count: Any) -> Any:
    """(page, place in it) of item number ``count`` of a game. The caller has reserved a page."""
    place = count % log.items.shape[1]
    if place == 0:
        page = np.int32(log.free[0])
        log.free[0] = log.following[page]
        log.free[1] -= 1
        log.following[page] = NO_PAGE
        if count == 0:
            chains[game, 0] = page
        else:
            log.following[chains[game, 1]] = page
        chains[game, 1] = page
    return chains[game, 1], place


@inline
def take_items(log: Any, chains: Any, game: Any, count: Any, out: Any, at: Any) -> None:
    """Copy a game's ``count`` items to ``out[at:]`` and give its pages back."""
    page, size = chains[game, 0], log.items.shape[1]
    for index in range(count):
        place = index % size
        if index and place == 0:
            page = log.following[page]
        for number in range(log.items.shape[2]):
            out[at + index, number] = log.items[page, place, number]
    free_items(log, chains, game, count)


@inline
def free_items(log: Any, chains: Any, game: Any, count: Any) -> None:
    """Give the pages of a game's ``count`` items back."""
    if count > 0:
        size = log.items.shape[1]
        log.following[chains[game, 1]] = log.free[0]
        log.free[0] = chains[game, 0]
        log.free[1] += (count + size - 1) // size
