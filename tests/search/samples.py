"""Positions to search, with the games that led to them: full boards, few men, mates at hand,
games that went to and fro, high halfmove clocks. None of them is over."""

import random
from collections.abc import Iterator, Sequence

import chess
import numpy as np
from numpy.typing import NDArray

from vecchess.chess.fen import from_board
from vecchess.chess.history import no_past
from vecchess.chess.position import CLOCK_MASK, PLY_SHIFT, position_keys
from vecchess.chess.rules import KEY_HISTORY
from vecchess.chess.sample import random_positions

MEN = ("Q", "R", "P", "QR", "RR", "QP", "PP", "BB", "BN", "Pp", "Rr", "Qr", "RRp", "QQq", "PPpp")
HEAVY_MEN = ("QR", "RR", "QQ", "QRp")
FULL_BOARDS = (
    chess.STARTING_FEN,
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
)


def samples(num: int, seed: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Positions ``uint64[num, 8]`` and their key histories ``uint64[num, 102]``.

    Of five one is from a random game, without what came before, two are from games shown here,
    one is a move from mate, one can hardly avoid it.
    """
    positions, keys = np.empty((num, 8), np.uint64), np.zeros((num, KEY_HISTORY), np.uint64)
    for index, game in enumerate(_games(num, seed)):
        positions[index] = game[-1]
        for position in game:
            keys[index, int(position[7]) & CLOCK_MASK] = position_keys(position[None])[0]
    return positions, keys


def pasts(num: int, seed: int) -> NDArray[np.uint64]:
    """The positions before those of ``samples``, ``uint64[num, 8, 8]``."""
    past = no_past(num)
    for index, game in enumerate(_games(num, seed)):
        for position in game[-8:-1]:
            past[index, (int(position[7]) >> PLY_SHIFT) % 8] = position
    return past


def _games(num: int, seed: int) -> Iterator[list[NDArray[np.uint64]]]:
    """The games of ``samples`` as positions, the one to be searched the last."""
    rng = random.Random(seed)
    unseen = random_positions(-(-num // 5), seed)
    for index in range(num):
        if index % 5 == 0:
            yield [unseen[index // 5]]
        elif index % 5 < 3:
            yield _play(_few_men(rng) if index % 5 == 1 else _full_board(rng), rng)
        else:
            yield [from_board(_near_mate(rng, index % 5 == 3))]


def cornered(num: int, seed: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """As ``samples``: few men, at most three legal moves, and often a forced mate behind each."""
    rng, found = random.Random(seed), []
    while len(found) < num:
        board = _few_men(rng, HEAVY_MEN)
        if board.legal_moves.count() <= 3:
            found.append(from_board(board))
    positions, keys = np.stack(found), np.zeros((num, KEY_HISTORY), np.uint64)
    clocks = (positions[:, 7] & np.uint64(CLOCK_MASK)).astype(np.int64)
    keys[np.arange(num), clocks] = position_keys(positions)
    return positions, keys


def _play(board: chess.Board, rng: random.Random) -> list[NDArray[np.uint64]]:
    """A game of up to 40 plies that does not end, as positions; often moves are taken back."""
    positions, back = [from_board(board)], rng.choice((0.0, 0.5, 0.9))
    for _ in range(rng.randrange(41)):
        moves = list(board.legal_moves)
        last = board.move_stack[-2] if len(board.move_stack) > 1 else chess.Move.null()
        way_back = chess.Move(last.to_square, last.from_square)
        is_back = way_back in moves and rng.random() < back
        board.push(way_back if is_back else rng.choice(moves))
        if _is_over(board):
            break
        positions.append(from_board(board))
    return positions


def _full_board(rng: random.Random) -> chess.Board:
    return chess.Board(rng.choice(FULL_BOARDS), chess960=True)


def _few_men(rng: random.Random, men_of: Sequence[str] = MEN) -> chess.Board:
    """Kings and a few men; the clock may be high, then without the moves that raised it."""
    while True:
        board = chess.Board(None)
        men = "Kk" + rng.choice(men_of)
        for square, man in zip(rng.sample(range(64), len(men)), men, strict=True):
            board.set_piece_at(square, chess.Piece.from_symbol(man))
        board.turn = rng.random() < 0.5
        board.halfmove_clock = rng.choice((0, 0, rng.randrange(100), rng.randrange(90, 100)))
        board.fullmove_number = 60
        if board.is_valid() and not _is_over(board):
            return board


def _near_mate(rng: random.Random, is_attacker: bool) -> chess.Board:
    """Few men, where the mover can mate, or cannot but let the other side mate."""
    while True:
        board = _few_men(rng, HEAVY_MEN)
        if board.legal_moves.count() > 3 and not is_attacker:
            continue
        if _can_mate(board) if is_attacker else all(map(_can_mate, _after(board))):
            return board


def _can_mate(board: chess.Board) -> bool:
    return any(after.is_checkmate() for after in _after(board))


def _after(board: chess.Board) -> Iterator[chess.Board]:
    for move in board.legal_moves:
        after = board.copy(stack=False)
        after.push(move)
        yield after


def _is_over(board: chess.Board) -> bool:
    over = board.is_insufficient_material() or board.is_fifty_moves() or board.is_repetition(3)
    return over or not any(board.legal_moves)
