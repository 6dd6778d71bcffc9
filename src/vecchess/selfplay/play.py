"""The mover's kernel: from the network's answers to the next questions, for thousands of games.

One call takes answered rows, and for each draws a move, logs it, makes it, generates the legal
moves of the new position and encodes it as the next question; a game that ended is set down in
``Finished`` and the next number starts in its seat. Nothing here depends on any other game.
"""

from typing import Any

import numpy as np

from vecchess.chess.action import action_to_move_unbatched, encode_actions_unbatched
from vecchess.chess.make import make_unbatched
from vecchess.chess.movegen import generate_unbatched
from vecchess.chess.planes import NUM_PLANES, encode_planes_unbatched
from vecchess.chess.position import colour_unbatched, ply_unbatched
from vecchess.chess.rules import (
    KEY_HISTORY,
    Termination,
    push_key_unbatched,
    termination_unbatched,
)
from vecchess.jit import inline, kernel
from vecchess.rng import random_below, random_u64
from vecchess.search.sampling import draw_unbatched, weigh_unbatched
from vecchess.selfplay.games import VACANT
from vecchess.selfplay.ply_log import (
    append_ply_unbatched,
    free_pages_unbatched,
    pack_ply_unbatched,
    take_plies_unbatched,
)
from vecchess.shapes import MAX_MOVES, POSITION_WORDS
from vecchess.store.records import (
    BLACK_WOULD_RESIGN,
    PLAYTHROUGH,
    VALUE_UNIT,
    WHITE_WOULD_RESIGN,
)

ONGOING = int(Termination.ONGOING)
CHECKMATE = int(Termination.CHECKMATE)
RESIGNATION = int(Termination.RESIGNATION)
ADJUDICATION = int(Termination.ADJUDICATION)

# What a random number is for: plies count from 0, the other draws of a game have their own range.
START_DRAW = 1 << 32
PLAYTHROUGH_DRAW = START_DRAW + 1
OPENING_DRAW = START_DRAW + 2
OPENING_ATTEMPTS = 64
"""Random openings that end the game are drawn again, so often at most; then there is none."""
MAX_OPENING_PLIES = 64

POSITION_BYTES = 8 * POSITION_WORDS
KEYS_BYTES = 8 * KEY_HISTORY
LEGAL_BYTES = 2 * MAX_MOVES
PLANES_BYTES = 8 * NUM_PLANES

# Places of the cursor, int64[6], which a call updates.
CONSUMED, READY, PLAYED, SUPPLIED, GAMES_DONE, PLIES_DONE = range(6)


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
        if _must_stop(rules, finished, supply, cursor):
            return
        row = rows[cursor[CONSUMED]]
        cursor[CONSUMED] += 1
        seat = np.int64(row - requests.first)
        if _play_seat(tables, games, requests, rules, log, finished, supply, scratch, seat, cursor):
            ready[cursor[READY]] = row
            cursor[READY] += 1


@inline
def _must_stop(rules: Any, finished: Any, supply: Any, cursor: Any) -> Any:
    full = cursor[GAMES_DONE] == len(finished.number)
    full |= cursor[PLIES_DONE] + rules.max_plies > len(finished.logged)
    return full or cursor[SUPPLIED] == len(supply)


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
        if not _next_number(games, rules, supply, seat, cursor):
            return False
        task = BEGIN
    while True:
        code = ONGOING
        steps, win, draw, choice, prob = 0, 0, 0, 0, np.float32(0.0)
        if task == BEGIN:
            _set_up(games, rules, seat)
        elif task == RANDOM:
            choice, prob = _draw_randomly(games, requests, rules, seat, attempt)
        else:
            steps, win, draw = _value(requests, rules, seat, weights)
            code = _give_up(games, rules, seat, win, draw)
            choice, prob = _draw_by_policy(games, requests, rules, seat, steps, weights)
        if code == ONGOING:
            if task != BEGIN:
                word = pack_ply_unbatched(requests.legal[seat, choice], steps, win, draw, prob)
                _move(tables, games, requests, log, seat, choice, word)
                cursor[PLAYED] += 1
            code = _ask(tables, games, requests, rules, seat, moves)
        if code != ONGOING and task == ANSWER:
            _finish(games, log, finished, seat, code, cursor)
            if not _next_number(games, rules, supply, seat, cursor):
                return False
            task = BEGIN
        elif code != ONGOING:
            _take_back(games, log, seat)
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
    total = np.int64(weigh_unbatched(requests.wdl, seat, 3, scale, weights))
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
    total = weigh_unbatched(requests.policy, seat, count, scale, weights)
    choice = draw_unbatched(weights, total, random_u64(rules.seed, games.number[seat], ply))
    return choice, np.float32(weights[choice]) / np.float32(total)


@inline
def _draw_randomly(games: Any, requests: Any, rules: Any, seat: Any, attempt: Any) -> Any:
    """Any legal move, and its probability."""
    count = np.int64(requests.num_legal[seat])
    counter = OPENING_DRAW + attempt * MAX_OPENING_PLIES + games.ply[seat]
    choice = random_below(rules.seed, games.number[seat], counter, count)
    return choice, np.float32(1.0) / np.float32(count)


