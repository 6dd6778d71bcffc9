"""What a network may read of each legal move: four small integers, from the mover's view.

    takes       0 .. 5    nothing, a pawn, knight, bishop, rook, queen
    exchange    -9 .. 9   pawns won on the move's own square: what it takes, and what a promotion
                          gains, less the other side's best exchange there afterwards; castling 0
    hangs       0 .. 9    pawns of the best exchange, on any square, that the other side then has
    check       0 .. 2    none, check, mate

They are packed into one number, the move's code. Pieces are worth ``PIECE_VALUES``.

An exchange on a square is a swap-off: both sides take in turn with their least valuable piece, of
equal ones a knight before a bishop, then the one on the lowest square as the other side sees the
board, and either side may stop. A king takes only what is no longer defended. Sliders behind those
that have taken join in; pins, checks, and promotions of pawns that take back, are not seen. The
king itself is never taken.

A network that lacks these sees for itself whether the piece it moves hangs, but overlooks what else
does after the move (``docs/log.md``, 26 November 2026).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards import tables as lookup
from vecchess.chess.bitboards.attacks import (
    bishop_attacks,
    knight_attacks,
    pawn_attacks,
    rook_attacks,
    their_pawn_attacks,
)
from vecchess.chess.bitboards.bits import bswap, load, load16, stack_words, store16, tz
from vecchess.chess.bitboards.rays import slider_attacks
from vecchess.chess.make import make_move_into
from vecchess.chess.movegen import MOVE_BUFFER, generate_moves
from vecchess.chess.position import (
    CASTLING,
    PIECE_VALUES,
    POSITION_BYTES,
    RANK_6,
    Positions,
    checked,
    pieces_of,
)
from vecchess.jit import inline, kernel, part
from vecchess.shapes import MAX_MOVES, POSITION_WORDS

MOST = 9
"""Exchanges are cut at so many pawns."""
SIZES = (6, 2 * MOST + 1, MOST + 1, 3)
"""Values of takes, exchange, hangs and check."""
NUM_MOVE_INPUTS = sum(SIZES)
"""One for each value of each of the four."""
NUM_CODES = SIZES[0] * SIZES[1] * SIZES[2] * SIZES[3]
ROOM: int = 4 * -(-MAX_MOVES // 4)
"""Codes of a position, in whole words."""
_U = np.uint64
_ZERO, _ONE = _U(0), _U(1)
_MATED = np.int64(1 << 16)
"""``generate_moves`` of a position without moves, in check."""
_PAWN, _KNIGHT, _BISHOP, _ROOK, _QUEEN, _ = PIECE_VALUES
_room = stack_words(POSITION_WORDS + MOVE_BUFFER // 4)


@part
def write_move_inputs(tables, position, moves, count, codes):  # type: ignore[no-untyped-def]
    """Write the codes of ``count`` legal moves, ``uint16``, at the address ``codes``, which has
    room for ``ROOM``; those behind are 0.

    ``moves``: address of the moves, as ``generate_moves`` writes them.
    """
    pieces = pieces_of(position)
    en_passant, after = load(position, CASTLING) & RANK_6, _room()
    for index in range(count):
        move = load16(moves, index)
        takes, gain = _taken(pieces, en_passant, move)
        goal = _ONE << (move >> _U(6) & _U(63)) & ~pieces[0]  # 0 for castling
        make_move_into(tables, position, after, move)
        exchange, hangs, check = _replies(tables, after, bswap(goal))
        if check:
            replies = generate_moves(tables, after, after + POSITION_BYTES)
            check += np.int64(replies == _MATED)
        exchange = max(np.int64(-MOST), min(gain - exchange, np.int64(MOST)))
        code = (check * SIZES[2] + hangs) * SIZES[1] + exchange + MOST
        store16(codes, index, _U(code * SIZES[0] + takes))
    for index in range(count, ROOM):
        store16(codes, index, _ZERO)


@inline
def _taken(pieces: Any, en_passant: Any, move: Any) -> Any:
    """(what a move takes, pawns that it gains at once)."""
    own, pawns, knights, diagonal, orthogonal, _ = pieces
    start, goal = _ONE << (move & _U(63)), _ONE << (move >> _U(6) & _U(63))
    gain = np.int64(0)
    promotion = move >> _U(12)
    if promotion != _ZERO:
        gain = _promoted(promotion) - _PAWN
    if own & goal != _ZERO:  # castling
        return np.int64(0), gain
    if pawns & goal != _ZERO or (goal == en_passant and pawns & start != _ZERO):
        return np.int64(1), gain + _PAWN
    if knights & goal != _ZERO:
        return np.int64(2), gain + _KNIGHT
    if diagonal & orthogonal & goal != _ZERO:
        return np.int64(5), gain + _QUEEN
    if diagonal & goal != _ZERO:
        return np.int64(3), gain + _BISHOP
    if orthogonal & goal != _ZERO:
        return np.int64(4), gain + _ROOK
    return np.int64(0), gain


@inline
def _promoted(promotion: Any) -> Any:
    if promotion == _U(4):
        return np.int64(_QUEEN)
    if promotion == _U(3):
        return np.int64(_ROOK)
    return np.int64(_KNIGHT if promotion == _ONE else _BISHOP)


@inline
def _replies(tables: Any, position: Any, goal: Any) -> Any:
    """(the mover's best exchange on the square ``goal``, on any square, 1 if in check or 0)."""
    pieces = pieces_of(position)
    own, pawns, knights, diagonal, orthogonal, kings = pieces
    occupied, king = pawns | knights | diagonal | orthogonal | kings, kings & own
    square = np.int64(tz(king))
    attacked = slider_attacks(orthogonal & own, diagonal & own, ~occupied)
    attacked |= pawn_attacks(pawns & own) | knight_attacks(knights & own)
    attacked |= load(tables, lookup.KING + square)
    best, here = np.int64(0), np.int64(0)
    men, queens = occupied & ~own & attacked & ~kings, diagonal & orthogonal
    while men != _ZERO:
        target = men & (~men + _ONE)
        men ^= target
        worth = np.int64(_PAWN)
        worth = np.int64(_KNIGHT) if (knights | diagonal) & target != _ZERO else worth
        worth = np.int64(_ROOK) if orthogonal & target != _ZERO else worth
        worth = np.int64(_QUEEN) if queens & target != _ZERO else worth
        if worth > best or target == goal:
            won = _swap_off(tables, target, worth, pieces, occupied)
            best = max(best, won)
            here = won if target == goal else here
    checkers = bishop_attacks(tables, square, occupied) & diagonal
    checkers |= rook_attacks(tables, square, occupied) & orthogonal
    checkers |= load(tables, lookup.KNIGHT + square) & knights | pawn_attacks(king) & pawns
    return here, best, np.int64(checkers & ~own != _ZERO)


@inline
def _swap_off(tables: Any, target: Any, worth: Any, pieces: Any, occupied: Any) -> Any:
    """Pawns that the mover wins on the square of ``target``, a bit, which is worth ``worth``.

    low and high: what the mover, and the other side, are sure of by stopping at a turn before.
    """
    own, pawns, knights, diagonal, orthogonal, kings = pieces
    square = np.int64(tz(target))
    attackers = their_pawn_attacks(target) & pawns & own | pawn_attacks(target) & pawns & ~own
    attackers |= load(tables, lookup.KNIGHT + square) & knights
    attackers |= load(tables, lookup.KING + square) & kings
    attackers |= bishop_attacks(tables, square, occupied) & diagonal
    attackers |= rook_attacks(tables, square, occupied) & orthogonal
    balance, low, high = np.int64(0), np.int64(0), np.int64(1000)
    is_movers = True
    while low < high:
        side = attackers & (own if is_movers else ~own)
        if side == _ZERO:
            break
        if side & pawns != _ZERO:
            takers, next_worth = side & pawns, np.int64(_PAWN)
        elif side & knights != _ZERO:
            takers, next_worth = side & knights, np.int64(_KNIGHT)
        elif side & diagonal & ~orthogonal != _ZERO:
            takers, next_worth = side & diagonal & ~orthogonal, np.int64(_BISHOP)
        elif side & orthogonal & ~diagonal != _ZERO:
            takers, next_worth = side & orthogonal & ~diagonal, np.int64(_ROOK)
        elif side & diagonal != _ZERO:
            takers, next_worth = side & diagonal, np.int64(_QUEEN)
        else:
            if attackers != side:
                break
            takers, next_worth = side, np.int64(0)
        balance += worth if is_movers else -worth
        worth = next_worth
        occupied ^= takers & (~takers + _ONE)
        attackers |= bishop_attacks(tables, square, occupied) & diagonal
        attackers |= rook_attacks(tables, square, occupied) & orthogonal
        attackers &= occupied
        is_movers = not is_movers
        if is_movers:
            low = max(low, balance)
        else:
            high = min(high, balance)
    if low >= high:
        return high if is_movers else low
    return low if is_movers else high


def move_codes(positions: Positions) -> NDArray[np.uint16]:
    """Codes of the legal moves of positions, ``uint64[G, 8] -> uint16[G, 220]``, in the order of
    ``legal_moves``; what follows them is 0. Raises ValueError for wrong shapes."""
    positions = checked(positions)
    codes = np.empty((len(positions), ROOM), np.uint16)
    moves = np.empty(MOVE_BUFFER, np.uint16)
    _write_all(lookup.address(), positions.ctypes.data, moves, codes)
    return codes


@kernel
def _write_all(tables, positions, moves, codes):  # type: ignore[no-untyped-def]
    room = np.int64(moves.ctypes.data)
    for index in range(codes.shape[0]):
        position = positions + index * POSITION_BYTES
        count = generate_moves(tables, position, room) & 0xFFFF
        row = np.int64(codes.ctypes.data) + index * 2 * codes.shape[1]
        write_move_inputs(tables, position, room, np.int64(count), row)
