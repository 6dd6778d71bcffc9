"""The game of ``position``, the board that ``d`` prints, and lines in UCI notation.

Decision 66.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import chess

from vecchess.chess.fen import parse, read_fen
from vecchess.chess.uci_moves import action_to_chess_move
from vecchess.errors import ConfigError
from vecchess.store.records import MAX_PLIES
from vecchess.uci.parse_command import STARTPOS, Position


@dataclass(frozen=True)
class UciGame:
    """A start position and moves. ``board`` must not be changed; castling takes the rook there."""

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

    Stockfish does the same. ``before``: an earlier game, whose moves need not be replayed. Raises
    ConfigError for a FEN that cannot be played from.
    """
    if len(asked.moves) > MAX_PLIES:
        raise ConfigError(f"the game has {len(asked.moves)} plies; {MAX_PLIES} is the most")
    if before is not None and _continues(asked, before.asked):
        start, board = before.start, before.board.copy()
        new = asked.moves[len(before.asked.moves) :]
        if len(board.move_stack) < len(before.asked.moves):  # it ended before an illegal move
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
    """The legal move written ``uci``, castling in either notation; None if there is none."""
    try:
        move = board.parse_uci(uci)
    except ValueError:
        return None
    return move if move else None  # "0000" is read, but is no move


def uci_line(game: UciGame, actions: Sequence[int], chess960: bool) -> list[str]:
    """A line of legal actions from the end of ``game`` in UCI notation."""
    is_960 = chess960 or game.writes_chess960
    board, names = game.board.copy(stack=False), []
    for action in actions:
        move = action_to_chess_move(board, action)
        assert move is not None
        names.append(board.uci(move, chess960=is_960))
        board.push(move)
    return names


def diagram(game: UciGame, key: int, chess960: bool) -> list[str]:
    """The board, its FEN, its key and the checkers, laid out as Stockfish's ``d``."""
    board, rule = game.board, " +---+---+---+---+---+---+---+---+"
    lines = ["", rule]
    for rank in range(7, -1, -1):
        pieces = (board.piece_at(chess.square(file, rank)) for file in range(8))
        row = "".join(f" | {piece.symbol() if piece else ' '}" for piece in pieces)
        lines += [f"{row} | {rank + 1}", rule]
    fen = board.shredder_fen(en_passant="legal") if chess960 else board.fen(en_passant="legal")
    checkers = "".join(f"{chess.square_name(square)} " for square in board.checkers())
    return [*lines, "   a   b   c   d   e   f   g   h", "", f"Fen: {fen}", f"Key: {key:016X}",
            f"Checkers: {checkers}"]  # fmt: skip


def _continues(asked: Position, before: Position) -> bool:
    return asked.fen == before.fen and asked.moves[: len(before.moves)] == before.moves


def _start(fen: str) -> chess.Board:
    """The board of a FEN; castling rights without king and rook are left out."""
    if fen == STARTPOS:
        return chess.Board(chess960=True)
    board = read_fen(fen)
    board.castling_rights = board.clean_castling_rights()
    return parse(board.shredder_fen())
