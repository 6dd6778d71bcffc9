"""Saved games are set up again: their moves are made once more, and nobody is asked about them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards import tables
from vecchess.jit import inline, kernel
from vecchess.selfplay.games.game_kernel import (
    CURSOR_WORDS,
    ONGOING,
    SUPPLIED,
    ask_unbatched,
    move_unbatched,
    next_number_unbatched,
    set_up_unbatched,
)
from vecchess.selfplay.games.game_table import VACANT, GameTable, RequestSlice, Rules
from vecchess.selfplay.games.paged_log import NO_PAGE, Pages
from vecchess.selfplay.games.ply_log import PAGE_PLIES, free_plies_unbatched, pack_ply_unbatched
from vecchess.store.inflight import SavedGames


class Resumed(NamedTuple):
    """The columns of K saved games that the kernel reads, see ``SavedGames``."""

    number: NDArray[np.int64]
    start: NDArray[np.uint64]
    resign: NDArray[np.uint8]
    low_turns: NDArray[np.uint8]
    level_plies: NDArray[np.uint8]
    fingerprint: NDArray[np.uint64]
    offsets: NDArray[np.int64]
    action: NDArray[np.uint16]
    steps: NDArray[np.uint8]
    win: NDArray[np.uint16]
    draw: NDArray[np.uint16]
    prob: NDArray[np.float32]
    tag: NDArray[np.uint8]

    @classmethod
    def of(cls, saved: SavedGames) -> "Resumed":
        """Those of ``saved``."""
        records = saved.records
        named = {name: getattr(records, name) for name in cls._fields if hasattr(records, name)}
        named |= {"low_turns": saved.low_turns, "level_plies": saved.level_plies}
        return cls(number=records.numbers, **named)


def log_pages_of(saved: SavedGames) -> int:
    """Pages that the plies of ``saved`` take in the log."""
    return int((-(-saved.records.lengths // PAGE_PLIES)).sum())


def set_up(
    saved: SavedGames,
    rows: NDArray[np.int32],
    games: GameTable,
    desk: RequestSlice,
    rules: Rules,
    log: Pages,
    moves: NDArray[np.uint16],
) -> NDArray[np.bool_]:
    """bool[K]: in which of the vacant ``rows`` (int32[K]) game i of ``saved`` now waits for the
    answer to its next question. moves: room for a list of them. See ``resume_rows``."""
    is_set_up = np.empty(len(rows), np.bool_)
    cursor = np.zeros(CURSOR_WORDS, np.int64)
    columns = Resumed.of(saved)
    resume_rows(tables.address(), games, desk, rules, log, moves, columns, rows, is_set_up, cursor)
    return is_set_up


@kernel
def resume_rows(  # type: ignore[no-untyped-def]
    tables, games, requests, rules, log, moves, saved, rows, is_set_up, cursor
):
    """Set game i of ``saved`` up in the vacant ``rows[i]``, and pose its next question.

    ``is_set_up`` (bool[K]) tells where that worked; where the moves cannot be made, or the start
    is another than the number's, the seat stays vacant. The caller has reserved ``log_pages_of``.
    ``cursor``: see ``seats``; it is written over.
    """
    for index in range(len(rows)):
        seat = np.int64(rows[index] - requests.first)
        is_set_up[index] = _resume_seat(
            tables, games, requests, rules, log, moves, saved, seat, index, cursor
        )


@inline
def _resume_seat(
    tables: Any, games: Any, requests: Any, rules: Any, log: Any,
    moves: Any, saved: Any, seat: Any, index: Any, cursor: Any,
) -> Any:  # fmt: skip
    """True where the game is set up."""
    cursor[SUPPLIED] = index
    next_number_unbatched(games, rules, saved.number, seat, cursor)
    set_up_unbatched(games, rules, seat)
    games.pages[seat, 0] = NO_PAGE
    games.pages[seat, 1] = NO_PAGE
    ply, end = saved.offsets[index], saved.offsets[index + 1]
    fits = _is_its_start(games, rules, saved, seat, index)
    while fits:
        fits = ask_unbatched(tables, games, requests, rules, seat, moves) == ONGOING
        if ply == end or not fits:
            break
        fits = _is_its_ply(requests, rules, saved, seat, ply)
        if fits:
            action = saved.action[ply]
            word = pack_ply_unbatched(
                action, saved.steps[ply], saved.win[ply], saved.draw[ply], saved.prob[ply],
                saved.tag[ply], rules.most_steps,
            )  # fmt: skip
            move_unbatched(tables, games, log, seat, action, word)
            ply += 1
    if not fits:
        free_plies_unbatched(log, games.pages[seat, 0], games.pages[seat, 1], games.ply[seat])
        games.number[seat] = VACANT
        return False
    games.resign[seat] = saved.resign[index]
    games.low_turns[seat, 0] = saved.low_turns[index, 0]
    games.low_turns[seat, 1] = saved.low_turns[index, 1]
    games.level_plies[seat] = saved.level_plies[index]
    games.fingerprint[seat] = saved.fingerprint[index]
    return True


@inline
def _is_its_start(games: Any, rules: Any, saved: Any, seat: Any, index: Any) -> Any:
    """Whether the game was begun from the position that is drawn for its number."""
    same = True
    for word in range(saved.start.shape[1]):
        same &= saved.start[index, word] == rules.starts[games.start[seat], word]
    return same


@inline
def _is_its_ply(requests: Any, rules: Any, saved: Any, seat: Any, ply: Any) -> Any:
    """Whether a ply can be played in the position that was asked about, and logged."""
    fits = saved.steps[ply] <= rules.most_steps and saved.tag[ply] < rules.num_tags
    is_legal = False
    for choice in range(requests.num_legal[seat]):
        is_legal |= requests.legal[seat, choice] == saved.action[ply]
    return fits and is_legal
