"""Sets saved games up again: their moves are made once more, without asking the network."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards import tables
from vecchess.inference.requests import Requests
from vecchess.jit import inline, kernel
from vecchess.selfplay.games.game_kernel import (
    ONGOING,
    draw_game,
    play_move,
    set_up_board,
    write_request,
)
from vecchess.selfplay.games.game_log import PAGE_PLIES, Pages, free_items, pack_ply
from vecchess.selfplay.games.game_table import VACANT, GameTable, Rules
from vecchess.store.inflight import SavedGames


class Resumed(NamedTuple):
    """The columns of K saved games that the kernel reads, see ``SavedGames``."""

    number: NDArray[np.int64]
    start: NDArray[np.uint64]
    resign: NDArray[np.uint8]
    low_turns: NDArray[np.uint8]
    level_plies: NDArray[np.uint8]
    left: NDArray[np.int32]
    fingerprint: NDArray[np.uint64]
    offsets: NDArray[np.int64]
    action: NDArray[np.uint16]
    steps: NDArray[np.uint8]
    win: NDArray[np.uint16]
    draw: NDArray[np.uint16]
    prob: NDArray[np.float32]
    tag: NDArray[np.uint8]

    @classmethod
    def of(cls, saved: SavedGames, turns: int) -> "Resumed":
        """The columns of ``saved``; ``turns``: left of each game where ``saved`` does not tell."""
        records, left = saved.records, saved.left
        if left is None:
            left = np.full(records.num_games, turns, np.int32)
        named = {name: getattr(records, name) for name in cls._fields if hasattr(records, name)}
        named |= {"low_turns": saved.low_turns, "level_plies": saved.level_plies, "left": left}
        return cls(number=records.numbers, **named)


def log_pages_of(saved: SavedGames) -> int:
    """Pages that the plies of ``saved`` take in the log."""
    return int((-(-saved.records.lengths // PAGE_PLIES)).sum())


def set_up_saved(
    saved: SavedGames,
    rows: NDArray[np.int32],
    games: GameTable,
    requests: Requests,
    rules: Rules,
    log: Pages,
    moves: NDArray[np.uint16],
) -> NDArray[np.bool_]:
    """bool[K]: in which of the vacant ``rows`` (int32[K]) game i of ``saved`` now waits for the
    answer to its next question. moves: room for a list of them. See ``resume_rows``."""
    is_set_up, columns = np.empty(len(rows), np.bool_), Resumed.of(saved, rules.turns)
    resume_rows(tables.address(), games, requests, rules, log, moves, columns, rows, is_set_up)
    return is_set_up


@kernel
def resume_rows(tables, games, requests, rules, log, moves, saved, rows, is_set_up):  # type: ignore[no-untyped-def]
    """Set game i of ``saved`` up in the vacant ``rows[i]``, and write its next request.

    ``is_set_up`` (bool[K]) tells where that worked; where the moves cannot be made, or the start
    is not the one drawn for the id, the row stays vacant. The caller has reserved ``log_pages_of``.
    """
    for index in range(len(rows)):
        game = np.int64(rows[index])
        is_set_up[index] = _resume_game(
            tables, games, requests, rules, log, moves, saved, game, index
        )


@inline
def _resume_game(
    tables: Any, games: Any, requests: Any, rules: Any, log: Any,
    moves: Any, saved: Any, game: Any, index: Any,
) -> Any:  # fmt: skip
    """Set one game up; False where that fails."""
    draw_game(games, rules, game, saved.number[index])
    set_up_board(games, rules, game)
    ply, end = saved.offsets[index], saved.offsets[index + 1]
    fits = _is_its_start(games, rules, saved, game, index)
    while fits:
        fits = write_request(tables, games, requests, rules, game, moves) == ONGOING
        if ply == end or not fits:
            break
        fits = _is_its_ply(requests, rules, saved, game, ply)
        if fits:
            action = saved.action[ply]
            word = pack_ply(
                action, saved.steps[ply], saved.win[ply], saved.draw[ply], saved.prob[ply],
                saved.tag[ply], rules.most_steps,
            )  # fmt: skip
            play_move(tables, games, log, game, action, word)
            ply += 1
    if not fits:
        free_items(log, games.pages, game, games.ply[game])
        games.number[game] = VACANT
        return False
    games.resign[game] = saved.resign[index]
    games.low_turns[game, 0] = saved.low_turns[index, 0]
    games.low_turns[game, 1] = saved.low_turns[index, 1]
    games.level_plies[game] = saved.level_plies[index]
    games.left[game] = saved.left[index]
    games.fingerprint[game] = saved.fingerprint[index]
    return True


@inline
def _is_its_start(games: Any, rules: Any, saved: Any, game: Any, index: Any) -> Any:
    """Whether the game was begun from the position that is drawn for its id."""
    same = True
    for word in range(saved.start.shape[1]):
        same &= saved.start[index, word] == rules.starts[games.start[game], word]
    return same


@inline
def _is_its_ply(requests: Any, rules: Any, saved: Any, game: Any, ply: Any) -> Any:
    """Whether a ply can be played in the position that was asked about, and logged."""
    fits = saved.steps[ply] <= rules.most_steps and saved.tag[ply] < rules.num_tags
    is_legal = False
    for choice in range(requests.num_legal[game]):
        is_legal |= requests.legal[game, choice] == saved.action[ply]
    return fits and is_legal
