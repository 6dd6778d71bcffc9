"""The mover's kernel: from the network's answers to the next questions, for thousands of games.

One call takes answered rows, and for each draws a move, logs it, makes it, generates the legal
moves of the new position and encodes it as the next question; a game that ended is set down in
``Finished`` and the next number starts in its seat. Nothing here depends on any other game.
"""

from typing import Any

import numpy as np

from vecchess.inference.requests import POLICY_BYTES, WDL_BYTES
from vecchess.jit import inline, kernel
from vecchess.rng import random_u64
from vecchess.search.kernels.sampling import draw_index, write_softmax_weights
from vecchess.selfplay.games.fingerprint import fold_answer_unbatched, tag_unbatched
from vecchess.selfplay.games.game_kernel import (
    CONSUMED,
    ONGOING,
    OPENING_ATTEMPTS,
    PLAYED,
    READY,
    SUPPLIED,
    ask_unbatched,
    draw_randomly_unbatched,
    finish_unbatched,
    give_up_unbatched,
    is_full_unbatched,
    move_unbatched,
    next_number_unbatched,
    outcome_unbatched,
    set_up_unbatched,
    take_back_unbatched,
)
from vecchess.selfplay.games.game_table import VACANT
from vecchess.selfplay.games.ply_log import pack_ply_unbatched
from vecchess.store.records import VALUE_UNIT

# What is to be done next in a seat: set the board up, play a random move, or the network's.
BEGIN, RANDOM, ANSWER = range(3)


@kernel
def play_rows(tables, games, requests, rules, log, finished, supply, scratch, rows, ready, cursor):  # type: ignore[no-untyped-def]
    """Play a move in each of ``rows`` and put the rows with a new question into ``ready``.

    A row without a game starts one. Stops early when ``finished`` is full or ``supply`` (numbers
    of games to start; a negative one means no more will come) is used up; ``cursor`` tells how
    far it got. The caller has reserved log pages: 1 + random_plies / 16 for each row.
    """
    while cursor[CONSUMED] < len(rows):
        if is_full_unbatched(rules, finished, cursor) or cursor[SUPPLIED] == len(supply):
            return
        row = rows[cursor[CONSUMED]]
        cursor[CONSUMED] += 1
        seat = np.int64(row - requests.first)
        if _play_seat(tables, games, requests, rules, log, finished, supply, scratch, seat, cursor):
            ready[cursor[READY]] = row
            cursor[READY] += 1


@inline
def _play_seat(
    tables: Any, games: Any, requests: Any, rules: Any, log: Any,
    finished: Any, supply: Any, scratch: Any, seat: Any, cursor: Any,
) -> Any:  # fmt: skip
    """Bring one seat to its next question; False if it is left without a game.

    A loop, not calls, so that every part is compiled in one place and inlined there: passing
    these arrays to a function costs more than a move.
    """
    moves, weights = scratch
    attempt = 0
    task = ANSWER
    if games.number[seat] == VACANT:
        if not next_number_unbatched(games, rules, supply, seat, cursor):
            return False
        task = BEGIN
    while True:
        code = ONGOING
        steps, win, draw, choice, prob, tag = 0, 0, 0, 0, np.float32(0.0), np.uint64(0)
        if task == BEGIN:
            set_up_unbatched(games, rules, seat)
        elif task == RANDOM:
            choice, prob = draw_randomly_unbatched(games, requests, rules, seat, attempt)
        else:
            games.fingerprint[seat] = fold_answer_unbatched(games.fingerprint[seat], requests, seat)
            tag = tag_unbatched(games.fingerprint[seat], rules.num_tags)
            steps, win, draw = _value(requests, rules, seat, weights)
            code = give_up_unbatched(games, rules, seat, win, draw)
            choice, prob = _draw_by_policy(games, requests, rules, seat, steps, weights)
        if code == ONGOING:
            if task != BEGIN:
                action = requests.legal[seat, choice]
                word = pack_ply_unbatched(action, steps, win, draw, prob, tag, rules.most_steps)
                move_unbatched(tables, games, log, seat, action, word)
                cursor[PLAYED] += 1
            code = ask_unbatched(tables, games, requests, rules, seat, moves)
        if code != ONGOING and task == ANSWER:
            outcome = outcome_unbatched(code)
            finish_unbatched(games, log, finished, seat, code, outcome, cursor)
            if not next_number_unbatched(games, rules, supply, seat, cursor):
                return False
            task = BEGIN
        elif code != ONGOING:
            take_back_unbatched(games, log, seat)
            attempt += 1
            task = BEGIN
        elif task != ANSWER and games.ply[seat] < rules.random_plies * (attempt < OPENING_ATTEMPTS):
            task = RANDOM
        else:
            return True


@inline
def _value(requests: Any, rules: Any, seat: Any, weights: Any) -> Any:
    """Time steps of the answer, and the mover's win and draw in 1/511."""
    steps = np.int64(requests.steps[seat])
    scale = rules.value_scale / np.float32(steps)
    wdl = np.int64(requests.wdl.ctypes.data) + seat * WDL_BYTES
    total = np.int64(write_softmax_weights(wdl, 3, scale, np.int64(weights.ctypes.data)))
    win = (np.int64(weights[0]) * VALUE_UNIT + total // 2) // total
    draw = (np.int64(weights[1]) * VALUE_UNIT + total // 2) // total
    return steps, win, min(draw, VALUE_UNIT - win)


@inline
def _draw_by_policy(
    games: Any, requests: Any, rules: Any, seat: Any, steps: Any, weights: Any
) -> Any:
    """A legal move drawn from the network's policy at this ply's temperature, its probability."""
    ply = games.ply[seat]
    count = np.int64(requests.num_legal[seat])
    scale = rules.policy_scale[ply] / np.float32(steps)
    policy = np.int64(requests.policy.ctypes.data) + seat * POLICY_BYTES
    listed = np.int64(weights.ctypes.data)
    total = write_softmax_weights(policy, count, scale, listed)
    choice = draw_index(listed, total, random_u64(rules.seed, games.number[seat], ply))
    return choice, np.float32(weights[choice]) / np.float32(total)
