"""Random positions with their python-chess boards, the oracle of the tests beside this file."""

import random
from collections.abc import Iterator

import chess

from vecchess.chess.rules import Termination

# Starts whose neighbourhood is rich in what plain random games seldom reach.
STARTS = (
    chess.STARTING_FEN,
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
    "4k3/pppppppp/8/8/8/8/PPPPPPPP/4K3 w - - 0 1",
    "8/P1P2k2/8/8/8/8/p1p2K2/8 w - - 0 1",
    "4k3/8/8/3B4/3b4/8/8/4K3 w - - 0 1",
    "8/8/4k3/8/8/2NK4/8/8 w - - 90 80",
)


def boards(num: int, seed: int) -> Iterator[chess.Board]:
    """``num`` boards along random games, with move stacks; half of the games are Chess960.

    A game goes on until it is over by the rules of ``rules.py``; that last board comes too.
    """
    rng = random.Random(seed)
    while num > 0:
        board = _start(rng)
        while num > 0:
            yield board
            num -= 1
            moves = list(board.legal_moves)
            if not moves or board.is_fifty_moves() or board.is_repetition(3):
                break
            board.push(choose_move(board, moves, rng))


def _start(rng: random.Random) -> chess.Board:
    if rng.random() < 0.5:
        return chess.Board.from_chess960_pos(rng.randrange(960))
    return chess.Board(rng.choice(STARTS), chess960=True)


def choose_move(board: chess.Board, moves: list[chess.Move], rng: random.Random) -> chess.Move:
    """Any move, but castling and en passant more often, and now and then the way back."""
    rare = [move for move in moves if board.is_castling(move) or board.is_en_passant(move)]
    if rare and rng.random() < 0.3:
        return rng.choice(rare)
    if len(board.move_stack) > 1 and rng.random() < 0.2:
        last = board.move_stack[-2]
        back = [
            move
            for move in moves
            if (move.from_square, move.to_square) == (last.to_square, last.from_square)
        ]
        if back:
            return back[0]
    return rng.choice(moves)


def why_over(board: chess.Board) -> Termination:
    """python-chess's reason, draws claimed as soon as the board allows it."""
    if board.is_checkmate():
        return Termination.CHECKMATE
    if board.is_insufficient_material():
        return Termination.INSUFFICIENT_MATERIAL
    if board.is_stalemate():
        return Termination.STALEMATE
    if board.is_fifty_moves():
        return Termination.FIFTY_MOVES
    if board.is_repetition(3):
        return Termination.THREEFOLD
    return Termination.ONGOING


def to_code(board: chess.Board, move: chess.Move) -> int:
    """A move of a Chess960-aware board in the mover's view, as the package writes it."""
    turned = 0 if board.turn else 56
    promotion = {None: 0, chess.KNIGHT: 1, chess.BISHOP: 2, chess.ROOK: 3, chess.QUEEN: 4}
    return (
        (move.from_square ^ turned)
        | (move.to_square ^ turned) << 6
        | promotion[move.promotion] << 12
    )


def men_before(board: chess.Board, history: int) -> list[int]:
    """The planes of the men of the ``history`` - 1 positions before, as the side to move sees."""
    us, planes, earlier = board.turn, [], board.copy()
    for _ in range(history - 1):
        if not earlier.move_stack:
            planes += [0] * 12
            continue
        earlier.pop()
        for side in (us, not us):
            for kind in chess.PIECE_TYPES:
                men = earlier.pieces_mask(kind, side)
                planes.append(chess.flip_vertical(men) if us == chess.BLACK else men)
    return planes
