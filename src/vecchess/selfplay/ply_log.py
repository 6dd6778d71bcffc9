"""What was played so far in unfinished games, in pages of 16 plies.

A ply is one number below 2**48, three uint16, made of digits that each have a base of their own:

    action 4,672   probability 3,073   value 131,328   time steps T + 1   tag: what is left

The value is a pair of win and draw, each out of 511 and together at most that, from the mover's
view. The probability of the drawn move is a bfloat16, less the codes below 2**-24; what is rarer is
noted as that. Who needs it exactly computes it again, inference being exact. The tag is the
fingerprint's (``fingerprint``): 29 values for T = 4, 4 for T = 31, 149 where no ply has steps.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.jit import inline
from vecchess.selfplay.pages import PagedLog, add_page_unbatched, free_pages_unbatched
from vecchess.shapes import NUM_ACTIONS
from vecchess.store.records import VALUE_UNIT

PAGE_PLIES = 16
PLY_WORDS = 3
MAX_STEPS = 31
"""Time steps that fit a ply."""
_U16, _U32, _U64 = np.uint16, np.uint32, np.uint64
_PROB_BASE = 103 << 7
"""bfloat16 of 2**-24, the lowest probability that is noted."""
_NUM_PROBS = (127 << 7) - _PROB_BASE + 1
_NUM_VALUES = (VALUE_UNIT + 1) * (VALUE_UNIT + 2) // 2


def ply_log() -> PagedLog:
    """A log of plies without pages: uint16[pages, 16, 3]."""
    return PagedLog((PAGE_PLIES, PLY_WORDS), np.uint16)


def num_tags(most_steps: int) -> int:
    """Values of a tag where plies take up to ``most_steps`` time steps."""
    return (1 << 16 * PLY_WORDS) // (NUM_ACTIONS * _NUM_PROBS * _NUM_VALUES * (most_steps + 1))


@inline
def pack_ply_unbatched(
    action: Any, steps: Any, win: Any, draw: Any, prob: Any, tag: Any, most_steps: Any
) -> Any:
    """One ply as uint64; ``prob`` is a float32 above 0, at most 1, win + draw at most 511."""
    bits = (_U64(np.float32(prob).view(_U32)) + _U64(0x8000)) >> _U64(16)
    code = max(bits, _U64(_PROB_BASE)) - _U64(_PROB_BASE)
    decided = _U64(win) + _U64(draw)
    value = ((decided * (decided + _U64(1))) >> _U64(1)) + _U64(draw)
    word = _U64(tag) * (_U64(most_steps) + _U64(1)) + _U64(steps)
    word = (word * _U64(_NUM_VALUES) + value) * _U64(_NUM_PROBS) + code
    return word * _U64(NUM_ACTIONS) + _U64(action)


def unpack_plies(plies: NDArray[np.uint16], most_steps: int) -> dict[str, NDArray[Any]]:
    """The ply columns of ``GameRecords`` from logged plies, uint16[plies, 3]."""
    low, middle, high = (plies[:, word].astype(_U64) for word in range(PLY_WORDS))
    words = low | middle << _U64(16) | high << _U64(32)
    words, action = _last_digit(words, NUM_ACTIONS)
    words, code = _last_digit(words, _NUM_PROBS)
    words, value = _last_digit(words, _NUM_VALUES)
    tag, steps = _last_digit(words, most_steps + 1)
    decided = ((np.sqrt(8.0 * value + 1.0) - 1.0) / 2.0).astype(_U64)  # exact for so few values
    draw = value - (decided * (decided + _U64(1)) >> _U64(1))
    return {
        "action": action.astype(np.uint16),
        "steps": steps.astype(np.uint8),
        "win": (decided - draw).astype(np.uint16),
        "draw": draw.astype(np.uint16),
        "prob": ((code + _U64(_PROB_BASE)) << _U64(16)).astype(_U32).view(np.float32),
        "tag": tag.astype(np.uint8),
    }


def _last_digit(words: NDArray[Any], base: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """uint64[plies] without its last digit, and that digit."""
    rest = words // _U64(base)
    return rest, words - rest * _U64(base)


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
