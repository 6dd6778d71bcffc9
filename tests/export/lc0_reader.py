"""Reads lc0 training data (V6 records), and derives the position and policy of a record."""

import gzip
import zlib
from pathlib import Path

import chess
import numpy as np
from numpy.typing import NDArray

from vecchess.errors import DataError
from vecchess.export.lc0_export import RECORD, VERSION
from vecchess.lc0.lc0_moves import lc0_moves
from vecchess.lc0.lc0_planes import (
    CASTLING_PLANE,
    CLASSICAL,
    PLANES_PER_POSITION,
    reversed_in_bytes,
)

NUM_MOVES = 1858
_KINDS = (chess.PAWN, chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN, chess.KING)
_THEIR_PAWNS = 6
_MOST_BYTES = 4096 * RECORD.itemsize
"""A game has fewer plies; a file of zeros would unpack without end."""


def read_chunk(path: Path) -> NDArray[np.void]:
    """``RECORD[plies]`` of a game; DataError where it is no whole file of V6 records that we know.

    Known are the input formats 1 and 2, whose planes are not transformed.
    """
    try:
        with gzip.open(path) as file:
            data = file.read(_MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"cannot read {path}: {error}") from None
    if not data or len(data) % RECORD.itemsize or len(data) > _MOST_BYTES:
        raise DataError(f"{path} has {len(data)} bytes: not a number of V6 records of 8,356")
    chunk: NDArray[np.void] = np.frombuffer(data, RECORD)
    _require(path, chunk, "version", (VERSION,))
    _require(path, chunk, "input_format", (CLASSICAL, CASTLING_PLANE))
    if max(chunk["played_idx"].max(), chunk["best_idx"].max()) >= NUM_MOVES:
        raise DataError(f"{path} names a move beyond lc0's {NUM_MOVES}")
    return chunk


def board_of(record: np.void) -> chess.Board:
    """The position of one record. It does not know the number of the move: that is 1.

    A pawn may be taken en passant where the position before shows that it has just gone two steps.
    """
    planes = [int(word) for word in reversed_in_bytes(record["planes"])]
    board = chess.Board(None, chess960=True)
    board.turn = chess.WHITE
    for colour, first in ((chess.WHITE, 0), (chess.BLACK, len(_KINDS))):
        for kind, men in zip(_KINDS, planes[first : first + len(_KINDS)], strict=True):
            for square in chess.scan_forward(men):
                board.set_piece_at(square, chess.Piece(kind, colour))
    board.castling_rights = _castling(record, board)
    board.ep_square = _passed(planes)
    board.halfmove_clock = int(record["rule50_count"])
    return board.mirror() if record["side_to_move_or_enpassant"] else board


def policy_of(record: np.void) -> dict[chess.Move, float]:
    """What is recommended over the legal moves of one record, in White's view of the board.

    Castling is king takes own rook. A promotion to a knight has no mark in lc0's list: it is found
    out from the pawn that moves.
    """
    listed = np.flatnonzero(record["probabilities"] >= 0)
    return {move_of(record, int(index)): float(record["probabilities"][index]) for index in listed}


def move_of(record: np.void, index: int) -> chess.Move:
    """The move that ``index`` of lc0's list means in one record, in White's view of the board."""
    move = lc0_moves()[index]
    pawns = int(reversed_in_bytes(record["planes"][:1])[0])
    promotion = move.promotion
    if promotion is None and pawns >> move.from_square & 1 and move.to_square >= chess.A8:
        promotion = chess.KNIGHT
    flip = 56 if record["side_to_move_or_enpassant"] else 0
    return chess.Move(move.from_square ^ flip, move.to_square ^ flip, promotion)


def _require(path: Path, chunk: NDArray[np.void], name: str, known: tuple[int, ...]) -> None:
    """Raise DataError where the field ``name`` has a value that is not known."""
    odd = ~np.isin(chunk[name], known)
    if odd.any():
        raise DataError(f"{path} has {name} {chunk[name][odd][0]}; known: {known}")


def _castling(record: np.void, board: chess.Board) -> int:
    """The rooks that may castle, as a bitboard seen by the mover."""
    rights = 0
    for side, colour in (("us", chess.WHITE), ("them", chess.BLACK)):
        rank = 0 if colour else 56
        for wing, file in (("ooo", 0), ("oo", 7)):
            stored = int(record[f"castling_{side}_{wing}"])
            if record["input_format"] == CLASSICAL:
                stored = stored << file
            rights |= stored << rank
    return rights & board.rooks


def _passed(planes: list[int]) -> int | None:
    """The square behind a pawn of the other side that has just gone two steps."""
    now, before = planes[_THEIR_PAWNS], planes[PLANES_PER_POSITION + _THEIR_PAWNS]
    came, left = now & ~before, before & ~now
    if left and left == came << 16 and left & chess.BB_RANK_7 and not left & (left - 1):
        return chess.lsb(left) - 8
    return None
