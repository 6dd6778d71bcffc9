"""Input planes of the network: 64 bits each, from the mover's view, without colours.

The newest position has 25 of them:

    plane  0 ..  5   own pawns, knights, bishops, rooks, queens, king
           6 .. 11   their pawns, knights, bishops, rooks, queens, king
          12 .. 15   rooks that may castle: own king-side, own queen-side, theirs the same
          16         the square on which a pawn may be taken en passant
          17         the position occurred before in the game        0 or all ones
          18         the mover is in check                           0 or all ones
          19 .. 23   halfmove clock at least 16, 32, 48, 64, 80      0 or all ones each
          24         all ones: shows a padded convolution where the board ends

There is no plane for a second repetition: the game is over then.

A network may see K = 11 tactical planes of that position behind them, else K = 0:

    plane 25, 26, 27   squares that own pieces attack: at all, at least twice, with a pawn
          28, 29, 30   the same for theirs
          31, 32       own pieces pinned to the own king; theirs pinned to theirs
          33           their pieces that give check
          34, 35       own pieces that hang; theirs

A piece hangs where it is attacked and not defended, or attacked by one of less value (pawn; knight
and bishop; rook; queen). Sliders attack up to the first piece on their way, of either side, and
pinned pieces attack as others do. Kings do not hang. Planes of this kind, and a better value loss,
gained up to 180 Elo for AlphaZero-like networks (Czech et al. 2023, arXiv:2304.14918).

A network with a history of H = 2 .. 8 positions sees the pieces of the H - 1 positions before as
well, as AlphaZero and lc0 do, in twelve planes each, in the order of planes 0 .. 11 (decision 11):

    plane 25 + K + 12 (i - 1) ..   the pieces i plies ago, i = 1 .. H - 1, as the side to move now
                                   sees them: whose, and which way round, is that of the newest
                                   position

They are zero where the game has no such position. There are 25 + K + 12 (H - 1) planes.

A network that reads inputs of moves (``move_inputs``) has M = 55 words behind its planes, else
M = 0: the code of each legal move, in the order of generation, four to a word, the first in the
lowest bits; what follows the legal moves is 0. P = 25 + K + 12 (H - 1) + M words in all:
H, K and M follow from P.

A network of another program makes its own planes. It gets the eight last positions as they are,
newest first, in P = 64 words (``POSITION_INPUTS``).
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vecchess.chess.bitboards import tables as lookup
from vecchess.chess.bitboards.attacks import (
    bishop_attacks,
    knight_attacks,
    pawn_attacks,
    rook_attacks,
)
from vecchess.chess.bitboards.bits import bswap, load, store, tz
from vecchess.chess.bitboards.rays import king_rays
from vecchess.chess.history import (
    MOST_POSITIONS,
    PAST_BYTES,
    Pasts,
    checked_past,
    earlier_position,
    mark_repeated,
    no_past,
)
from vecchess.chess.move_inputs import ROOM, move_codes, write_move_inputs
from vecchess.chess.movegen import in_check
from vecchess.chess.position import (
    CASTLING,
    FILE_A,
    FILE_H,
    PIECE_VALUES,
    POSITION_BYTES,
    RANK_1,
    RANK_6,
    RANK_8,
    Positions,
    checked,
    clock_of,
    copy_position,
    pieces_of,
)  # fmt: skip
from vecchess.errors import NetworkError
from vecchess.jit import inline, kernel
from vecchess.shapes import POSITION_WORDS

NUM_PLANES = 25
"""Planes of the newest position."""
EARLIER_PLANES = 12
"""Planes of each position before it."""
TACTICAL_PLANES = 11
MOVE_WORDS: int = ROOM // 4
"""Words of the inputs of moves, behind the planes."""
_WITH_MOVES = tuple((MOVE_WORDS + extra) % EARLIER_PLANES for extra in (0, TACTICAL_PLANES))
"""What is left of P - 25 where there are inputs of moves."""
POSITION_INPUTS: int = MOST_POSITIONS * POSITION_WORDS
"""P of a network that sees positions as they are: eight words each, the newest first, zero where
the game has none, with ``REPEATED_SHIFT`` in the counters of those that had occurred before."""
CLOCK_STEPS = (16, 32, 48, 64, 80)
MATERIAL_WEIGHTS: NDArray[np.int32] = np.zeros(NUM_PLANES, np.int32)
"""``int32[P]``: own pieces above 0, theirs below, planes of other things 0; mover's view."""
MATERIAL_WEIGHTS[:6] = PIECE_VALUES
MATERIAL_WEIGHTS[6:12] = np.negative(PIECE_VALUES)
MATERIAL_WEIGHTS.flags.writeable = False
_U = np.uint64
_ZERO, _ONE, _ALL = _U(0), _U(1), _U(2**64 - 1)


