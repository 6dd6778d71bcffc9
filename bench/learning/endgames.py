"""Endgame positions to start games from, as EPD on stdout.

    python bench/learning/endgames.py --positions 16000 --seed 0 > endgames.epd

A third are the endings that a program must win by itself (king and queen, rook, two bishops,
bishop and knight, or pawn against king), for either side. In the others each side has its king and
up to five men, drawn evenly, four in ten of them pawns. Men stand anywhere that the rules allow.
The same numbers make the same file.
"""

import argparse

import chess
import numpy as np

from vecchess.chess.fen import from_board
from vecchess.chess.rules import Termination, terminations

BASIC = ("Q", "R", "BB", "BN", "P", "QR", "RR")
MEN, WEIGHTS = "PNBRQ", (0.4, 0.15, 0.15, 0.2, 0.1)
MOST_MEN = 5
BASIC_SHARE = 1 / 3


def place_men(rng: np.random.Generator) -> chess.Board:
    """A board with the kings and the drawn men, not necessarily legal."""
    if rng.random() < BASIC_SHARE:
        sides = [str(rng.choice(BASIC)), ""]
    else:
        sides = ["".join(rng.choice([*MEN], rng.integers(MOST_MEN + 1), p=WEIGHTS)) for _ in "wb"]
    if rng.random() < 0.5:
        sides.reverse()
    men = [(symbol, color) for color in (0, 1) for symbol in "K" + sides[color]]
    board = chess.Board(None)
    board.turn = bool(rng.integers(2))
    for square, (symbol, color) in zip(rng.permutation(64).tolist(), men, strict=False):
        kind = chess.PIECE_SYMBOLS.index(symbol.lower())
        board.set_piece_at(square, chess.Piece(kind, bool(color)))
    return board


def main() -> None:
    """Print as many positions as are asked for, each once."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--positions", type=int, default=16_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, seen = np.random.default_rng(options.seed), set[str]()
    while len(seen) < options.positions:
        board = place_men(rng)
        epd = board.epd()
        if not board.is_valid() or epd in seen:
            continue
        if terminations(from_board(board)[None])[0] == Termination.ONGOING:
            seen.add(epd)
            print(epd)


if __name__ == "__main__":
    main()
