"""What happens to one seat of a game table, whoever chooses the moves: parts of the kernels.

A seat holds one game: its number, board, key history, last positions and log. Nothing here depends
on any other game.
"""

from typing import Any

import numpy as np

from vecchess.chess.action import action_to_move
from vecchess.chess.game_cursor import write_question
from vecchess.chess.history import PAST_BYTES, push_position
from vecchess.chess.make import make_move
from vecchess.chess.movegen import generate_moves
from vecchess.chess.planes import history_length
from vecchess.chess.position import colour_of, ply_of
from vecchess.chess.rules import (
    KEY_HISTORY,
    Termination,
    push_key,
    termination_of,
)
from vecchess.inference.requests import LEGAL_BYTES
from vecchess.jit import inline
from vecchess.rng import random_below, random_u64
from vecchess.selfplay.games.fingerprint import START
from vecchess.selfplay.games.game_table import (
    ANCHOR_FINGERPRINT,
    ANCHOR_LEVEL_PLIES,
    ANCHOR_LOW_TURNS,
    ANCHOR_PLY,
    ANCHOR_RESIGN,
    ANCHOR_TARGET_WORDS,
    VACANT,
)
from vecchess.selfplay.games.ply_log import (
    append_ply_unbatched,
    free_plies_unbatched,
    take_plies_unbatched,
)
from vecchess.shapes import POSITION_WORDS
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

# What a random number is for: plies count from 0, the other draws of a game have their own range.
START_DRAW = 1 << 32
PLAYTHROUGH_DRAW = START_DRAW + 1
OPENING_DRAW = START_DRAW + 2
OPENING_ATTEMPTS = 64
"""Random openings that end the game are drawn again, so often at most; then there is none."""
MAX_OPENING_PLIES = 64
POSITION_BYTES = 8 * POSITION_WORDS
KEYS_BYTES = 8 * KEY_HISTORY

# Places of the cursor, int64[7], which a call updates.
CONSUMED, READY, PLAYED, SUPPLIED, GAMES_DONE, PLIES_DONE, WORDS_DONE = range(7)
CURSOR_WORDS = 7


@inline
def is_full_unbatched(rules: Any, finished: Any, cursor: Any) -> Any:
    """True when ``finished`` may have no room for another game."""
    full = cursor[GAMES_DONE] == len(finished.number)
    return full or cursor[PLIES_DONE] + rules.max_plies > len(finished.logged)


@inline
def give_up_unbatched(games: Any, rules: Any, seat: Any, win: Any, draw: Any) -> Any:
    """Resignation and adjudication; notes who would have resigned."""
    if rules.resign_below > 0:
        colour = np.int64(colour_of(board_of(games, seat)))
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
def move_unbatched(tables: Any, games: Any, log: Any, seat: Any, action: Any, word: Any) -> None:
    """Log a ply and make its move on the board, which is noted where the past is seen."""
    first, last = append_ply_unbatched(
        log, games.pages[seat, 0], games.pages[seat, 1], games.ply[seat], word
    )
    games.pages[seat, 0] = first
    games.pages[seat, 1] = last
    games.ply[seat] += 1
    position = board_of(games, seat)
    if games.past.shape[1] > 0:
        push_position(position, past_of(games, seat))
    make_move(tables, position, action_to_move(tables, position, action))


@inline
def outcome_unbatched(code: Any) -> Any:
    """The result for the side to move, of a game that is over for this reason."""
    return -1 if code in (CHECKMATE, RESIGNATION) else 0


@inline
def draw_randomly_unbatched(games: Any, requests: Any, rules: Any, seat: Any, attempt: Any) -> Any:
    """Any legal move's index in the question, and its probability: a ply of a random opening."""
    count = np.int64(requests.num_legal[seat])
    counter = OPENING_DRAW + attempt * MAX_OPENING_PLIES + np.int64(games.ply[seat])
    choice = random_below(rules.seed, games.number[seat], counter, count)
    return choice, np.float32(1.0) / np.float32(count)


