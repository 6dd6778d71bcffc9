"""What a position's key costs: the hash of its words, and an incremental Zobrist key in its place.

    python bench/position_keys.py                 4,096 moves a round, 2,000 rounds

Moves are made without a key, and with that of the position after them in each of the two ways, in
turns: right after the move, as in a search, and after move generation, as in games. Prints one JSON
object with ns a move; the cost of a key is what it adds. The Zobrist key is compared with one
computed from nothing.
"""

import argparse
import json
from statistics import median
from time import perf_counter_ns
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards import tables as lookup
from vecchess.chess.bitboards.bits import load, tz
from vecchess.chess.make import make, make_move_into
from vecchess.chess.movegen import MOVE_BUFFER, generate_moves, legal_moves
from vecchess.chess.position import CASTLING, OWN, Positions, colour_of, position_key
from vecchess.chess.sample import random_positions
from vecchess.jit import inline, kernel

Words = NDArray[np.uint64]
_U, _ONE = np.uint64, np.uint64(1)
_MEN = np.arange(1, 6)
_NO_KEY, _HASH, _ZOBRIST = range(3)
_RIGHTS, _TURN = 64, 65
"""Rows of the table after the men of both colours, ``32 * colour + code``."""


@inline
def _code(position: Any, square: Any) -> Any:
    """Which of the words 1 to 5 have the square, as bits 0 to 4; 0: it is empty."""
    code = _U(0)
    for word in range(5):
        code |= (load(position, word + 1) >> square & _ONE) << _U(word)
    return code


@inline
def _zobrist_step(source: Any, target: Any, key: Any, move: Any, table: Any) -> Any:
    """The key after ``move``: squares whose man changed, rights that changed, the side to move."""
    colour = colour_of(source)
    turn = _U(56) * colour  # squares of the table are White's
    square_from, square_to = move & _U(63), move >> _U(6) & _U(63)
    own, their = colour * _U(32), (_ONE - colour) * _U(32)
    man, hit = _code(source, square_from), _code(source, square_to)
    key ^= table[own + man, square_from ^ turn] ^ table[_TURN, 0]
    is_castling = hit != _U(0) and load(source, OWN) >> square_to & _ONE != _U(0)
    if is_castling:
        goal = _U(6) if square_to > square_from else _U(2)
        rook = _U(5) if square_to > square_from else _U(3)
        key ^= table[own + hit, square_to ^ turn]
        key ^= table[own + man, goal ^ turn] ^ table[own + hit, rook ^ turn]
    else:
        if hit != _U(0):
            key ^= table[their + hit, square_to ^ turn]
        elif man == _ONE and square_from & _U(7) != square_to & _U(7):  # en passant
            key ^= table[their + _ONE, square_to - _U(8) ^ turn]
        now = _code(target, square_to ^ _U(56))  # promoted, perhaps; the board has turned round
        key ^= table[own + now, square_to ^ turn]
    before, after = load(source, CASTLING), load(target, CASTLING)
    return key ^ _rights(before, turn, table) ^ _rights(after, turn ^ _U(56), table)


@inline
def _rights(rights: Any, turn: Any, table: Any) -> Any:
    """Castling rooks and the square of an en-passant capture."""
    key = _U(0)
    while rights != _U(0):
        key ^= table[_RIGHTS, tz(rights) ^ turn]
        rights &= rights - _ONE
    return key


@kernel
def _play(tables, positions, played, keys, table, boards, buffer, way, generates):  # type: ignore[no-untyped-def]
    for index in range(len(played)):
        source, board, move = positions + index * 64, boards + index * 64, _U(played[index])
        make_move_into(tables, source, board, move)
        if generates:
            generate_moves(tables, board, buffer)
        if way == _HASH:
            keys[index] = position_key(board)
        elif way == _ZOBRIST:
            keys[index] = _zobrist_step(source, board, keys[index], move, table)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--moves", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=2000)
    options = parser.parse_args()
    found = {
        "after_the_move": measure(options.moves, options.rounds, generates=False),
        "after_generation": measure(options.moves, options.rounds, generates=True),
    }
    print(json.dumps({"schema": 1} | found, indent=1))


def measure(num: int, rounds: int, generates: bool) -> dict[str, Any]:
    """Nanoseconds a move without a key, medians over rounds, and what each key adds."""
    rng = np.random.default_rng(1)
    positions = random_positions(num, 1)
    moves, counts = legal_moves(positions)
    played = moves[np.arange(num), rng.integers(0, counts)]
    table = rng.integers(0, 2**64, (66, 64), np.uint64)
    table[[0, 32]] = 0
    before = zobrist_keys(positions, table)
    spent: list[list[float]] = [[], [], []]
    keys, boards, buffer = before.copy(), np.zeros_like(positions), np.zeros(MOVE_BUFFER, np.uint16)
    places = (boards.ctypes.data, buffer.ctypes.data)
    for _ in range(rounds + 1):
        for way in (_NO_KEY, _HASH, _ZOBRIST):
            keys[:] = before
            start = perf_counter_ns()
            _play(
                lookup.address(),
                positions.ctypes.data,
                played,
                keys,
                table,
                *places,
                way,
                generates,
            )
            spent[way].append((perf_counter_ns() - start) / num)
    assert np.array_equal(keys, zobrist_keys(make(positions, played), table))
    without, hashed, incremental = (median(times[1:]) for times in spent)
    costs = {"hash_ns": hashed - without, "zobrist_ns": incremental - without}
    return {"without_key_ns": without} | costs


def zobrist_keys(positions: Positions, table: Words) -> Words:
    """uint64[G]: the incremental key from nothing."""
    squares = np.arange(64, dtype=np.uint64)
    bits = (positions[:, :7, None] >> squares & _ONE).astype(np.int64)
    colours = (positions[:, 7] >> np.uint64(63)).astype(np.int64)[:, None]
    codes = (bits[:, _MEN] << (_MEN - 1)[:, None]).sum(1)
    places = np.arange(64) ^ 56 * colours
    owners = np.where(bits[:, OWN] == 1, colours, 1 - colours)
    keys = np.bitwise_xor.reduce(table[32 * owners + codes, places], axis=1)
    rights = np.where(bits[:, CASTLING] == 1, table[_RIGHTS, places], 0)
    keys ^= np.bitwise_xor.reduce(rights, axis=1)
    found: Words = keys ^ np.where(colours[:, 0] == 1, table[_TURN, 0], np.uint64(0))
    return found


if __name__ == "__main__":
    main()
