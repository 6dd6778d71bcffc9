"""The mover's kernel without search: from the network's answers to the next requests.

One call takes answered rows. For each it draws a move, logs and makes it, generates the legal moves
of the new position and encodes it as the next request. A game that ended is copied to ``finished``,
and the next game starts in its row. So is one that has to wait for the next generation of a
training. Games do not depend on each other.
"""

from typing import Any

import numpy as np

from vecchess.inference.requests import POLICY_BYTES, WDL_BYTES
from vecchess.jit import inline, kernel
from vecchess.rng import random_u64
from vecchess.search.kernels.sampling import draw_index, write_softmax_weights
from vecchess.selfplay.games.fingerprint import fingerprint_tag, fold_answer
from vecchess.selfplay.games.game_kernel import (
    CONSUMED,
    ONGOING,
    PLAYED,
    READY,
    SUPPLIED,
    finished_is_full,
    outcome_for_mover,
    play_move,
    record_end,
    resign_or_adjudicate,
    start_next_game,
    write_request,
)
from vecchess.selfplay.games.game_table import VACANT
from vecchess.selfplay.games.ply_log import pack_ply
from vecchess.store.records import VALUE_UNIT


@kernel
def play_rows(tables, games, requests, rules, log, finished, supply, scratch, rows, ready, cursor):  # type: ignore[no-untyped-def]
    """Play a move in each of ``rows`` and put the rows with a new request into ``ready``.

    A vacant row starts a game. Stops early when ``finished`` is full or ``supply`` (ids of games to
    start; a negative one means no more will come) is used up; ``cursor`` tells how far it got. The
    caller has reserved log pages: 1 + random_plies / 16 for each row.
    """
    while cursor[CONSUMED] < len(rows):
        if finished_is_full(rules, finished, cursor) or cursor[SUPPLIED] == len(supply):
            return
        row = rows[cursor[CONSUMED]]
        cursor[CONSUMED] += 1
        game = np.int64(row)
        if _play_row(tables, games, requests, rules, log, finished, supply, scratch, game, cursor):
            ready[cursor[READY]] = row
            cursor[READY] += 1


@inline
def _play_row(
    tables: Any, games: Any, requests: Any, rules: Any, log: Any,
    finished: Any, supply: Any, scratch: Any, game: Any, cursor: Any,
) -> Any:  # fmt: skip
    """Play one row's game to its next request; False if the row is left vacant."""
    moves, weights = scratch
    if games.number[game] != VACANT:
        code = _play_answer(tables, games, requests, rules, log, moves, weights, game, cursor)
        games.left[game] -= 1
        if code == ONGOING and games.left[game] != 0:
            return True
        record_end(games, log, finished, game, code, outcome_for_mover(code), cursor)
    while start_next_game(tables, games, requests, rules, log, supply, moves, game, cursor):
        if games.left[game] != 0:
            return True
        record_end(games, log, finished, game, np.int64(ONGOING), np.int64(0), cursor)
        if finished_is_full(rules, finished, cursor) or cursor[SUPPLIED] == len(supply):
            return False
    return False


@inline
def _play_answer(
    tables: Any, games: Any, requests: Any, rules: Any, log: Any,
    moves: Any, weights: Any, game: Any, cursor: Any,
) -> Any:  # fmt: skip
    """Play the move that the answer gives and write the next request; returns why the game is
    over, or ONGOING."""
    games.fingerprint[game] = fold_answer(games.fingerprint[game], requests, game)
    steps, win, draw = _value(requests, rules, game, weights)
    code = resign_or_adjudicate(games, rules, game, win, draw)
    if code != ONGOING:
        return code
    choice, prob = _draw_by_policy(games, requests, rules, game, steps, weights)
    tag = fingerprint_tag(games.fingerprint[game], rules.num_tags)
    action = requests.legal[game, choice]
    word = pack_ply(action, steps, win, draw, prob, tag, rules.most_steps)
    play_move(tables, games, log, game, action, word)
    cursor[PLAYED] += 1
    return write_request(tables, games, requests, rules, game, moves)


@inline
def _value(requests: Any, rules: Any, game: Any, weights: Any) -> Any:
    """Time steps of the answer, and win and draw in 1/511 from the mover's view."""
    steps = np.int64(requests.steps[game])
    scale = rules.value_scale / np.float32(steps)
    wdl = np.int64(requests.wdl.ctypes.data) + game * WDL_BYTES
    total = np.int64(write_softmax_weights(wdl, 3, scale, np.int64(weights.ctypes.data)))
    win = (np.int64(weights[0]) * VALUE_UNIT + total // 2) // total
    draw = (np.int64(weights[1]) * VALUE_UNIT + total // 2) // total
    return steps, win, min(draw, VALUE_UNIT - win)


@inline
def _draw_by_policy(
    games: Any, requests: Any, rules: Any, game: Any, steps: Any, weights: Any
) -> Any:
    """A legal move drawn from the network's policy at this ply's temperature, its probability."""
    ply = games.ply[game]
    count = np.int64(requests.num_legal[game])
    scale = rules.policy_scale[ply] / np.float32(steps)
    policy = np.int64(requests.policy.ctypes.data) + game * POLICY_BYTES
    listed = np.int64(weights.ctypes.data)
    total = write_softmax_weights(policy, count, scale, listed)
    choice = draw_index(listed, total, random_u64(rules.seed, games.number[game], ply))
    return choice, np.float32(weights[choice]) / np.float32(total)
