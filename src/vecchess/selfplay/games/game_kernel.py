"""The kernel of movers without search, and what it does with one row, with or without search.

``game`` is the row's index. A row holds one game: its id, board, key history, last positions and
log; games do not depend on each other.
"""

from typing import Any

import numpy as np

from vecchess.chess.action import LEGAL_BYTES, action_to_move
from vecchess.chess.game_cursor import write_question
from vecchess.chess.history import PAST_BYTES, push_position
from vecchess.chess.make import make_move
from vecchess.chess.movegen import generate_moves
from vecchess.chess.position import POSITION_BYTES, colour_of, ply_of
from vecchess.chess.rules import KEYS_BYTES, Termination, push_key, termination_of
from vecchess.inference.requests import POLICY_BYTES, WDL_BYTES
from vecchess.jit import inline, kernel, part
from vecchess.rng import random_below, random_u64
from vecchess.search.kernels.sampling import draw_index, write_softmax_weights
from vecchess.selfplay.games.fingerprint import START, fingerprint_tag, fold_answer
from vecchess.selfplay.games.game_log import append_ply, free_items, pack_ply, take_items
from vecchess.selfplay.games.game_table import VACANT
from vecchess.store.records import (
    BLACK_WOULD_RESIGN,
    NO_FINGERPRINT,
    PLAYTHROUGH,
    VALUE_UNIT,
    WHITE_WOULD_RESIGN,
)

ONGOING = int(Termination.ONGOING)
CHECKMATE = int(Termination.CHECKMATE)
RESIGNATION = int(Termination.RESIGNATION)
ADJUDICATION = int(Termination.ADJUDICATION)
TABLEBASE = int(Termination.TABLEBASE)

# Counters of a game's random numbers: plies count from 0, other draws have a range of their own.
START_DRAW = 1 << 32
PLAYTHROUGH_DRAW = START_DRAW + 1
OPENING_DRAW = START_DRAW + 2
OPENING_ATTEMPTS = 64
"""A random opening that ends the game is drawn again up to this often; then there is none."""
MAX_OPENING_PLIES = 64

# Places of the cursor, int64[7], which a call updates. PLAYED: moves but for random openings.
CONSUMED, READY, PLAYED, SUPPLIED, GAMES_DONE, PLIES_DONE, WORDS_DONE = range(7)
CURSOR_WORDS = 7


@inline
def finished_is_full(rules: Any, finished: Any, cursor: Any) -> Any:
    """True when ``finished`` may have no room for a game that ends, and the opening of the next,
    which may have to wait at once."""
    full = cursor[GAMES_DONE] + 1 >= len(finished.number)
    return full or cursor[PLIES_DONE] + 2 * rules.max_plies > len(finished.logged)


@inline
def resign_or_adjudicate(games: Any, rules: Any, game: Any, win: Any, draw: Any) -> Any:
    """RESIGNATION, ADJUDICATION or ONGOING; marks the side that would have resigned.

    win, draw: in 1/511 from the mover's view.
    """
    if rules.resign_below > 0:
        colour = np.int64(colour_of(board_of(games, game)))
        low = 2 * win + draw < rules.resign_below
        turns = min(games.low_turns[game, colour] + 1, 255) if low else 0
        games.low_turns[game, colour] = turns
        if turns >= rules.resign_turns:
            would = BLACK_WOULD_RESIGN if colour else WHITE_WOULD_RESIGN
            games.resign[game] = games.resign[game] | np.uint8(would)
            if not games.resign[game] & PLAYTHROUGH:
                return RESIGNATION
    if rules.level_plies > 0:
        loss = VALUE_UNIT - win - draw
        level = abs(win - loss) <= rules.level_within
        games.level_plies[game] = min(games.level_plies[game] + 1, 255) if level else 0
        if games.level_plies[game] >= rules.level_plies:
            return ADJUDICATION
    return ONGOING


@inline
def play_move(tables: Any, games: Any, log: Any, game: Any, action: Any, word: Any) -> None:
    """Log a ply (``word``) and make its move; keep the position if the network sees the past."""
    append_ply(log, games.pages, game, games.ply[game], word)
    games.ply[game] += 1
    position = board_of(games, game)
    if games.past.shape[1] > 0:
        push_position(position, past_of(games, game))
    make_move(tables, position, action_to_move(tables, position, action))


@inline
def outcome_for_mover(code: Any) -> Any:
    """The result for the side to move, 1, 0 or -1; ``code`` is why the game is over."""
    return -1 if code in (CHECKMATE, RESIGNATION) else 0


@inline
def draw_opening_move(games: Any, requests: Any, rules: Any, game: Any, attempt: Any) -> Any:
    """A random legal move's index in the request, and its probability."""
    count = np.int64(requests.num_legal[game])
    counter = OPENING_DRAW + attempt * MAX_OPENING_PLIES + np.int64(games.ply[game])
    choice = random_below(rules.seed, games.number[game], counter, count)
    return choice, np.float32(1.0) / np.float32(count)


@inline
def write_request(tables: Any, games: Any, requests: Any, rules: Any, game: Any, moves: Any) -> Any:
    """Write the request for the position on the board; returns why the game is over, or ONGOING."""
    position = board_of(games, game)
    moves_list = np.int64(moves.ctypes.data)
    packed = generate_moves(tables, position, moves_list)
    num_moves, in_check = packed & 0xFFFF, packed >> 16
    keys = np.int64(games.keys.ctypes.data) + game * KEYS_BYTES
    repetitions = push_key(position, keys)
    cap = ply_of(position) + rules.max_plies - games.ply[game]
    code = termination_of(position, num_moves, in_check, repetitions, cap)
    if code == ONGOING:
        num_planes = requests.planes.shape[1]
        planes = np.int64(requests.planes.ctypes.data) + game * 8 * num_planes
        legal = np.int64(requests.legal.ctypes.data) + game * LEGAL_BYTES
        cursor = (position, keys, past_of(games, game), moves_list)
        write_question(tables, cursor, packed, repetitions, num_planes, (planes, legal))
        requests.num_legal[game] = num_moves
    return code


