"""All legal moves of a position, without making any.

Squares the other side attacks (seen through our king) bound the king's moves; rays from the king
give the checkers, the squares that parry a single check, and the lines pinned pieces must stay on.
Order: knights, diagonal sliders, orthogonal sliders, pawns, king, castling, en passant.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards import tables as lookup
from vecchess.chess.bitboards.attacks import (
    BISHOP,
    ROOK,
    danger,
    en_passant_takers,
    line_attacks,
    pawn_attacks,
)
from vecchess.chess.bitboards.bits import load, store16, tz
from vecchess.chess.bitboards.move_lists import EMIT_SLACK, emit8, emit16
from vecchess.chess.bitboards.rays import king_rays
from vecchess.chess.position import (
    CASTLING,
    FILE_A,
    FILE_H,
    POSITION_BYTES,
    RANK_1,
    RANK_3,
    RANK_6,
    RANK_7,
    RANK_8,
    Positions,
    checked,
    pieces_of,
)  # fmt: skip
from vecchess.jit import inline, kernel
from vecchess.shapes import MAX_MOVES

MOVE_BUFFER = 256
"""Capacity of a move list: 218 moves, and the items that ``emit16`` writes past the end."""
MOVES_BYTES = 2 * MOVE_BUFFER
_ANY_BOARD = 64 * 27 + EMIT_SLACK
"""Room for the moves of boards that no game leads to, so that they can be refused."""
_U = np.uint64
_ZERO, _ONE, _ALL = _U(0), _U(1), _U(2**64 - 1)
_STEP, _PAWN_STEP = _U(64), _U(65)  # the factors of ``to``, see ``move_lists``
_NOT_A, _NOT_H = ~FILE_A, ~FILE_H


@inline
def generate_moves(tables: Any, position: Any, moves: Any) -> Any:
    """Write the legal moves at the address ``moves``, room for ``MOVE_BUFFER`` ``uint16``.

    Returns ``int64``: the number of moves, plus 65536 when the mover is in check.
    """
    own, pawns, knights, diagonal, orthogonal, kings = pieces_of(position)
    rights = load(position, CASTLING)
    occupied = pawns | knights | diagonal | orthogonal | kings
    their = occupied & ~own
    king = np.int64(tz(kings & own))
    checkers, parry, straight, slant = king_rays(
        _U(tables) + _U((lookup.RAYS + king * 8) * 8),
        occupied, own, orthogonal & their, diagonal & their,
    )  # fmt: skip
    leapers = load(tables, lookup.KNIGHT + king) & knights & their
    leapers |= pawn_attacks(kings & own) & pawns & their
    checkers |= leapers
    targets = ~own
    if checkers != _ZERO:
        targets &= parry | leapers
        if checkers & (checkers - _ONE) != _ZERO:
            targets = _ZERO
    end = _knights(tables, _U(moves), knights & own & ~(straight | slant), targets)
    end = _sliders(tables, end, diagonal & own & ~straight, slant, targets, occupied, BISHOP)
    end = _sliders(tables, end, orthogonal & own & ~slant, straight, targets, occupied, ROOK)
    end = _pawns(end, pawns & own, straight, slant, targets, occupied, their)
    attacked = danger(tables, own, their, pawns, knights, diagonal, orthogonal, kings)
    king_targets = load(tables, lookup.KING + king) & ~(own | attacked)
    end = emit8(end, king_targets, _STEP, _U(king))
    if checkers == _ZERO and rights & own & RANK_1 != _ZERO:
        end = _castling(end, king, rights & own & RANK_1, occupied, attacked, straight)
    if rights & RANK_6 != _ZERO:
        takers = en_passant_takers(
            tables, rights & RANK_6, king, pawns & own, occupied, diagonal & their,
            orthogonal & their,
        )  # fmt: skip
        end = emit8(end, takers, _ONE, _U(tz(rights & RANK_6)) << _U(6))
    return np.int64((end - _U(moves)) >> _ONE) | np.int64(checkers != _ZERO) << 16


@inline
def _write(end: Any, move: Any) -> Any:
    store16(end, 0, move)
    return end + _U(2)


@inline
def _knights(tables: Any, end: Any, knights: Any, targets: Any) -> Any:
    while knights != _ZERO:
        square = _U(tz(knights))
        end = emit8(end, load(tables, lookup.KNIGHT + np.int64(square)) & targets, _STEP, square)
        knights &= knights - _ONE
    return end


@inline
def _sliders(
    tables: Any, end: Any, men: Any, pins: Any, targets: Any, occupied: Any, kind: Any,
) -> Any:  # fmt: skip
    """Moves along lines of one kind; ``men`` has none that is pinned on the other kind."""
    while men != _ZERO:
        square, bit = _U(tz(men)), men & (~men + _ONE)
        reach = line_attacks(tables, square, occupied, kind) & targets
        reach &= pins if bit & pins != _ZERO else _ALL
        end = emit16(end, reach, _STEP, square)
        men &= men - _ONE
    return end


@inline
def _pawns(
    end: Any, pawns: Any, straight: Any, slant: Any, targets: Any, occupied: Any, their: Any,
) -> Any:  # fmt: skip
    """A pawn pinned on a line keeps to it: its step or capture must lead to a pinned square."""
    walkers, takers = pawns & ~slant, pawns & ~straight
    free, held = (walkers & ~straight) << _U(8), (walkers & straight) << _U(8) & straight
    single = (free | held) & ~occupied
    double = (single & RANK_3) << _U(8) & ~occupied & targets
    single &= targets
    free, held = takers & ~slant, takers & slant
    goals = their & targets
    left = ((free & _NOT_A) << _U(7) | (held & _NOT_A) << _U(7) & slant) & goals
    right = ((free & _NOT_H) << _U(9) | (held & _NOT_H) << _U(9) & slant) & goals
    end = emit8(end, single & ~RANK_8, _PAWN_STEP, _U(-8 & 0xFFFF))
    end = emit8(end, double, _PAWN_STEP, _U(-16 & 0xFFFF))
    end = emit8(end, left & ~RANK_8, _PAWN_STEP, _U(-7 & 0xFFFF))
    end = emit8(end, right & ~RANK_8, _PAWN_STEP, _U(-9 & 0xFFFF))
    if pawns & RANK_7 != _ZERO:
        for promotion in range(4096, 5 * 4096, 4096):
            end = emit8(end, single & RANK_8, _PAWN_STEP, _U(promotion - 8))
            end = emit8(end, left & RANK_8, _PAWN_STEP, _U(promotion - 7))
            end = emit8(end, right & RANK_8, _PAWN_STEP, _U(promotion - 9))
    return end


@inline
def _between(one: Any, other: Any) -> Any:
    """Squares of rank 1 from one to the other, both included."""
    low, high = min(one, other), max(one, other)
    return (_U(2) << _U(high)) - (_ONE << _U(low))


@inline
def _castling(
    end: Any, king: Any, rooks: Any, occupied: Any, attacked: Any, straight: Any,
) -> Any:  # fmt: skip
    """King takes own rook. A rook pinned along rank 1 shields the king's new square too."""
    while rooks != _ZERO:
        rook = np.int64(tz(rooks))
        to, rook_to = (6, 5) if rook > king else (2, 3)
        path = _between(king, to)
        way = (path | _between(rook, rook_to)) & ~(_ONE << _U(king) | _ONE << _U(rook))
        blocked = way & occupied | path & attacked | (_ONE << _U(rook)) & straight
        if blocked == _ZERO:
            end = _write(end, _U(king) | _U(rook) << _U(6))
        rooks &= rooks - _ONE
    return end


