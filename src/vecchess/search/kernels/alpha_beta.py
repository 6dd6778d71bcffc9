"""Minimax by material: alpha-beta to a fixed depth in plies, and nothing else.

As many first chess programs: no quiescence, so the last capture of a line is never answered, no
transposition table, no repetitions. Captures and promotions are tried first, which saves time and
changes no score. For players of known, modest strength; networks play by ``batch_search``.

Decisions 133 and 134.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards import tables as lookup
from vecchess.chess.bitboards.bits import load, load_u16
from vecchess.chess.make import make_move_into
from vecchess.chess.movegen import MOVE_BUFFER, MOVES_BYTES, generate_moves, legal_moves
from vecchess.chess.position import (
    CASTLING,
    POSITION_BYTES,
    RANK_6,
    Positions,
    balance_of,
    checked,
    copy_position,
    pieces_of,
)
from vecchess.jit import inline, kernel, part
from vecchess.shapes import POSITION_WORDS

MATE = 1000
"""Score of a mate at once; a ply later it is 1 less. All men are worth far less."""
NO_SCORE = -2 * MATE
"""Below all scores: of places without a move."""
_ALPHA, _BETA, _BEST, _COUNT, _CURSOR = range(5)
_FRAME_FIELDS = 5
_U = np.uint64
_ZERO, _ONE = _U(0), _U(1)


def minimax(
    positions: Positions, depth: int
) -> tuple[NDArray[np.uint16], NDArray[np.int32], NDArray[np.int32]]:
    """All moves of each position with their scores: ``uint64[K, 8] ->`` moves uint16[K, 218],
    numbers of them int32[K] and scores int32[K, 218].

    Scores are the mover's, in pawns ``depth`` plies on, the move itself counted: mate is
    ``MATE`` less the plies before it, stalemate 0. They are exact for every move that is best;
    others may have more than they deserve, but less than the best. ``NO_SCORE`` where there is no
    move. Raises ValueError for a depth below 1.
    """
    if depth < 1:
        raise ValueError(f"minimax looks 1 ply ahead at least, not {depth}")
    positions = checked(positions)
    moves, counts = legal_moves(positions)
    scores = np.full(moves.shape, NO_SCORE, np.int32)
    boards = np.zeros((depth + 1, POSITION_WORDS), np.uint64)
    lists = np.zeros((depth + 1, MOVE_BUFFER), np.uint16)
    frames = np.zeros((depth, _FRAME_FIELDS), np.int64)
    _score_all(
        lookup.address(), positions.ctypes.data, boards.ctypes.data, lists.ctypes.data, frames,
        depth, scores,
    )  # fmt: skip
    return moves, counts, scores


@kernel
def _score_all(tables, positions, boards, lists, frames, depth, scores):  # type: ignore[no-untyped-def]
    for index in range(len(scores)):
        copy_position(positions + index * POSITION_BYTES, boards)
        _score_moves(tables, boards, lists, frames, depth, scores, index)


@part
def _score_moves(tables, boards, lists, frames, depth, scores, index):  # type: ignore[no-untyped-def]
    """Search the first of ``boards`` with a board, a move list and a frame for each ply."""
    _open(frames, 0, generate_moves(tables, boards, lists) & 0xFFFF, NO_SCORE, -NO_SCORE)
    level = 0
    while level >= 0:
        alpha, beta = frames[level, _ALPHA], frames[level, _BETA]
        cursor, count = frames[level, _CURSOR], frames[level, _COUNT]
        if cursor == 2 * count or alpha >= beta:
            level -= 1
            if level >= 0:
                _update(frames, level, -frames[level + 1, _BEST], scores, index)
            continue
        frames[level, _CURSOR] = cursor + 1
        board = boards + level * POSITION_BYTES
        move = load_u16(lists + level * MOVES_BYTES, cursor % count)
        if _is_quiet(board, move) != (cursor >= count):
            continue
        after = board + POSITION_BYTES
        make_move_into(tables, board, after, move)
        packed = generate_moves(tables, after, lists + (level + 1) * MOVES_BYTES)
        if packed & 0xFFFF == 0:
            _update(frames, level, MATE - level - 1 if packed >> 16 else 0, scores, index)
        elif level + 1 == depth:
            _update(frames, level, -balance_of(after), scores, index)
        else:
            level += 1
            _open(frames, level, packed & 0xFFFF, -beta, -alpha)


@inline
def _open(frames: Any, level: Any, count: Any, alpha: Any, beta: Any) -> None:
    """Begin with the moves of a position. They are tried in two passes, captures and such first."""
    frames[level, _ALPHA], frames[level, _BETA] = alpha, beta
    frames[level, _BEST], frames[level, _COUNT], frames[level, _CURSOR] = NO_SCORE, count, 0


@inline
def _update(frames: Any, level: Any, score: Any, scores: Any, index: Any) -> None:
    """Update a ply with the score of its last move, for the side that made it."""
    best = max(frames[level, _BEST], score)
    frames[level, _BEST] = best
    if level == 0:
        scores[index, (frames[0, _CURSOR] - 1) % frames[0, _COUNT]] = score
        best -= 1  # so that scores equal to the best are exact, and a move can be drawn from them
    frames[level, _ALPHA] = max(frames[level, _ALPHA], best)


@inline
def _is_quiet(board: Any, move: Any) -> Any:
    """True for a move that neither takes nor promotes. Any man's move to the en-passant square
    counts as a capture."""
    own, pawns, knights, diagonal, orthogonal, kings = pieces_of(board)
    occupied = pawns | knights | diagonal | orthogonal | kings
    targets = (occupied & ~own) | (load(board, CASTLING) & RANK_6)
    takes = targets & _ONE << _U(move >> 6 & 63)
    return takes == _ZERO and move >> 12 == 0
