"""What the searches of unfinished games found, in pages of 64 words.

A searched ply is 3 words, uint32, and one for every move of its policy target:

    word 0   bit  0..15 ply in the game   16..30 count of moves   31 full search
    word 1   simulations of the root
    word 2   time steps of the network in all answers
    word 3.. bit  0..15 action            16..31 probability in 1/65535

A game's plies follow each other without gaps, over the ends of pages. Plies that were not
searched take no words.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.jit import inline, kernel
from vecchess.selfplay.games.paged_log import PagedLog, next_place
from vecchess.shapes import MAX_MOVES
from vecchess.store.records import GameRecords, empty_search_columns

PAGE_WORDS = 64
HEAD_WORDS = 3
MOST_WORDS = HEAD_WORDS + MAX_MOVES
"""Words of one searched ply at most."""
MOST_PAGES = -(-MOST_WORDS // PAGE_WORDS)
"""Pages that one searched ply begins at most."""


def target_log() -> PagedLog:
    """A log of searches without pages: uint32[pages, 64, 1]."""
    return PagedLog(PAGE_WORDS, 1, np.uint32)


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
    fits = _read_heads(words, word_offsets, ply_offsets, (visits, full, thought, offsets))
    assert fits, "a search was logged for a ply that the game does not have"
    np.cumsum(offsets, out=offsets)
    action, prob = (np.empty(offsets[-1], np.uint16) for _ in range(2))
    _read_moves(words, word_offsets, ply_offsets, (offsets, action, prob))
    return columns | {"target_action": action, "target_prob": prob}


def pack_targets(records: GameRecords) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """What ``unpack_targets`` was given: uint32[W] words of G games, int64[G + 1] their first ones.

    A target's moves are in ascending order of action.
    """
    is_searched = (records.visits > 0) | (records.full > 0) | (records.thought > 0)
    lengths = np.where(is_searched, HEAD_WORDS + np.diff(records.target_offsets), 0)
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
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
def _read_heads(words, word_offsets, ply_offsets, columns):  # type: ignore[no-untyped-def]
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
def _read_moves(words, word_offsets, ply_offsets, targets):  # type: ignore[no-untyped-def]
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