@inline
def _give_up(games: Any, rules: Any, seat: Any, win: Any, draw: Any) -> Any:
    """Resignation and adjudication; notes who would have resigned."""
    if rules.resign_below > 0:
        colour = np.int64(colour_unbatched(_board(games, seat)))
        low = 2 * win + draw < rules.resign_below
        turns = min(games.low_turns[seat, colour] + 1, 255) if low else 0
        games.low_turns[seat, colour] = turns
        if turns >= rules.resign_turns:
            would = BLACK_WOULD_RESIGN if colour else WHITE_WOULD_RESIGN
            games.resign[seat] = games.resign[seat] | np.uint8(would)
            if not games.resign[seat] & PLAYTHROUGH:
                return RESIGNATION
    if rules.level_plies > 0:
        loss = VALUE_UNIT - win - draw
        level = abs(win - loss) <= rules.level_within
        games.level_plies[seat] = min(games.level_plies[seat] + 1, 255) if level else 0
        if games.level_plies[seat] >= rules.level_plies:
            return ADJUDICATION
    return ONGOING


@inline
def _move(
    tables: Any, games: Any, requests: Any, log: Any, seat: Any, choice: Any, word: Any
) -> None:
    """Log a ply and make its move on the board."""
    first, last = append_ply_unbatched(
        log, games.pages[seat, 0], games.pages[seat, 1], games.ply[seat], word
    )
    games.pages[seat, 0] = first
    games.pages[seat, 1] = last
    games.ply[seat] += 1
    position = _board(games, seat)
    action = requests.legal[seat, choice]
    make_unbatched(tables, position, action_to_move_unbatched(tables, position, action))


@inline
def _ask(tables: Any, games: Any, requests: Any, rules: Any, seat: Any, moves: Any) -> Any:
    """Write the question of the position on the board; returns why the game is over, or ONGOING."""
    position = _board(games, seat)
    moves_list = np.int64(moves.ctypes.data)
    packed = generate_unbatched(tables, position, moves_list)
    num_moves, in_check = packed & 0xFFFF, packed >> 16
    repetitions = push_key_unbatched(position, np.int64(games.keys.ctypes.data) + seat * KEYS_BYTES)
    cap = ply_unbatched(position) + rules.max_plies - games.ply[seat]
    code = termination_unbatched(position, num_moves, in_check, repetitions, cap)
    if code == ONGOING:
        legal = np.int64(requests.legal.ctypes.data) + seat * LEGAL_BYTES
        encode_actions_unbatched(tables, moves_list, num_moves, legal)
        requests.num_legal[seat] = num_moves
        planes = np.int64(requests.planes.ctypes.data) + seat * PLANES_BYTES
        encode_planes_unbatched(position, repetitions, in_check, planes)
    return code


@inline
def _board(games: Any, seat: Any) -> Any:
    """Address of the seat's position."""
    return np.int64(games.position.ctypes.data) + seat * POSITION_BYTES


@inline
def _next_number(games: Any, rules: Any, supply: Any, seat: Any, cursor: Any) -> Any:
    """Give the seat the next game, with what is drawn once a game; False if there is none."""
    number = supply[cursor[SUPPLIED]]
    games.number[seat] = VACANT
    if number < 0:
        return False
    cursor[SUPPLIED] += 1
    games.number[seat] = number
    games.start[seat] = random_below(rules.seed, number, START_DRAW, len(rules.starts))
    play_on = random_u64(rules.seed, number, PLAYTHROUGH_DRAW) < rules.playthrough
    games.resign[seat] = PLAYTHROUGH if play_on and rules.resign_below > 0 else 0
    games.low_turns[seat, 0] = 0
    games.low_turns[seat, 1] = 0
    games.level_plies[seat] = 0
    return True


@inline
def _set_up(games: Any, rules: Any, seat: Any) -> None:
    """Put the game's start position on the board."""
    for word in range(games.position.shape[1]):
        games.position[seat, word] = rules.starts[games.start[seat], word]
    for index in range(games.keys.shape[1]):  # a start position may come with a clock
        games.keys[seat, index] = 0
    games.ply[seat] = 0


@inline
def _finish(games: Any, log: Any, finished: Any, seat: Any, code: Any, cursor: Any) -> None:
    """Set the game down in ``finished``."""
    colour = np.int64(colour_unbatched(_board(games, seat)))
    done, plies = cursor[GAMES_DONE], games.ply[seat]
    finished.number[done] = games.number[seat]
    finished.start[done] = games.start[seat]
    finished.plies[done] = plies
    lost = code in (CHECKMATE, RESIGNATION)
    finished.result[done] = (2 * colour - 1) if lost else 0
    finished.termination[done] = code
    finished.resign[done] = games.resign[seat]
    first, last = games.pages[seat, 0], games.pages[seat, 1]
    take_plies_unbatched(log, first, last, plies, finished.logged, cursor[PLIES_DONE])
    cursor[GAMES_DONE] += 1
    cursor[PLIES_DONE] += plies


@inline
def _take_back(games: Any, log: Any, seat: Any) -> None:
    """Give the log pages of an opening that ended the game back."""
    free_pages_unbatched(log, games.pages[seat, 0], games.pages[seat, 1], games.ply[seat])
