"""What was played so far in unfinished games, in pages of 16 plies.

A ply is 48 bits, three uint16:

    bit  0..12 action   13..17 time steps   18..26 win   27..35 draw   36..47 probability

Win and draw are out of 511 from the mover's view. The probability of the drawn move is a
bfloat16, less the codes below 2**-24; what is rarer is noted as that. Who needs it exactly
computes it again, inference being exact.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.jit import inline
from vecchess.selfplay.pages import PagedLog, add_page_unbatched, free_pages_unbatched
from vecchess.store.records import VALUE_UNIT

PAGE_PLIES = 16
PLY_WORDS = 3
MAX_STEPS = 31
"""Time steps that fit a ply."""
_U16, _U32, _U64 = np.uint16, np.uint32, np.uint64
_PROB_BASE = 103 << 7
"""bfloat16 of 2**-24, the lowest probability that is noted."""


def ply_log() -> PagedLog:
    """A log of plies without pages: uint16[pages, 16, 3]."""
    return PagedLog((PAGE_PLIES, PLY_WORDS), np.uint16)


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
        first, last = add_page_unbatched(log, first, last, ply == 0)
    log.items[last, place, 0] = _U16(word)
    log.items[last, place, 1] = _U16(word >> _U64(16))
    log.items[last, place, 2] = _U16(word >> _U64(32))
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
            out[at + ply, word] = log.items[page, place, word]
    free_plies_unbatched(log, first, last, count)


@inline
def free_plies_unbatched(log: Any, first: Any, last: Any, count: Any) -> None:
    """Give the pages ``first`` .. ``last`` of a game of ``count`` plies back."""
    free_pages_unbatched(log, first, last, (count + PAGE_PLIES - 1) // PAGE_PLIES)