@inline
def ask_unbatched(tables: Any, games: Any, requests: Any, rules: Any, seat: Any, moves: Any) -> Any:
    """Write the question of the position on the board; returns why the game is over, or ONGOING."""
    position = board_of(games, seat)
    moves_list = np.int64(moves.ctypes.data)
    packed = generate_moves(tables, position, moves_list)
    num_moves, in_check = packed & 0xFFFF, packed >> 16
    keys = np.int64(games.keys.ctypes.data) + seat * KEYS_BYTES
    repetitions = push_key(position, keys)
    cap = ply_of(position) + rules.max_plies - games.ply[seat]
    code = termination_of(position, num_moves, in_check, repetitions, cap)
    if code == ONGOING:
        num_planes = requests.planes.shape[1]
        planes = np.int64(requests.planes.ctypes.data) + seat * 8 * num_planes
        legal = np.int64(requests.legal.ctypes.data) + seat * LEGAL_BYTES
        cursor = (position, keys, past_of(games, seat), moves_list)
        history = history_length(num_planes)
        write_question(tables, cursor, packed, repetitions, history, (planes, legal))
        requests.num_legal[seat] = num_moves
    return code


@inline
def board_of(games: Any, seat: Any) -> Any:
    """Address of the seat's position."""
    return np.int64(games.position.ctypes.data) + seat * POSITION_BYTES


@inline
def past_of(games: Any, seat: Any) -> Any:
    """Address of the seat's last positions, where the network sees them."""
    return np.int64(games.past.ctypes.data) + seat * PAST_BYTES


@inline
def next_number_unbatched(games: Any, rules: Any, supply: Any, seat: Any, cursor: Any) -> Any:
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
def set_up_unbatched(games: Any, rules: Any, seat: Any) -> None:
    """Put the game's start position on the board."""
    for word in range(games.position.shape[1]):
        games.position[seat, word] = rules.starts[games.start[seat], word]
    for index in range(games.keys.shape[1]):  # a start position may come with a clock
        games.keys[seat, index] = 0
    for index in range(games.past.shape[1]):
        for word in range(games.past.shape[2]):
            games.past[seat, index, word] = 0
    games.ply[seat] = 0
    games.fingerprint[seat] = np.uint64(START)


@inline
def finish_unbatched(
    games: Any, log: Any, finished: Any, seat: Any, code: Any, outcome: Any, cursor: Any
) -> None:
    """Set the game down in ``finished``; ``outcome`` is 1, 0 or -1 for the side to move."""
    colour = np.int64(colour_of(board_of(games, seat)))
    done, plies = cursor[GAMES_DONE], games.ply[seat]
    finished.number[done] = games.number[seat]
    finished.start[done] = games.start[seat]
    finished.plies[done] = plies
    finished.result[done] = outcome * (1 - 2 * colour)
    finished.termination[done] = code
    finished.resign[done] = games.resign[seat]
    finished.fingerprint[done] = max(games.fingerprint[seat], np.uint64(NO_FINGERPRINT + 1))
    first, last = games.pages[seat, 0], games.pages[seat, 1]
    take_plies_unbatched(log, first, last, plies, finished.logged, cursor[PLIES_DONE])
    cursor[GAMES_DONE] += 1
    cursor[PLIES_DONE] += plies


@inline
def take_back_unbatched(games: Any, log: Any, seat: Any) -> None:
    """Give the log pages of an opening that ended the game back."""
    free_plies_unbatched(log, games.pages[seat, 0], games.pages[seat, 1], games.ply[seat])


@inline
def anchor_unbatched(games: Any, seat: Any) -> None:
    """Note where the game stands: nothing but that decides how it goes on."""
    turns = np.int64(games.low_turns[seat, 0]) | np.int64(games.low_turns[seat, 1]) << 8
    games.anchors[seat, ANCHOR_PLY] = games.ply[seat]
    games.anchors[seat, ANCHOR_TARGET_WORDS] = games.target_words[seat]
    games.anchors[seat, ANCHOR_FINGERPRINT] = np.int64(games.fingerprint[seat])
    games.anchors[seat, ANCHOR_RESIGN] = games.resign[seat]
    games.anchors[seat, ANCHOR_LOW_TURNS] = turns
    games.anchors[seat, ANCHOR_LEVEL_PLIES] = games.level_plies[seat]