def num_planes(history: int = 1, tactical: bool = False, moves: bool = False) -> int:
    """P, the input words of a network that sees ``history`` positions, 1 to 8, and tactical planes
    and inputs of moves or none. Raises ValueError for another history."""
    if not 1 <= history <= MOST_POSITIONS:
        raise ValueError(f"a history of {history} positions: networks see 1 to {MOST_POSITIONS}")
    planes = NUM_PLANES + TACTICAL_PLANES * tactical + EARLIER_PLANES * (history - 1)
    return planes + MOVE_WORDS * moves


def history_of(num_planes: int) -> int:
    """H, the positions that a network with so many input words sees.

    Raises NetworkError for a number that no H gives.
    """
    history, rest = divmod(board_planes(num_planes) - NUM_PLANES, EARLIER_PLANES)
    if rest not in (0, TACTICAL_PLANES) or not 0 <= history < MOST_POSITIONS:
        raise NetworkError(
            f"{num_planes} input planes: vecchess makes {NUM_PLANES}, {TACTICAL_PLANES} more with "
            f"tactics, {EARLIER_PLANES} more for each of up to {MOST_POSITIONS - 1} earlier "
            f"positions, and {MOVE_WORDS} words with inputs of moves"
        )
    return history + 1


def positions_seen(num_planes: int) -> int:
    """``history_of`` a network of vecchess, or 8 for ``POSITION_INPUTS``. Raises NetworkError."""
    return MOST_POSITIONS if num_planes == POSITION_INPUTS else history_of(num_planes)


def has_tactics(num_planes: int) -> bool:
    """Whether a network with so many input words, one that ``history_of`` takes, sees tactics."""
    return (board_planes(num_planes) - NUM_PLANES) % EARLIER_PLANES == TACTICAL_PLANES


def reads_moves(num_planes: int) -> bool:
    """Whether a network with so many input words reads inputs of moves."""
    return board_planes(num_planes) < num_planes


def board_planes(num_planes: int) -> int:
    """How many of a network's input words are planes."""
    rest = (num_planes - NUM_PLANES) % EARLIER_PLANES
    has_moves = num_planes > MOVE_WORDS and rest in _WITH_MOVES
    return num_planes - MOVE_WORDS if has_moves else num_planes


planes_among: Any = inline(board_planes)
"""``board_planes`` for kernels."""


def require_planes_alone(num_planes: int) -> None:
    """Raise NetworkError where there are inputs of moves, which not all that see planes have."""
    if reads_moves(num_planes):
        raise NetworkError(
            f"{num_planes} input words have inputs of moves; here there are planes alone, "
            f"{board_planes(num_planes)} of them"
        )