@inline
def board_of(games: Any, game: Any) -> Any:
    """Address of the game's position."""
    return np.int64(games.position.ctypes.data) + game * POSITION_BYTES


@inline
def past_of(games: Any, game: Any) -> Any:
    """Address of the game's last positions; there are some where the network sees them."""
    return np.int64(games.past.ctypes.data) + game * PAST_BYTES


@inline
def take_next_id(games: Any, rules: Any, supply: Any, game: Any, cursor: Any) -> Any:
    """Take the next id of ``supply``; False if there is none."""
    number = supply[cursor[SUPPLIED]]
    games.number[game] = VACANT
    if number < 0:
        return False
    cursor[SUPPLIED] += 1
    games.left[game] = rules.turns
    draw_game(games, rules, game, number)
    return True


@inline
def draw_game(games: Any, rules: Any, game: Any, number: Any) -> None:
    """Let the row have game ``number``: draw what is drawn once a game."""
    games.number[game] = number
    games.start[game] = random_below(rules.seed, number, START_DRAW, len(rules.starts))
    play_on = random_u64(rules.seed, number, PLAYTHROUGH_DRAW) < rules.playthrough
    games.resign[game] = PLAYTHROUGH if play_on and rules.resign_below > 0 else 0
    games.low_turns[game, 0] = 0
    games.low_turns[game, 1] = 0
    games.level_plies[game] = 0


@inline
def set_up_board(games: Any, rules: Any, game: Any) -> None:
    """Put the game's start position on the board, with an empty history."""
    for word in range(games.position.shape[1]):
        games.position[game, word] = rules.starts[games.start[game], word]
    for index in range(games.keys.shape[1]):  # a start position may come with a clock
        games.keys[game, index] = 0
    for index in range(games.past.shape[1]):
        for word in range(games.past.shape[2]):
            games.past[game, index, word] = 0
    games.ply[game] = 0
    games.fingerprint[game] = np.uint64(START)


@inline
def record_end(
    games: Any, log: Any, finished: Any, game: Any, code: Any, outcome: Any, cursor: Any
) -> None:
    """Copy a game that has ended, or waits (ONGOING), to ``finished``.

    ``outcome`` is 1, 0 or -1 for the side to move. A row whose game waits is vacant.
    """
    colour = np.int64(colour_of(board_of(games, game)))
    done, plies = cursor[GAMES_DONE], games.ply[game]
    finished.number[done] = games.number[game]
    finished.start[done] = games.start[game]
    finished.plies[done] = plies
    finished.result[done] = outcome * (1 - 2 * colour)
    finished.termination[done] = code
    finished.resign[done] = games.resign[game]
    finished.low_turns[done, 0] = games.low_turns[game, 0]
    finished.low_turns[done, 1] = games.low_turns[game, 1]
    finished.level_plies[done] = games.level_plies[game]
    finished.fingerprint[done] = max(games.fingerprint[game], np.uint64(NO_FINGERPRINT + 1))
    take_items(log, games.pages, game, plies, finished.logged, cursor[PLIES_DONE])
    cursor[GAMES_DONE] += 1
    cursor[PLIES_DONE] += plies
    if code == ONGOING:
        games.number[game] = VACANT


@part
def start_next_game(tables, games, requests, rules, log, supply, moves, game, cursor):  # type: ignore[no-untyped-def]
    """Start the next game of the row's seat, or of the supply where a game waits or there are no
    seats, with its random opening, and write its first request.

    False if no id is left. A call of its own: one game has a hundred moves.
    """
    if rules.seats > 0 and games.number[game] != VACANT:
        draw_game(games, rules, game, games.number[game] + rules.seats)
    elif not take_next_id(games, rules, supply, game, cursor):
        return False
    attempt = 0
    while True:
        set_up_board(games, rules, game)
        random_plies = rules.random_plies if attempt < OPENING_ATTEMPTS else 0
        code = write_request(tables, games, requests, rules, game, moves)
        while code == ONGOING and games.ply[game] < random_plies:
            choice, prob = draw_opening_move(games, requests, rules, game, attempt)
            action = requests.legal[game, choice]
            word = pack_ply(action, 0, 0, 0, prob, 0, rules.most_steps)
            play_move(tables, games, log, game, action, word)
            code = write_request(tables, games, requests, rules, game, moves)
        if code == ONGOING:
            return True
        free_items(log, games.pages, game, games.ply[game])  # the opening ended the game
        attempt += 1


@inline
def save_restart_point(games: Any, game: Any) -> None:
    """Save the state that the rest of the game follows from: it can be played again from here."""
    point = games.restart
    point.ply[game] = games.ply[game]
    point.resign[game] = games.resign[game]
    point.low_turns[game, 0] = games.low_turns[game, 0]
    point.low_turns[game, 1] = games.low_turns[game, 1]
    point.level_plies[game] = games.level_plies[game]
    point.fingerprint[game] = games.fingerprint[game]
    point.target_words[game] = games.target_words[game]


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
    random = random_u64(rules.seed, games.number[game], ply)
    choice = draw_index(listed, count, total, random)
    return choice, np.float32(weights[choice]) / np.float32(total)
