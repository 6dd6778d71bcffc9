"""What was played so far in unfinished games: pages of 16 plies, chained per game.

Games differ in length by a factor of ten, so a fixed row a game would waste most of its memory.

A ply is 48 bits, three uint16:

    bit  0..12 action   13..17 time steps   18..26 win   27..35 draw   36..47 probability

Win and draw are out of 511 from the mover's view. The probability of the drawn move is a
bfloat16, less the codes below 2**-24; what is rarer is noted as that. Who needs it exactly
computes it again, inference being exact.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vecchess.jit import inline
from vecchess.store.records import VALUE_UNIT

PAGE_PLIES = 16
PLY_WORDS = 3
MAX_STEPS = 31
"""Time steps that fit a ply."""
NO_PAGE = -1
_U16, _U32, _U64 = np.uint16, np.uint32, np.uint64
_PROB_BASE = 103 << 7
"""bfloat16 of 2**-24, the lowest probability that is noted."""


class Pages(NamedTuple):
    """The arrays kernels work on.

    plies: uint16[pages, 16, 3]. following: int32[pages], the next page of the same game, or of
    the list of free pages. free: int64[2], the first free page and how many there are.
    """

    plies: NDArray[np.uint16]
    following: NDArray[np.int32]
    free: NDArray[np.int64]


class PlyLog:
    """The pages of one mover's games; grows when they run short."""

    def __init__(self) -> None:
        """A log without pages."""
        self.pages = Pages(
            plies=np.zeros((0, PAGE_PLIES, PLY_WORDS), np.uint16),
            following=np.zeros(0, np.int32),
            free=np.array([NO_PAGE, 0], np.int64),
        )

    def reserve(self, num_pages: int) -> None:
        """Grow until at least ``num_pages`` are free; what is logged stays where it is."""
        plies, following, free = self.pages
        missing = num_pages - int(free[1])
        if missing <= 0:
            return
        old = len(following)
        extra = max(missing, old // 64)
        added = np.arange(old + 1, old + extra + 1, dtype=np.int32)
        added[-1] = free[0]
        self.pages = Pages(
            plies=np.concatenate([plies, np.zeros((extra, *plies.shape[1:]), np.uint16)]),
            following=np.concatenate([following, added]),
            free=np.array([old, free[1] + extra], np.int64),
        )

    @property
    def nbytes(self) -> int:
        """Bytes of all pages."""
        return sum(array.nbytes for array in self.pages)


@inline
def pack_ply_unbatched(action: Any, steps: Any, win: Any, draw: Any, prob: Any) -> Any:
    """One ply as uint64; ``prob`` is a float32 above 0, at most 1."""
    bits = (_U64(np.float32(prob).view(_U32)) + _U64(0x8000)) >> _U64(16)
    bits = max(bits, _U64(_PROB_BASE))
    return (
        _U64(action)
        | _U64(steps) << _U64(13)
        | _U64(win) << _U64(18)
        | _U64(draw) << _U64(27)
        | (bits - _U64(_PROB_BASE)) << _U64(36)
    )


def unpack_plies(plies: NDArray[np.uint16]) -> dict[str, NDArray[Any]]:
    """The ply columns of ``GameRecords`` from logged plies, uint16[plies, 3]."""
    low, middle, high = (plies[:, word].astype(_U64) for word in range(PLY_WORDS))
    words = low | middle << _U64(16) | high << _U64(32)
    bits = ((words >> _U64(36)) + _U64(_PROB_BASE)) << _U64(16)
    return {
        "action": (words & _U64(0x1FFF)).astype(np.uint16),
        "steps": ((words >> _U64(13)) & _U64(MAX_STEPS)).astype(np.uint8),
        "win": ((words >> _U64(18)) & _U64(VALUE_UNIT)).astype(np.uint16),
        "draw": ((words >> _U64(27)) & _U64(VALUE_UNIT)).astype(np.uint16),
        "prob": bits.astype(_U32).view(np.float32),
    }


@inline
def append_ply_unbatched(log: Any, first: Any, last: Any, ply: Any, word: Any) -> Any:
    """Log ``word`` as ply number ``ply`` of a game with pages ``first`` .. ``last``.

    Returns (first, last). The caller has reserved a page.
    """
    place = ply % PAGE_PLIES
    if place == 0:
        page = np.int32(log.free[0])
        log.free[0] = log.following[page]
        log.free[1] -= 1
        log.following[page] = NO_PAGE
        if ply == 0:
            first = page
        else:
            log.following[last] = page
        last = page
    log.plies[last, place, 0] = _U16(word)
    log.plies[last, place, 1] = _U16(word >> _U64(16))
    log.plies[last, place, 2] = _U16(word >> _U64(32))
    return first, last


@inline
def take_plies_unbatched(log: Any, first: Any, last: Any, count: Any, out: Any, at: Any) -> None:
    """Copy a game's ``count`` plies to ``out[at:]`` (uint16[.., 3]) and give its pages back."""
    page = first
    for ply in range(count):
        place = ply % PAGE_PLIES
        if ply and place == 0:
            page = log.following[page]
        for word in range(PLY_WORDS):
            out[at + ply, word] = log.plies[page, place, word]
    free_pages_unbatched(log, first, last, count)


@inline
def free_pages_unbatched(log: Any, first: Any, last: Any, count: Any) -> None:
    """Give the pages ``first`` .. ``last`` of a game of ``count`` plies back."""
    if count > 0:
        log.following[last] = log.free[0]
        log.free[0] = first
        log.free[1] += (count + PAGE_PLIES - 1) // PAGE_PLIES
