"""Logs of unfinished games: plies and what searches found, in pages that are chained for each game.

Games differ in length by a factor of ten, so a fixed row a game would waste most of its memory.

``chains``: int32[G, 2], the first and last page of each game; without meaning where it has none.

A ply is one number below 2**48, three uint16, made of digits that each have a base of their own:

    action 4,672   probability 3,073   value 131,328   time steps T + 1   tag: what is left

The value is a pair of win and draw, each out of 511 and together at most that, from the mover's
view. The probability of the drawn move is a bfloat16, less the codes below 2**-24; what is rarer is
noted as that. The exact value can be computed again, since inference is exact. The tag is the
fingerprint's (``fingerprint``): 29 values for T = 4, 4 for T = 31, 149 where no ply has steps.
A page has 16 plies (decision 32: 48 bits a ply).

A searched ply is 3 words besides, uint32, and one for every move of its policy target:

    word 0   bit  0..15 ply in the game   16..30 count of moves   31 full search
    word 1   simulations of the root
    word 2   time steps of the network in all answers
    word 3.. bit  0..15 action            16..31 probability in 1/65535

A game's words follow each other without gaps, over the ends of pages. Plies that were not
searched take none.
"""

from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vecchess.jit import inline, kernel
from vecchess.ragged import offsets_of
from vecchess.shapes import MAX_MOVES, NUM_ACTIONS
from vecchess.store.records import PLY_COLUMNS, VALUE_UNIT, GameRecords, empty_search_columns

NO_PAGE = -1
PAGE_PLIES = 16
PLY_WORDS = 3
MAX_STEPS = 31
"""Time steps that fit a ply."""
_U16, _U32, _U64 = np.uint16, np.uint32, np.uint64
_PROB_BASE = 103 << 7
"""bfloat16 of 2**-24, the lowest probability that is noted."""
_NUM_PROBS = (127 << 7) - _PROB_BASE + 1
_NUM_VALUES = (VALUE_UNIT + 1) * (VALUE_UNIT + 2) // 2
PAGE_WORDS = 64
HEAD_WORDS = 3
MOST_WORDS = HEAD_WORDS + MAX_MOVES
"""Words of one searched ply at most."""
MOST_PAGES = -(-MOST_WORDS // PAGE_WORDS)
"""Pages that one searched ply begins at most."""


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
    unpack_words(plies, most_steps, tuple(columns.values()))
    return columns


@kernel
def unpack_words(plies, most_steps, columns):  # type: ignore[no-untyped-def]
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


@inline
def append_word(log: Any, chains: Any, game: Any, count: Any, word: Any) -> None:
    """Log ``word`` as word number ``count`` of a game. The caller has reserved a page."""
    page, place = next_place(log, chains, game, count)
    log.items[page, place, 0] = np.uint32(word)


def unpack_targets(
    words: NDArray[np.uint32], word_offsets: NDArray[np.int64], ply_offsets: NDArray[np.int64]
) -> dict[str, NDArray[Any]]:
    """The search columns of ``GameRecords`` for G games from their logged words.

    words: uint32[W], word_offsets: int64[G + 1] first word of each game, ply_offsets:
    int64[G + 1] first ply of each game in the columns. The moves of a target are put in
    ascending order of action: sorted they take a third less room in a shard.
    """
    columns = empty_search_columns(int(ply_offsets[-1]))
    visits, full, thought, offsets = (
        columns[name] for name in ("visits", "full", "thought", "target_offsets")
    )
    fits = read_heads(words, word_offsets, ply_offsets, (visits, full, thought, offsets))
    assert fits, "a search was logged for a ply that the game does not have"
    np.cumsum(offsets, out=offsets)
    action, prob = (np.empty(offsets[-1], np.uint16) for _ in range(2))
    read_moves(words, word_offsets, ply_offsets, (offsets, action, prob))
    return columns | {"target_action": action, "target_prob": prob}


def pack_targets(records: GameRecords) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """What ``unpack_targets`` was given: uint32[W] words of G games, int64[G + 1] their first ones.

    A target's moves are in ascending order of action.
    """
    is_searched = (records.visits > 0) | (records.full > 0) | (records.thought > 0)
    lengths = np.where(is_searched, HEAD_WORDS + np.diff(records.target_offsets), 0)
    ends = offsets_of(lengths)
    words = np.empty(ends[-1], np.uint32)
    ply = np.arange(len(lengths)) - np.repeat(records.offsets[:-1], records.lengths)
    searched, counts = np.flatnonzero(is_searched), np.diff(records.target_offsets)[is_searched]
    heads = ends[:-1][searched]
    words[heads] = ply[searched] | counts << 16 | records.full[searched].astype(np.int64) << 31
    words[heads + 1], words[heads + 2] = records.visits[searched], records.thought[searched]
    is_move = np.ones(len(words), np.bool_)
    is_move[(heads[:, None] + np.arange(HEAD_WORDS)).ravel()] = False
    probs = records.target_prob.astype(np.uint32) << np.uint32(16)
    words[is_move] = probs | records.target_action
    return words, ends[records.offsets]


@inline
def _unpack_head(words: Any, at: Any) -> Any:
    """Ply in its game, count of moves and whether the search was full, from word ``at`` on."""
    head = np.int64(words[at])
    return head & 0xFFFF, head >> 16 & 0x7FFF, head >> 31


@kernel
def read_heads(words, word_offsets, ply_offsets, columns):  # type: ignore[no-untyped-def]
    """Visits, full, thought and the count of moves, this one place late; False if none fits."""
    visits, full, thought, counts = columns
    for game in range(len(ply_offsets) - 1):
        at = word_offsets[game]
        while at < word_offsets[game + 1]:
            ply, count, is_full = _unpack_head(words, at)
            ply += ply_offsets[game]
            if ply >= ply_offsets[game + 1]:
                return False
            visits[ply], thought[ply] = words[at + 1], words[at + 2]
            full[ply] = is_full
            counts[ply + 1] = count
            at += HEAD_WORDS + count
    return True


@kernel
def read_moves(words, word_offsets, ply_offsets, targets):  # type: ignore[no-untyped-def]
    """Actions and probabilities of all targets, at the places that ``offsets`` give them."""
    offsets, action, prob = targets
    for game in range(len(ply_offsets) - 1):
        at = word_offsets[game]
        while at < word_offsets[game + 1]:
            ply, count, _ = _unpack_head(words, at)
            first = offsets[ply_offsets[game] + ply]
            for index in range(count):
                _insert_move(action, prob, first, first + index, words[at + HEAD_WORDS + index])
            at += HEAD_WORDS + count


@inline
def _insert_move(action: Any, prob: Any, first: Any, end: Any, word: Any) -> None:
    """Put a move among those of its ply at ``first`` .. ``end``, which ascend."""
    code = np.uint16(np.int64(word) & 0xFFFF)
    while end > first and action[end - 1] > code:
        action[end], prob[end] = action[end - 1], prob[end - 1]
        end -= 1
    action[end] = code
    prob[end] = np.uint16(np.int64(word) >> 16)
