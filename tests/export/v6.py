"""lc0's records by other means than ours: ``struct``, and python-chess for the planes.

Order, types and sizes of the fields are those of src/trainingdata/trainingdata_v6.h of
LeelaChessZero/lc0; the planes are those of src/neural/encoder.cc there, input format 1 and 2,
history not filled.
"""

import struct
from typing import Any

import chess

FIELDS = [
    *(("version", "I", 1), ("input_format", "I", 1), ("probabilities", "f", 1858)),
    *(("planes", "Q", 104), ("castling_us_ooo", "B", 1), ("castling_us_oo", "B", 1)),
    *(("castling_them_ooo", "B", 1), ("castling_them_oo", "B", 1)),
    *(("side_to_move_or_enpassant", "B", 1), ("rule50_count", "B", 1)),
    *(("invariance_info", "B", 1), ("dummy", "B", 1), ("root_q", "f", 1), ("best_q", "f", 1)),
    *(("root_d", "f", 1), ("best_d", "f", 1), ("root_m", "f", 1), ("best_m", "f", 1)),
    *(("plies_left", "f", 1), ("result_q", "f", 1), ("result_d", "f", 1), ("played_q", "f", 1)),
    *(("played_d", "f", 1), ("played_m", "f", 1), ("orig_q", "f", 1), ("orig_d", "f", 1)),
    *(("orig_m", "f", 1), ("visits", "I", 1), ("played_idx", "H", 1), ("best_idx", "H", 1)),
    *(("policy_kld", "f", 1), ("q_st", "f", 1)),
]
SIZE = 8356
NO_PLANES = [0] * 13


def unpack(data: bytes) -> dict[str, Any]:
    """One record; fields of more than one number as lists."""
    numbers = iter(struct.unpack("<" + "".join(f"{num}{kind}" for _, kind, num in FIELDS), data))
    values = {name: [next(numbers) for _ in range(num)] for name, _, num in FIELDS}
    return {name: value if len(value) > 1 else value[0] for name, value in values.items()}


def planes_of(board: chess.Board) -> list[int]:
    """The 104 planes of the position on ``board``, whose move stack is the game from its start."""
    mover, planes = board.turn, []
    back = board.copy()
    for _ in range(8):
        planes += _one_position(back, mover)
        if not back.move_stack:
            planes += _before_start(back, mover)
            break
        back.pop()
    return [*planes, *NO_PLANES * 8][:104]


def _one_position(board: chess.Board, mover: chess.Color) -> list[int]:
    repeated = 2**64 - 1 if board.is_repetition(2) else 0
    return [*_men(board, mover), repeated]


def _men(board: chess.Board, mover: chess.Color) -> list[int]:
    """a1 is the highest bit of the lowest byte: mirrored files, and ranks turned for Black."""
    men = []
    for colour in (mover, not mover):
        for kind in chess.PIECE_TYPES:
            seen = int(board.pieces(kind, colour))
            men.append(chess.flip_horizontal(seen if mover else chess.flip_vertical(seen)))
    return men


def _before_start(board: chess.Board, mover: chess.Color) -> list[int]:
    """Where a pawn may be taken en passant, the position with that pawn where it came from."""
    if not board.has_legal_en_passant():
        return []
    assert board.ep_square is not None
    step = 8 if board.turn else -8
    before = board.copy()
    before.remove_piece_at(board.ep_square - step)
    before.set_piece_at(board.ep_square + step, chess.Piece(chess.PAWN, not board.turn))
    return [*_men(before, mover), 0]
