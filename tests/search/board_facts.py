"""Facts about a position by the rules alone: by trying all moves with python-chess."""

from collections.abc import Callable

import chess

PAWNS = {chess.PAWN: 1, chess.KNIGHT: 3, chess.BISHOP: 3, chess.ROOK: 5, chess.QUEEN: 9}


def material(board: chess.Board) -> int:
    """Men of the side to move less those of the other, in pawns (1, 3, 3, 5, 9)."""
    return sum(
        worth * (len(board.pieces(kind, board.turn)) - len(board.pieces(kind, not board.turn)))
        for kind, worth in PAWNS.items()
    )


def mating_moves(board: chess.Board) -> list[chess.Move]:
    return _moves_to(board, chess.Board.is_checkmate)


def stalemating_moves(board: chess.Board) -> list[chess.Move]:
    return _moves_to(board, chess.Board.is_stalemate)


def repeating_moves(board: chess.Board) -> list[chess.Move]:
    """Moves after which the position has occurred three times; ``board`` needs its stack."""
    return _moves_to(board, lambda after: after.is_repetition(3))


def mating_moves_in_two(board: chess.Board) -> list[chess.Move]:
    """First moves that mate on the second at the latest, whatever the reply."""
    refutations: list[chess.Move] = []

    def mates(after: chess.Board) -> bool:
        replies = list(after.legal_moves)
        # A reply that refuted another first move is likely to refute this one too.
        replies.sort(key=lambda reply: reply not in refutations)
        for reply in replies:
            after.push(reply)
            mated = any(_reaches(after, move, chess.Board.is_checkmate) for move in _moves(after))
            after.pop()
            if not mated:
                refutations.append(reply)
                return False
        return bool(replies) or after.is_check()

    return _moves_to(board, mates)


def can_stay_ahead(board: chess.Board, pawns: int, without: list[chess.Move]) -> bool:
    """Whether a move not in ``without`` leaves its mover so many pawns ahead after any reply."""
    others = [move for move in _moves(board) if move not in without]
    return any(_least_material_after(board, move) >= pawns for move in others)


def _moves(board: chess.Board) -> list[chess.Move]:
    return list(board.legal_moves)


def _moves_to(board: chess.Board, holds: Callable[[chess.Board], bool]) -> list[chess.Move]:
    return [move for move in _moves(board) if _reaches(board, move, holds)]


def _reaches(board: chess.Board, move: chess.Move, holds: Callable[[chess.Board], bool]) -> bool:
    board.push(move)
    found = holds(board)
    board.pop()
    return found


def _least_material_after(board: chess.Board, move: chess.Move) -> int:
    board.push(move)
    worst = -material(board)
    for reply in _moves(board):
        board.push(reply)
        worst = min(worst, material(board))
        board.pop()
    board.pop()
    return worst
