"""Kernels of the environment, and their runs over its rows on several threads.

``env`` is the ``EnvRecord``, ``game`` a row; a kernel steps, starts or shows the games in a range
of rows. ``scratch``: addresses of room for a list of moves, ``uint16[MOVE_BUFFER]``, and for packed
planes, ``uint64[P]``. Rows depend on no other, so ranges of them can be worked on at the same time.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.action import action_to_move
from vecchess.chess.bitboards.bits import load_u16, store, store8
from vecchess.chess.game_arrays import (
    Games,
    GamesRecord,
    games_record,
    legal_of,
    look_at,
    play_move,
    position_of,
)
from vecchess.chess.history import PAST_BYTES, clear_past
from vecchess.chess.movegen import MOVE_BUFFER, generate_moves
from vecchess.chess.planes import write_inputs
from vecchess.chess.position import POSITION_BYTES, copy_position
from vecchess.chess.rules import KEY_HISTORY, KEYS_BYTES, Termination
from vecchess.chess.unpack_planes import unpack_words
from vecchess.jit import inline, kernel, part
from vecchess.memory_layout import F32, I32, I64, U8, U64, Array, HoldsAddresses, Record
from vecchess.rng import random_below
from vecchess.selfplay.games.game_kernel import (
    MAX_OPENING_PLIES,
    OPENING_ATTEMPTS,
    OPENING_DRAW,
    START_DRAW,
)
from vecchess.shapes import NUM_ACTIONS, NUM_SQUARES

STAY = -1
"""Instead of an action: the game does not move."""
_ONGOING, _CHECKMATE = int(Termination.ONGOING), int(Termination.CHECKMATE)
FEWEST_ROWS = 64
"""Rows worth a thread of their own: to hand work to one takes as long as some dozens of steps."""


class EnvRecord(Record):
    """The addresses of an environment's memory, and what its games are played by."""

    games: GamesRecord
    actions: Array[I64]
    rewards: Array[F32]
    ended: Array[U8]
    final_positions: I64
    final_plies: Array[I32]
    masks: I64
    """uint8[G, 4672], or 0"""
    observations: I64
    """what is seen after each step, or 0"""
    item_bytes: I64
    """of an unpacked plane's element, 0 for packed planes"""
    one: U64
    """the bits of an unpacked 1"""
    num_planes: I64
    start_table: I64
    num_starts: I64
    seed: U64
    num_games: I64
    random_plies: I64
    auto_reset: I64


