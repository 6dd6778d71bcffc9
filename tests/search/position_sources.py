"""Games for ``make_positions.py`` to search: erratic play, and walks back to where one was."""

import random

import chess
import chess.engine

MOST_PLIES = 200
SHARES_OF_RANDOM_MOVES = (0.05, 0.2, 0.4, 0.7, 1.0)
NODES = (10, 50, 250, 1000)
SHARE_OF_ENDINGS = 0.35


def play(engine: chess.engine.SimpleEngine, rng: random.Random) -> list[chess.Board]:
    """The positions of a game, with their move stacks, from the start or from a random ending.

    Each side plays some of its moves at random and leaves the others to ``engine`` with few nodes.
    """
    board = _ending(rng) if rng.random() < SHARE_OF_ENDINGS else chess.Board()
    erratic = {color: rng.choice(SHARES_OF_RANDOM_MOVES) for color in chess.COLORS}
    limit = {color: chess.engine.Limit(nodes=rng.choice(NODES)) for color in chess.COLORS}
    boards: list[chess.Board] = []
    game = object()
    while len(boards) < MOST_PLIES and not board.is_game_over() and not board.is_repetition(3):
        boards.append(board.copy())
        if rng.random() < erratic[board.turn]:
            board.push(rng.choice(list(board.legal_moves)))
        else:
            move = engine.play(board, limit[board.turn], game=game).move
            assert move is not None
            board.push(move)
    return boards


def _ending(rng: random.Random) -> chess.Board:
    """Kings, up to four pieces and up to eight pawns, anywhere."""
    while True:
        board = chess.Board(None)
        board.turn = rng.choice(chess.COLORS)
        squares = rng.sample(range(64), 14)
        for color in chess.COLORS:
            board.set_piece_at(squares.pop(), chess.Piece(chess.KING, color))
        for _ in range(rng.randint(1, 4)):
            kind = rng.choice((chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN))
            board.set_piece_at(squares.pop(), chess.Piece(kind, rng.choice(chess.COLORS)))
        for _ in range(rng.randint(0, 8)):
            board.set_piece_at(squares.pop(), chess.Piece(chess.PAWN, rng.choice(chess.COLORS)))
        if board.is_valid() and not board.is_game_over():
            return board


def about_to_repeat(board: chess.Board, rng: random.Random) -> chess.Board | None:
    """The game goes on with two walks out and back, up to the move that would complete the second.

    That move is of the side that is not to move in ``board``, and makes its position occur the
    third time. The game starts a few plies before ``board``, with clocks at zero. None where a
    walk drawn at random is not legal, or makes another position occur three times.
    """
    recent = board.copy(stack=rng.randrange(9))
    game = chess.Board(recent.root().epd() + " 0 1")
    for move in recent.move_stack:
        game.push(move)
    for depth in rng.choice(((1, 1), (1, 1), (1, 2), (2, 1))):
        if not _walk_out_and_back(game, depth, rng):
            return None
    if not game.is_repetition(3):
        return None
    game.pop()
    return None if _was_over(game) else game


def _walk_out_and_back(game: chess.Board, depth: int, rng: random.Random) -> bool:
    """Play ``depth`` moves of each side at random, and take them back; False where stuck."""
    rounds = []
    for _ in range(depth):
        pair = []
        for _ in chess.COLORS:
            moves = [move for move in game.legal_moves if not game.is_irreversible(move)]
            if not moves:
                return False
            pair.append(rng.choice(moves))
            game.push(pair[-1])
        rounds.append(pair)
    for move in (move for pair in reversed(rounds) for move in pair):
        back = chess.Move(move.to_square, move.from_square)
        if not game.is_legal(back):
            return False
        game.push(back)
    return True


def _was_over(game: chess.Board) -> bool:
    earlier = game.copy()
    while not earlier.is_repetition(3):
        if not earlier.move_stack:
            return False
        earlier.pop()
    return True