@inline
def history_length(num_planes: Any) -> Any:
    """``history_of`` for kernels, ``int64``, without a check."""
    return np.int64((planes_among(num_planes) - NUM_PLANES) // EARLIER_PLANES + 1)


@inline
def write_inputs(
    tables: Any, position: Any, past: Any, repetitions: Any, in_check: Any, num_planes: Any,
    planes: Any,
) -> None:  # fmt: skip
    """Write the planes that a network with ``num_planes`` input words sees at the address
    ``planes``; see ``write_moves_behind`` for the rest.

    ``past``: address of the positions before, see ``history.py``; it is not read where the network
    sees none.
    """
    if num_planes == POSITION_INPUTS:
        _write_positions(position, past, repetitions, planes)
        return
    write_planes(position, repetitions, in_check, planes)
    behind = planes + 8 * NUM_PLANES
    if (planes_among(num_planes) - NUM_PLANES) % EARLIER_PLANES == TACTICAL_PLANES:
        write_tactics(tables, position, behind)
        behind += 8 * TACTICAL_PLANES
    _write_past(position, past, history_length(num_planes), behind)


@inline
def write_moves_behind(
    tables: Any, position: Any, moves: Any, num_moves: Any, num_planes: Any, planes: Any
) -> None:
    """Write the inputs of the legal ``moves``, an address, behind the planes at the address
    ``planes``, where the network reads any."""
    first = planes_among(num_planes)
    if first != num_planes:
        write_move_inputs(tables, position, moves, np.int64(num_moves), planes + 8 * first)


@inline
def write_planes(position: Any, repetitions: Any, in_check: Any, planes: Any) -> None:
    """Write the ``uint64[NUM_PLANES]`` of the newest position at the address ``planes``."""
    own, pawns, knights, diagonal, orthogonal, kings = pieces_of(position)
    rights = load(position, CASTLING)
    _men(planes, own, pawns, knights, diagonal, orthogonal, kings)
    own_side, their_side = (kings & own) - _U(1), (kings & ~own) - _U(1)  # left of the king
    store(planes, 12, rights & RANK_1 & ~own_side)
    store(planes, 13, rights & RANK_1 & own_side)
    store(planes, 14, rights & RANK_8 & ~their_side)
    store(planes, 15, rights & RANK_8 & their_side)
    store(planes, 16, rights & RANK_6)
    store(planes, 17, _ALL if repetitions >= 1 else _ZERO)
    store(planes, 18, _ALL if in_check else _ZERO)
    clock = clock_of(position)
    for index, least in enumerate(CLOCK_STEPS):
        store(planes, 19 + index, _ALL if clock >= least else _ZERO)
    store(planes, 24, _ALL)


@inline
def _write_positions(position: Any, past: Any, repetitions: Any, words: Any) -> None:
    """Write the ``POSITION_INPUTS`` of ``position`` and the seven before it."""
    copy_position(position, words)
    mark_repeated(words, repetitions)
    for plies in range(1, MOST_POSITIONS):
        copy_position(earlier_position(position, past, plies), words + plies * POSITION_BYTES)


@inline
def _write_past(position: Any, past: Any, history: Any, planes: Any) -> None:
    """Write the planes of the ``history`` - 1 positions before ``position``."""
    for plies in range(1, history):
        earlier = earlier_position(position, past, plies)
        own, pawns, knights, diagonal, orthogonal, kings = pieces_of(earlier)
        if plies & 1:  # the other side moved there
            own = bswap((pawns | knights | diagonal | orthogonal | kings) & ~own)
            pawns, knights, kings = bswap(pawns), bswap(knights), bswap(kings)
            diagonal, orthogonal = bswap(diagonal), bswap(orthogonal)
        first = planes + 8 * EARLIER_PLANES * (plies - 1)
        _men(first, own, pawns, knights, diagonal, orthogonal, kings)


@inline
def clock_level(clock: Any) -> Any:
    """How many of the planes of the halfmove clock are set, ``int64``."""
    level = np.int64(0)
    for least in CLOCK_STEPS:
        level += np.int64(clock >= least)
    return level


@inline
def _men(
    planes: Any, own: Any, pawns: Any, knights: Any, diagonal: Any, orthogonal: Any, kings: Any
) -> None:
    """The twelve planes of the pieces of one position."""
    queens = diagonal & orthogonal
    _both(planes, 0, pawns, own)
    _both(planes, 1, knights, own)
    _both(planes, 2, diagonal ^ queens, own)
    _both(planes, 3, orthogonal ^ queens, own)
    _both(planes, 4, queens, own)
    _both(planes, 5, kings, own)


@inline
def _both(planes: Any, kind: Any, men: Any, own: Any) -> None:
    store(planes, kind, men & own)
    store(planes, kind + 6, men & ~own)


@kernel
def _encode(tables, positions, num_positions, repetitions, checks, past, planes):  # type: ignore[no-untyped-def]
    num_planes = planes.shape[1]
    for index in range(num_positions):
        position = positions + index * POSITION_BYTES
        row = np.int64(planes.ctypes.data) + index * 8 * num_planes
        before, seen = past + index * PAST_BYTES, repetitions[index]
        write_inputs(tables, position, before, seen, checks[index], num_planes, row)


def encode_planes(
    positions: Positions,
    repetitions: ArrayLike = 0,
    past: Pasts | None = None,
    num_planes: int = NUM_PLANES,
) -> NDArray[np.uint64]:
    """Input words of positions, ``uint64[B, 8] -> uint64[B, P]``, mover's view.

    ``repetitions``: earlier occurrences of each position in its game, ``int[B]`` or one for all.
    ``past``: ``uint64[B, 8, 8]`` the positions before (``history.py``), None for none;
    ``num_planes``: P. Bit ``s`` of a plane is square ``s``. Raises ValueError for wrong shapes, and
    NetworkError for a P that vecchess does not make.
    """
    positions = checked(positions)
    num = len(positions)
    seen = np.ascontiguousarray(np.broadcast_to(np.asarray(repetitions, np.int64), (num,)))
    planes = np.zeros((num, num_planes), dtype=np.uint64)
    before = no_past(num if positions_seen(num_planes) > 1 else 0)
    if past is not None:
        before = checked_past(past, num)
    checks = in_check(positions)
    tables, places = lookup.address(), (positions.ctypes.data, before.ctypes.data)
    _encode(tables, places[0], num, seen, checks, places[1], planes)
    if reads_moves(num_planes):
        planes[:, board_planes(num_planes) :] = move_codes(positions).view(np.uint64)
    return planes


@inline
def write_tactics(tables: Any, position: Any, planes: Any) -> None:
    """Write ``uint64[TACTICAL_PLANES]`` of a position at the address ``planes``."""
    own, pawns, knights, diagonal, orthogonal, kings = pieces_of(position)
    occupied = pawns | knights | diagonal | orthogonal | kings
    their = occupied & ~own
    east = (pawns & own & ~FILE_H) << _U(9), (pawns & their & ~FILE_H) >> _U(7)
    west = (pawns & own & ~FILE_A) << _U(7), (pawns & their & ~FILE_A) >> _U(9)
    own_attacks = _attacks(
        tables, east[0], west[0], knights & own, diagonal & own, orthogonal & own, kings & own,
        occupied,
    )  # fmt: skip
    their_attacks = _attacks(
        tables, east[1], west[1], knights & their, diagonal & their, orthogonal & their,
        kings & their, occupied,
    )  # fmt: skip
    for index in range(3):
        store(planes, index, own_attacks[index])
        store(planes, 3 + index, their_attacks[index])
    checkers, own_pinned = _threats(tables, kings & own, occupied, own, diagonal, orthogonal)
    _, their_pinned = _threats(tables, kings & their, occupied, their, diagonal, orthogonal)
    king = kings & own
    checkers |= knight_attacks(king) & knights & their | pawn_attacks(king) & pawns & their
    store(planes, 6, own_pinned)
    store(planes, 7, their_pinned)
    store(planes, 8, checkers)
    values = (pawns, knights | diagonal ^ diagonal & orthogonal, orthogonal & ~diagonal, kings)
    store(planes, 9, _hanging(own, values, their_attacks, own_attacks[0]))
    store(planes, 10, _hanging(their, values, own_attacks, their_attacks[0]))


@inline
def _attacks(
    tables: Any, east: Any, west: Any, knights: Any, diagonal: Any, orthogonal: Any, king: Any,
    occupied: Any,
) -> Any:  # fmt: skip
    """Squares that one side's pieces attack: (at all, at least twice, with a pawn, with a knight or
    bishop, with a rook)."""
    by_pawn = east | west
    once, twice = by_pawn, east & west
    minor, rook = _ZERO, _ZERO
    men = knights
    while men != _ZERO:
        reached = load(tables, lookup.KNIGHT + np.int64(tz(men)))
        twice |= once & reached
        once |= reached
        minor |= reached
        men &= men - _ONE
    men = diagonal | orthogonal
    while men != _ZERO:
        square, man = np.int64(tz(men)), men & (~men + _ONE)
        is_slant, is_straight = diagonal & man != _ZERO, orthogonal & man != _ZERO
        reached = bishop_attacks(tables, square, occupied) if is_slant else _ZERO
        if is_straight:
            reached |= rook_attacks(tables, square, occupied)
        twice |= once & reached
        once |= reached
        minor |= _ZERO if is_straight else reached
        rook |= _ZERO if is_slant else reached
        men ^= man
    reached = load(tables, lookup.KING + np.int64(tz(king)))
    return once | reached, twice | once & reached, by_pawn, minor, rook


@inline
def _threats(
    tables: Any, king: Any, occupied: Any, own: Any, diagonal: Any, orthogonal: Any
) -> Any:
    """(sliders that give check to ``king``, pieces of its side, ``own``, that are pinned to it)."""
    rays = _U(tables) + _U((lookup.RAYS + np.int64(tz(king)) * 8) * 8)
    checkers, _, straight, slant = king_rays(
        rays, occupied, own, orthogonal & ~own, diagonal & ~own
    )
    return checkers, (straight | slant) & own


@inline
def _hanging(men: Any, values: Any, attacks: Any, defended: Any) -> Any:
    """Squares of ``men`` that hang; ``values``: pawns, knights and bishops, rooks, kings of both
    sides; ``attacks``: as of ``_attacks``."""
    pawns, minor, rooks, kings = values
    by_all, _, by_pawn, by_minor, by_rook = attacks
    loose = by_all & ~defended
    won = by_pawn & ~pawns | by_minor & ~(pawns | minor) | by_rook & ~(pawns | minor | rooks)
    return men & ~kings & (loose | won)
