"""Kernels of the environment: steps, starts and random actions of the games in a range of rows.

``env`` is the ``EnvRecord``, ``game`` a row. ``scratch``: addresses of room for a list of moves,
``uint16[MOVE_BUFFER]``, and for packed planes, ``uint64[P]``. Rows depend on no other, so ranges of
them can be worked on at the same time.
"""

from typing import Any

import numpy as np

from vecchess.chess.action import action_to_move, write_actions
from vecchess.chess.bitboards.bits import load_u16, store, store8
from vecchess.chess.history import (
    PAST_BYTES,
    clear_past,
    earlier_position,
    mark_repeated,
    push_position,
)
from vecchess.chess.make import make_move
from vecchess.chess.movegen import generate_moves
from vecchess.chess.planes import write_inputs
from vecchess.chess.position import copy_position, ply_of
from vecchess.chess.rules import KEY_HISTORY, Termination, push_key, termination_of
from vecchess.chess.unpack_planes import unpack_words
from vecchess.env.game_rows import EnvRecord
from vecchess.inference.requests import LEGAL_BYTES
from vecchess.jit import inline, kernel, part
from vecchess.rng import random_below
from vecchess.selfplay.games.game_kernel import (
    KEYS_BYTES,
    MAX_OPENING_PLIES,
    OPENING_ATTEMPTS,
    OPENING_DRAW,
    POSITION_BYTES,
    START_DRAW,
)
from vecchess.shapes import NUM_ACTIONS, NUM_SQUARES

STAY = -1
"""In the place of an action: the game does not move."""
_ONGOING, _CHECKMATE = int(Termination.ONGOING), int(Termination.CHECKMATE)


@kernel
def find_illegal(env, begin, end):  # type: ignore[no-untyped-def]
    """The first game that would move by an action that is not legal, or -1."""
    env = EnvRecord(env)
    for game in range(begin, end):
        if _moves(env, game) and not _is_legal(env, game, env.actions[game]):
            return game
    return -1


@kernel
def step_rows(env, begin, end, moves, planes):  # type: ignore[no-untyped-def]
    """Make the action of each game that is not over and does not stay, see ``EnvStep``."""
    env = EnvRecord(env)
    for game in range(begin, end):
        env.rewards[game] = 0.0
        env.ended[game] = _ONGOING
        if _moves(env, game):
            _step(env, game, (moves, planes))


@kernel
def start_rows(env, begin, end, moves, planes):  # type: ignore[no-untyped-def]
    """Begin the game whose number each row has; what it held before is gone."""
    env = EnvRecord(env)
    for game in range(begin, end):
        _set_mask(env, game, 0)
        in_check = _start_game(env, game, moves)
        _show(env, game, in_check, planes)


@kernel
def show_rows(env, begin, end, moves, planes):  # type: ignore[no-untyped-def]
    """Write masks, which are 0 before, and observations of positions that were put there."""
    env = EnvRecord(env)
    for game in range(begin, end):
        packed = generate_moves(env.tables, _position_of(env, game), moves)
        _show(env, game, packed >> 16, planes)


@kernel
def draw_actions(env, begin, end, seed):  # type: ignore[no-untyped-def]
    """Write a random legal action of each game, by seed, game and ply; 0 where it is over."""
    env = EnvRecord(env)
    for game in range(begin, end):
        action, count = np.int64(0), env.num_legal[game]
        if count > 0:
            choice = random_below(seed, env.numbers[game], env.plies[game], count)
            action = load_u16(_legal_of(env, game), choice)
        env.actions[game] = action


@inline
def _step(env: Any, game: Any, scratch: Any) -> None:
    moves, planes = scratch
    _set_mask(env, game, 0)
    _play(env, game, env.actions[game])
    in_check = _look(env, game, moves)
    code = env.codes[game]
    if code != _ONGOING:
        env.ended[game] = code
        env.rewards[game] = 1.0 if code == _CHECKMATE else 0.0
        copy_position(_position_of(env, game), env.final_positions + game * POSITION_BYTES)
        env.final_plies[game] = env.plies[game]
        if env.auto_reset:
            env.numbers[game] = env.numbers[game] + env.num_games
            in_check = _start_game(env, game, moves)
    _show(env, game, in_check, planes)


