"""What was played so far in unfinished games, in pages of 16 plies.

A ply is one number below 2**48, three uint16, made of digits that each have a base of their own:

    action 4,672   probability 3,073   value 131,328   time steps T + 1   tag: what is left

The value is a pair of win and draw, each out of 511 and together at most that, from the mover's
view. The probability of the drawn move is a bfloat16, less the codes below 2**-24; what is rarer is
noted as that. The exact value can be computed again, since inference is exact. The tag is the
fingerprint's (``fingerprint``): 29 values for T = 4, 4 for T = 31, 149 where no ply has steps.

Decision 32.
"""

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.jit import inline, kernel
from vecchess.selfplay.games.paged_log import PagedLog, next_place
from vecchess.shapes import NUM_ACTIONS
from vecchess.store.records import PLY_COLUMNS, VALUE_UNIT

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
    return PagedLog(PAGE_PLIES, PLY_WORDS, np.uint16)


def num_tags(most_steps: int) -> int:
    """Values of a tag where plies take up to ``most_steps`` time steps."""
    return (1 << 16 * PLY_WORDS) // (NUM_ACTIONS * _NUM_PROBS * _NUM_VALUES * (most_steps + 1))


@inline
def pack_ply(
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
    names = ("action", "steps", "win", "draw", "prob", "tag")
    columns = {name: np.empty(len(plies), PLY_COLUMNS[name]) for name in names}
    _unpack(plies, most_steps, tuple(columns.values()))
    return columns


@kernel
def _unpack(plies, most_steps, columns):  # type: ignore[no-untyped-def]
    """Digit by digit, from the last one; the first two are small enough for a quick division."""
    action, steps, win, draw, prob, tag = columns
    base = _U32(most_steps + 1)
    for ply in range(len(plies)):
        word = (
            _U64(plies[ply, 0]) | _U64(plies[ply, 1]) << _U64(16) | _U64(plies[ply, 2]) << _U64(32)
        )
        rest = word // _U64(NUM_ACTIONS)
        action[ply] = word - rest * _U64(NUM_ACTIONS)
        word, rest = rest, rest // _U64(_NUM_PROBS)
        code = _U32(word - rest * _U64(_NUM_PROBS) + _U64(_PROB_BASE))
        prob[ply] = _U32(code << _U32(16)).view(np.float32)
        word, rest = rest, rest // _U64(_NUM_VALUES)
        value = np.int64(word - rest * _U64(_NUM_VALUES))
        decided = np.int64((sqrt(8.0 * value + 1.0) - 1.0) / 2.0)  # exact for so few values
        draw[ply] = value - (decided * (decided + 1) >> 1)
        win[ply] = decided - draw[ply]
        first = _U32(rest)
        tag[ply] = first // base
        steps[ply] = first - first // base * base


@inline
def append_ply(log: Any, chains: Any, game: Any, ply: Any, word: Any) -> None:
    """Log ``word`` as ply number ``ply`` of a game. The caller has reserved a page."""
    page, place = next_place(log, chains, game, ply)
    log.items[page, place, 0] = _U16(word)
    log.items[page, place, 1] = _U16(word >> _U64(16))
    log.items[page, place, 2] = _U16(word >> _U64(32))