class RowRunner(HoldsAddresses):
    """The record of an environment, its scratch memory and its threads.

    The record holds addresses of arrays that it keeps. Rows are divided among the threads; since
    they do not depend on each other, the number of threads changes no result.
    """

    def __init__(self, games: Games, max_plies: int, threads: int, num_planes: int) -> None:
        """``threads``: the caller's thread is one of them."""
        num_games = self._num_games = games.num_games
        self._header: NDArray[Any] = np.zeros((), EnvRecord.dtype)
        self._header["games"] = games_record(games, max_plies)
        self._header["num_games"] = num_games
        self._kept: dict[str, Any] = {"games": games}
        shares = max(1, min(threads, num_games // FEWEST_ROWS))
        self._moves = np.zeros((shares, MOVE_BUFFER), np.uint16)
        self._planes = np.zeros((shares, num_planes), np.uint64)
        self._pool: ThreadPoolExecutor | None = None
        self._pool_pid = 0

    def point(self, **arrays: NDArray[Any]) -> None:
        """Let fields of the record hold the addresses of arrays, and keep the arrays."""
        for name, array in arrays.items():
            self._kept[name] = array
            self._header[name] = array.ctypes.data if array.size else 0

    def set(self, **values: int) -> None:
        """Set numbers of the record."""
        for name, value in values.items():
            self._header[name] = value

    def run(self, kernel: Callable[..., Any], *arguments: int) -> list[Any]:
        """What ``kernel(record, begin, end, *arguments)`` returns for ranges of all rows."""
        return self._on_ranges(lambda _, begin, end: kernel(self._address, begin, end, *arguments))

    def run_with_scratch(self, kernel: Callable[..., Any]) -> None:
        """Call ``kernel(record, begin, end, moves, planes)`` for ranges of all rows."""
        self._on_ranges(lambda share, begin, end: self._call(kernel, share, begin, end))

    def run_rows(self, kernel: Callable[..., Any], rows: NDArray[np.int64]) -> None:
        """Call ``kernel`` as ``run_with_scratch`` does, for each of ``rows``, int64[K]."""
        for row in rows.tolist():
            self._call(kernel, 0, row, row + 1)

    @property
    def _address(self) -> int:
        return int(self._header.ctypes.data)

    def _call(self, kernel: Callable[..., Any], share: int, begin: int, end: int) -> None:
        moves, planes = self._moves[share].ctypes.data, self._planes[share].ctypes.data
        kernel(self._address, begin, end, moves, planes)

    def _on_ranges(self, work: Callable[[int, int, int], Any]) -> list[Any]:
        """``work(share, begin, end)`` of ranges that make up all rows, in their order."""
        shares = len(self._moves)
        if shares == 1:
            return [work(0, 0, self._num_games)]
        if self._pool is None or self._pool_pid != os.getpid():  # a fork has none of its threads
            self._pool, self._pool_pid = ThreadPoolExecutor(shares - 1, "env"), os.getpid()
        ends = [self._num_games * share // shares for share in range(shares + 1)]
        parts = [(share, *part) for share, part in enumerate(pairwise(ends))]
        others = [self._pool.submit(work, *part) for part in parts[1:]]
        return [work(*parts[0]), *(other.result() for other in others)]


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
        packed = generate_moves(env.games.tables, position_of(env.games, game), moves)
        _show(env, game, packed >> 16, planes)


@kernel
def draw_actions(env, begin, end, seed):  # type: ignore[no-untyped-def]
    """Write a random legal action of each game, by seed, game and ply; 0 where it is over."""
    env = EnvRecord(env)
    for game in range(begin, end):
        action, count = np.int64(0), env.games.num_legal[game]
        if count > 0:
            choice = random_below(seed, env.games.numbers[game], env.games.plies[game], count)
            action = load_u16(legal_of(env.games, game), choice)
        env.actions[game] = action


@inline
def _step(env: Any, game: Any, scratch: Any) -> None:
    moves, planes = scratch
    _set_mask(env, game, 0)
    _play(env, game, env.actions[game])
    in_check = look_at(env.games, game, moves)
    code = env.games.codes[game]
    if code != _ONGOING:
        env.ended[game] = code
        env.rewards[game] = 1.0 if code == _CHECKMATE else 0.0
        copy_position(position_of(env.games, game), env.final_positions + game * POSITION_BYTES)
        env.final_plies[game] = env.games.plies[game]
        if env.auto_reset:
            env.games.numbers[game] = env.games.numbers[game] + env.num_games
            in_check = _start_game(env, game, moves)
    _show(env, game, in_check, planes)


@part
def _start_game(env, game, moves):  # type: ignore[no-untyped-def]
    """Set up the row's game and play its random opening; whether the mover is in check.

    An opening that ends the game is drawn again. The draws are those of self-play, so a game has
    the opening that self-play gives its number.
    """
    number, attempt = env.games.numbers[game], 0
    while True:
        _set_up(env, game, number)
        in_check = look_at(env.games, game, moves)
        plies = env.random_plies if attempt < OPENING_ATTEMPTS else 0
        while env.games.codes[game] == _ONGOING and env.games.plies[game] < plies:
            counter = OPENING_DRAW + attempt * MAX_OPENING_PLIES + env.games.plies[game]
            choice = random_below(env.seed, number, counter, env.games.num_legal[game])
            _play(env, game, load_u16(legal_of(env.games, game), choice))
            in_check = look_at(env.games, game, moves)
        if env.games.codes[game] == _ONGOING:
            return in_check
        attempt += 1


@inline
def _set_up(env: Any, game: Any, number: Any) -> None:
    """Put the start position of game ``number`` on the board, with an empty history."""
    start = random_below(env.seed, number, START_DRAW, env.num_starts)
    env.games.starts[game] = start
    env.games.plies[game] = 0
    copy_position(env.start_table + start * POSITION_BYTES, position_of(env.games, game))
    for index in range(KEY_HISTORY):  # a start position may come with a clock
        store(env.games.keys + game * KEYS_BYTES, index, np.uint64(0))
    if env.games.past != 0:
        clear_past(env.games.past + game * PAST_BYTES)


@inline
def _play(env: Any, game: Any, action: Any) -> None:
    """Make the move of a legal ``action``."""
    games = env.games
    play_move(games, game, action_to_move(games.tables, position_of(games, game), action))


@inline
def _show(env: Any, game: Any, in_check: Any, planes: Any) -> None:
    """Write the mask and the observation of the position."""
    _set_mask(env, game, 1)
    if env.observations == 0:
        return
    row_bytes = env.num_planes * 8
    target = planes if env.item_bytes > 0 else env.observations + game * row_bytes
    past = env.games.past + game * PAST_BYTES
    position, seen = position_of(env.games, game), env.games.repetitions[game]
    write_inputs(env.games.tables, position, past, seen, in_check, env.num_planes, target)
    if env.item_bytes > 0:
        row_bytes = env.num_planes * NUM_SQUARES * env.item_bytes
        target = env.observations + game * row_bytes
        unpack_words(planes, env.num_planes, target, env.item_bytes, env.one)


@inline
def _set_mask(env: Any, game: Any, value: Any) -> None:
    """Write ``value`` at the legal actions of the game's mask, where there are masks."""
    if env.masks != 0:
        place, legal = env.masks + game * NUM_ACTIONS, legal_of(env.games, game)
        for index in range(env.games.num_legal[game]):
            store8(place, load_u16(legal, index), value)


@inline
def _moves(env: Any, game: Any) -> Any:
    """Whether an action is to be made in the game."""
    return env.games.codes[game] == _ONGOING and env.actions[game] != STAY


@inline
def _is_legal(env: Any, game: Any, action: Any) -> Any:
    legal, is_legal = legal_of(env.games, game), False
    for index in range(env.games.num_legal[game]):
        is_legal |= load_u16(legal, index) == action
    return is_legal