@kernel
def _legal_moves(tables, positions, num_positions, room, buffer, moves, num_moves, checks):  # type: ignore[no-untyped-def]
    """Returns the first position with more than MAX_MOVES moves, or -1."""
    for index in range(num_positions):
        packed = generate_moves(tables, positions + index * POSITION_BYTES, room)
        count = packed & 0xFFFF
        num_moves[index], checks[index] = count, packed >> 16
        if count > MAX_MOVES:
            return index
        if len(moves) > 0:
            for item in range(count):
                moves[index, item] = buffer[item]
    return -1


def legal_moves(positions: Positions) -> tuple[NDArray[np.uint16], NDArray[np.int32]]:
    """Legal moves of each position: ``uint64[G, 8] -> uint16[G, 218], int32[G]``.

    Mover's view, castling as king takes own rook, in a fixed order; items past the count are 0.
    Raises ValueError when a position has more than 218 moves, which none from a game can have.
    """
    moves = np.zeros((len(positions), MAX_MOVES), dtype=np.uint16)
    num_moves, _ = _generate(positions, moves)
    return moves, num_moves


def count_moves(positions: Positions) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Number of legal moves, and whether the mover is in check: ``-> int32[G], bool[G]``."""
    return _generate(positions, np.zeros((0, MAX_MOVES), dtype=np.uint16))


def in_check(positions: Positions) -> NDArray[np.bool_]:
    """True where the side to move is in check: ``uint64[G, 8] -> bool[G]``."""
    return count_moves(positions)[1]


def _generate(
    positions: Positions, moves: NDArray[np.uint16]
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    positions = checked(positions)
    num_moves = np.zeros(len(positions), dtype=np.int32)
    checks = np.zeros(len(positions), dtype=np.bool_)
    buffer = np.empty(_ANY_BOARD, np.uint16)
    bad = _legal_moves(
        lookup.address(), positions.ctypes.data, len(positions), buffer.ctypes.data, buffer, moves,
        num_moves, checks,
    )  # fmt: skip
    if bad >= 0:
        raise ValueError(f"position {bad} has {num_moves[bad]} moves, more than {MAX_MOVES}")
    return num_moves, checks