@part
def _start_game(env, game, moves):  # type: ignore[no-untyped-def]
    """Set up the row's game and play its random opening; whether the mover is in check.

    An opening that ends the game is drawn again. The draws are those of self-play, so a game has
    the opening that self-play gives its number.
    """
    number, attempt = env.numbers[game], 0
    while True:
        _set_up(env, game, number)
        in_check = _look(env, game, moves)
        plies = env.random_plies if attempt < OPENING_ATTEMPTS else 0
        while env.codes[game] == _ONGOING and env.plies[game] < plies:
            counter = OPENING_DRAW + attempt * MAX_OPENING_PLIES + env.plies[game]
            choice = random_below(env.seed, number, counter, env.num_legal[game])
            _play(env, game, load_u16(_legal_of(env, game), choice))
            in_check = _look(env, game, moves)
        if env.codes[game] == _ONGOING:
            return in_check
        attempt += 1


@inline
def _set_up(env: Any, game: Any, number: Any) -> None:
    """Put the start position of game ``number`` on the board, with an empty history."""
    start = random_below(env.seed, number, START_DRAW, env.num_starts)
    env.starts[game] = start
    env.plies[game] = 0
    copy_position(env.start_table + start * POSITION_BYTES, _position_of(env, game))
    for index in range(KEY_HISTORY):  # a start position may come with a clock
        store(_keys_of(env, game), index, np.uint64(0))
    if env.past != 0:
        clear_past(env.past + game * PAST_BYTES)


@inline
def _play(env: Any, game: Any, action: Any) -> None:
    """Make the move of a legal ``action``; the position before it goes to the past."""
    position = _position_of(env, game)
    move = action_to_move(env.tables, position, action)
    if env.past != 0:
        past = env.past + game * PAST_BYTES
        push_position(position, past)
        mark_repeated(earlier_position(position, past, 0), env.repetitions[game])
    make_move(env.tables, position, move)
    env.plies[game] = env.plies[game] + 1


@part
def _look(env, game, moves):  # type: ignore[no-untyped-def]
    """Note the legal actions of a new position and whether the game is over; true in check."""
    position = _position_of(env, game)
    packed = generate_moves(env.tables, position, moves)
    num_moves, in_check = packed & 0xFFFF, packed >> 16
    repetitions = push_key(position, _keys_of(env, game))
    cap = ply_of(position) + env.max_plies - env.plies[game]
    code = termination_of(position, num_moves, in_check, repetitions, cap)
    env.repetitions[game] = repetitions
    env.codes[game] = code
    env.num_legal[game] = num_moves if code == _ONGOING else 0
    if code == _ONGOING:
        write_actions(env.tables, moves, num_moves, _legal_of(env, game))
    return in_check


@inline
def _show(env: Any, game: Any, in_check: Any, planes: Any) -> None:
    """Write the mask and the observation of the position."""
    _set_mask(env, game, 1)
    if env.observations == 0:
        return
    row_bytes = env.num_planes * 8
    target = planes if env.item_bytes > 0 else env.observations + game * row_bytes
    past = env.past + game * PAST_BYTES
    position, seen = _position_of(env, game), env.repetitions[game]
    write_inputs(env.tables, position, past, seen, in_check, env.num_planes, target)
    if env.item_bytes > 0:
        row_bytes = env.num_planes * NUM_SQUARES * env.item_bytes
        target = env.observations + game * row_bytes
        unpack_words(planes, env.num_planes, target, env.item_bytes, env.one)


@inline
def _set_mask(env: Any, game: Any, value: Any) -> None:
    """Write ``value`` at the legal actions of the game's mask, where there are masks."""
    if env.masks != 0:
        place, legal = env.masks + game * NUM_ACTIONS, _legal_of(env, game)
        for index in range(env.num_legal[game]):
            store8(place, load_u16(legal, index), value)


@inline
def _moves(env: Any, game: Any) -> Any:
    """Whether an action is to be made in the game."""
    return env.codes[game] == _ONGOING and env.actions[game] != STAY


@inline
def _is_legal(env: Any, game: Any, action: Any) -> Any:
    legal, is_legal = _legal_of(env, game), False
    for index in range(env.num_legal[game]):
        is_legal |= load_u16(legal, index) == action
    return is_legal


@inline
def _position_of(env: Any, game: Any) -> Any:
    return env.positions + game * POSITION_BYTES


@inline
def _keys_of(env: Any, game: Any) -> Any:
    return env.keys + game * KEYS_BYTES


@inline
def _legal_of(env: Any, game: Any) -> Any:
    return env.legal + game * LEGAL_BYTES
