"""FEN in and out, through python-chess: standard, X-FEN and Shredder-FEN, Chess960 included.

Decision 177.
"""

from collections.abc import Iterable

import chess
import numpy as np
from numpy.typing import NDArray

from vecchess.chess.position import (
    CASTLING,
    CLOCK_MASK,
    COLOUR_SHIFT,
    COUNTERS,
    DIAGONAL,
    KINGS,
    KNIGHTS,
    ORTHOGONAL,
    OWN,
    PAWNS,
    PLY_SHIFT,
    Positions,
    checked,
)  # fmt: skip
from vecchess.errors import ConfigError
from vecchess.safe_parse import clip_line
from vecchess.shapes import MAX_MOVES, POSITION_WORDS

_MAX_PLY = 0xFFFFFFFF
_LONGEST = 200
"""Characters of a FEN; 90 or so are the most that one needs."""
_MOST_MOVES = {chess.PAWN: 12, chess.KNIGHT: 8, chess.BISHOP: 13, chess.ROOK: 14, chess.QUEEN: 27}
"""Moves of a piece at most; the king has 8, and may castle twice."""
_REASONS = {
    chess.STATUS_NO_WHITE_KING: "White has no king",
    chess.STATUS_NO_BLACK_KING: "Black has no king",
    chess.STATUS_TOO_MANY_KINGS: "a side has more than one king",
    chess.STATUS_PAWNS_ON_BACKRANK: "a pawn stands on the first or last rank",
    chess.STATUS_OPPOSITE_CHECK: "the side that is not to move is in check",
    chess.STATUS_BAD_CASTLING_RIGHTS: "castling rights without king and rook in place",
}


def from_fens(fens: Iterable[str]) -> Positions:
    """Positions of FENs: ``uint64[G, 8]``. Missing clocks read as ``0 1``, as in EPD.

    An en-passant square is kept only if a capture there is legal. Raises ConfigError with the
    FEN and the reason when it does not parse or no game could go on from it.
    """
    rows = [from_board(parse(fen)) for fen in fens]
    return np.stack(rows) if rows else np.zeros((0, POSITION_WORDS), dtype=np.uint64)


def to_fens(positions: Positions, shredder: bool = False) -> list[str]:
    """FENs of positions: X-FEN castling letters, or rook files with ``shredder``."""
    boards = [to_board(row) for row in checked(positions)]
    return [
        board.shredder_fen(en_passant="legal") if shredder else board.fen(en_passant="legal")
        for board in boards
    ]


def parse(fen: str) -> chess.Board:
    """The FEN as a Chess960-aware board. Raises ConfigError, see ``from_fens``."""
    board = read_fen(fen)
    status = board.status()
    for flag, reason in _REASONS.items():
        if status & flag:
            raise ConfigError(f"bad FEN '{fen}': {reason}")
    for colour, name in ((chess.WHITE, "White"), (chess.BLACK, "Black")):
        if not _from_promotions(board, colour):
            raise ConfigError(f"bad FEN '{fen}': {name} has more men than pawns could promote to")
    if (count := _count_moves(board)) > MAX_MOVES:
        raise ConfigError(f"bad FEN '{fen}': it has {count} legal moves, more than {MAX_MOVES}")
    if not (0 <= board.halfmove_clock <= CLOCK_MASK and 0 <= board.ply() <= _MAX_PLY):
        raise ConfigError(f"bad FEN '{fen}': a clock is out of range")
    return board


def read_fen(fen: str) -> chess.Board:
    """The board of a FEN, also where no game could go on from it. Raises ConfigError for a text
    that is no FEN."""
    if len(fen) > _LONGEST:
        raise ConfigError(f"bad FEN '{fen[:40]} ...': it has {len(fen)} characters")
    try:
        board = chess.Board(fen, chess960=True)
    except ValueError as error:
        raise ConfigError(f"bad FEN '{fen}': {clip_line(error)}") from None
    return board


def _from_promotions(board: chess.Board, colour: chess.Color) -> bool:
    """True when the pieces beyond those of the start can be promoted pawns: then L <= 218."""
    first = {chess.KNIGHT: 2, chess.BISHOP: 2, chess.ROOK: 2, chess.QUEEN: 1}
    extra = sum(max(0, len(board.pieces(kind, colour)) - num) for kind, num in first.items())
    return extra + len(board.pieces(chess.PAWN, colour)) <= 8


def _count_moves(board: chess.Board) -> int:
    """Legal moves of the mover; 0 where its pieces cannot have more than MAX_MOVES."""
    bound = 10 + sum(
        most * len(board.pieces(kind, board.turn)) for kind, most in _MOST_MOVES.items()
    )
    return board.legal_moves.count() if bound > MAX_MOVES else 0


def from_board(board: chess.Board) -> NDArray[np.uint64]:
    """The position of a python-chess board, ``uint64[8]``; its move stack is not looked at."""
    words = [0] * POSITION_WORDS
    words[OWN] = board.occupied_co[board.turn]
    words[PAWNS], words[KNIGHTS], words[KINGS] = board.pawns, board.knights, board.kings
    words[DIAGONAL] = board.bishops | board.queens
    words[ORTHOGONAL] = board.rooks | board.queens
    words[CASTLING] = board.clean_castling_rights()
    if board.has_legal_en_passant():
        words[CASTLING] |= chess.BB_SQUARES[board.ep_square or 0]
    if board.turn == chess.BLACK:
        words = [chess.flip_vertical(word) for word in words]
    colour = int(board.turn == chess.BLACK)
    ply = max(board.ply(), 0)
    words[COUNTERS] = board.halfmove_clock | ply << PLY_SHIFT | colour << COLOUR_SHIFT
    return np.array(words, dtype=np.uint64)


def is_chess960(position: NDArray[np.uint64]) -> bool:
    """Whether castling in a position, uint64[8], has to be written as king takes rook: its rights
    are none of standard chess."""
    return bool(to_board(position).has_chess960_castling_rights())


def to_board(position: NDArray[np.uint64], chess960: bool = True) -> chess.Board:
    """A python-chess board of one position, ``uint64[8]``, with an empty move stack.

    ``chess960`` only decides how that board writes castling: as king takes rook, or as e1g1.
    """
    words = [int(word) for word in position]
    counters = words[COUNTERS]
    black = bool(counters >> COLOUR_SHIFT)
    if black:
        words = [chess.flip_vertical(word) for word in words]
    board = chess.Board(None, chess960=chess960)
    board.turn = not black
    board.pawns, board.knights, board.kings = words[PAWNS], words[KNIGHTS], words[KINGS]
    board.queens = words[DIAGONAL] & words[ORTHOGONAL]
    board.bishops, board.rooks = words[DIAGONAL] ^ board.queens, words[ORTHOGONAL] ^ board.queens
    men = board.pawns | board.knights | board.kings | words[DIAGONAL] | words[ORTHOGONAL]
    board.occupied = men
    board.occupied_co[board.turn] = words[OWN]
    board.occupied_co[not board.turn] = men & ~words[OWN]
    board.castling_rights = words[CASTLING] & chess.BB_BACKRANKS
    en_passant = words[CASTLING] & ~chess.BB_BACKRANKS
    board.ep_square = chess.lsb(en_passant) if en_passant else None
    board.halfmove_clock = counters & CLOCK_MASK
    board.fullmove_number = (counters >> PLY_SHIFT & _MAX_PLY) // 2 + 1
    return board
