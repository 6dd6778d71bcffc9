"""Random games: any legal move is as likely, under all the rules; the same seed, the same games."""

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards import tables as lookup
from vecchess.chess.bitboards.bits import load16, store
from vecchess.chess.chess960 import start_positions
from vecchess.chess.history import PAST_BYTES, Pasts, no_past, push_position
from vecchess.chess.make import make_move
from vecchess.chess.movegen import MOVE_BUFFER, generate_moves
from vecchess.chess.planes import NUM_PLANES, encode_planes
from vecchess.chess.position import POSITION_BYTES, Positions, checked
from vecchess.chess.rules import (
    KEY_HISTORY,
    NO_PLY_CAP,
    Termination,
    push_key,
    termination_of,
)  # fmt: skip
from vecchess.jit import kernel
from vecchess.rng import random_below

_ONGOING = int(Termination.ONGOING)
_LENGTH_DRAW = 1 << 32
"""The counter of the random number that limits a game; plies count from 0."""
_SAMPLED_PLIES = 120
"""Positions are sampled from as many plies as a game between players may have."""


@kernel
def _play(tables, positions, numbers, seed, below, keys, moves, past, codes, plies):  # type: ignore[no-untyped-def]
    for game in range(len(numbers)):
        position = positions + game * POSITION_BYTES
        for index in range(KEY_HISTORY):
            store(keys, index, np.uint64(0))
        limit = random_below(seed, numbers[game], _LENGTH_DRAW, below) if below > 0 else -1
        ply = 0
        while True:
            packed = generate_moves(tables, position, moves)
            repetitions = push_key(position, keys)
            count = packed & 0xFFFF
            code = termination_of(position, count, packed >> 16, repetitions, NO_PLY_CAP)
            if code != _ONGOING or ply == limit:
                break
            choice = random_below(seed, numbers[game], ply, count)
            if past != 0:
                push_position(position, past + game * PAST_BYTES)
            make_move(tables, position, load16(moves, choice))
            ply += 1
        codes[game], plies[game] = code, ply


def play_random(
    starts: Positions,
    numbers: NDArray[np.int64],
    seed: int,
    below: int = 0,
    past: Pasts | None = None,
) -> tuple[Positions, NDArray[np.uint8], NDArray[np.int64]]:
    """Random games from ``starts`` (``uint64[G, 8]``): to the end, or for a random number of plies
    less than ``below``.

    Every random number depends on (seed, game number, ply) only. ``past``: ``uint64[G, 8, 8]``,
    zero before, takes the positions before the last ones. Returns the last positions
    ``uint64[G, 8]``, ``uint8[G]`` of ``Termination`` and the plies played, ``int64[G]``.
    """
    positions = checked(starts).copy()
    codes, plies = np.empty(len(positions), np.uint8), np.empty(len(positions), np.int64)
    keys, moves = np.empty(KEY_HISTORY, np.uint64), np.empty(MOVE_BUFFER, np.uint16)
    _play(
        lookup.address(), positions.ctypes.data, np.asarray(numbers, np.int64),
        np.uint64(seed), below, keys.ctypes.data, moves.ctypes.data,
        0 if past is None else past.ctypes.data, codes, plies,
    )  # fmt: skip
    return positions, codes, plies


def random_positions(num: int, seed: int) -> Positions:
    """``uint64[num, 8]``: positions with a move to play, each from its own random game."""
    return random_games(num, seed)[0]


def random_games(num: int, seed: int) -> tuple[Positions, Pasts]:
    """The positions of ``random_positions``, and those before each: ``uint64[num, 8, 8]``."""
    sampled: list[Positions] = [start_positions(0)]
    pasts: list[Pasts] = [no_past(0)]
    number, wanted = 0, num
    while wanted > 0:
        numbers, past = np.arange(number, number + wanted, dtype=np.int64), no_past(wanted)
        starts = start_positions(wanted)
        positions, codes, _ = play_random(starts, numbers, seed, _SAMPLED_PLIES, past)
        sampled.append(positions[codes == _ONGOING])
        pasts.append(past[codes == _ONGOING])
        number, wanted = number + wanted, wanted - len(sampled[-1])
    return np.concatenate(sampled), np.concatenate(pasts)


def random_planes(num: int, seed: int, num_planes: int = NUM_PLANES) -> NDArray[np.uint64]:
    """``uint64[num, P]``: P = ``num_planes`` input planes of positions of random games."""
    positions, past = random_games(num, seed)
    return encode_planes(positions, past=past, num_planes=num_planes)
