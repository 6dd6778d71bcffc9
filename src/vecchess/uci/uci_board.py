"""The game on the engine's board: what ``position`` said, and the board as ``d`` shows it."""

from collections.abc import Sequence
from dataclasses import dataclass

import chess

from vecchess.chess.fen import parse, read_fen
from vecchess.errors import ConfigError
from vecchess.store.records import MAX_PLIES
from vecchess.uci.parse_command import STARTPOS, Position

_PROMOTIONS = (None, chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN)
_BLACK_SIDE = 56


@dataclass(frozen=True)
class UciGame:
    """A start position and moves. ``board`` is not to be changed; it castles by taking the rook."""

    start: chess.Board
    board: chess.Board
    asked: Position

    @property
    def moves(self) -> list[chess.Move]:
        """The moves from the start."""
        return self.board.move_stack

    def begins_with(self, other: "UciGame") -> bool:
        """Whether ``other`` is this game, or an earlier position of it."""
        return self.start == other.start and self.moves[: len(other.moves)] == other.moves

    @property
    def writes_chess960(self) -> bool:
        """Whether castling cannot be written as in standard chess."""
        return self.board.has_chess960_castling_rights()


def set_up(asked: Position, before: UciGame | None = None) -> UciGame:
    """The game that ``position`` describes, up to the first move that is not legal.

    So Stockfish does. ``before``: an earlier game, which spares going through its moves again.
    Raises ConfigError for a FEN that no game can go on from.
    """
    if len(asked.moves) > MAX_PLIES:
        raise ConfigError(f"the game has {len(asked.moves)} plies; {MAX_PLIES} is the most")
    if before is not None and _goes_on(asked, before.asked):
        start, board = before.start, before.board.copy()
        new = asked.moves[len(before.asked.moves) :]
        if len(board.move_stack) < len(before.asked.moves):  # it ended at an illegal move
            new = ()
    else:
        start = _start(asked.fen)
        board, new = start.copy(), asked.moves
    for uci in new:
        move = legal_move(board, uci)
        if move is None:
            break
        board.push(move)
    return UciGame(start, board, asked)


def legal_move(board: chess.Board, uci: str) -> chess.Move | None:
    """The legal move that is written ``uci``, either way of castling; None if there is none."""
    try:
        move = board.parse_uci(uci)
    except ValueError:
        return None
    return move if move else None  # "0000" is read, but is no move


def to_move(move: chess.Move, white: bool) -> int:
    """A move of a board as the mover sees it: from | to << 6 | promotion << 12."""
    turn = 0 if white else _BLACK_SIDE
    promotion = _PROMOTIONS.index(move.promotion)
    return move.from_square ^ turn | (move.to_square ^ turn) << 6 | promotion << 12


def write_move(board: chess.Board, move: chess.Move, chess960: bool) -> str:
    """A legal move of ``board`` as UCI writes it."""
    if chess960 or not board.is_castling(move):
        return move.uci()
    file = 6 if move.to_square > move.from_square else 2
    return chess.Move(move.from_square, chess.square(file, move.from_square >> 3)).uci()


def diagram(game: UciGame, key: int, chess960: bool) -> list[str]:
    """The board, its FEN, its key and who gives check, laid out as Stockfish's ``d``."""
    board, rule = game.board, " +---+---+---+---+---+---+---+---+"
    lines = ["", rule]
    for rank in range(7, -1, -1):
        men = (board.piece_at(chess.square(file, rank)) for file in range(8))
        row = "".join(f" | {man.symbol() if man else ' '}" for man in men)
        lines += [f"{row} | {rank + 1}", rule]
    fen = board.shredder_fen(en_passant="legal") if chess960 else board.fen(en_passant="legal")
    checkers = "".join(f"{chess.square_name(square)} " for square in board.checkers())
    return [*lines, "   a   b   c   d   e   f   g   h", "", f"Fen: {fen}", f"Key: {key:016X}",
            f"Checkers: {checkers}"]  # fmt: skip


def _goes_on(asked: Position, before: Position) -> bool:
    return asked.fen == before.fen and _is_prefix(before.moves, asked.moves)


def _is_prefix(short: Sequence[str], long: Sequence[str]) -> bool:
    return tuple(long[: len(short)]) == tuple(short)


def _start(fen: str) -> chess.Board:
    """The board of a FEN; castling rights without king and rook are left out."""
    if fen == STARTPOS:
        return chess.Board(chess960=True)
    board = read_fen(fen)
    board.castling_rights = board.clean_castling_rights()
    return parse(board.shredder_fen())
