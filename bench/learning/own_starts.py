"""Start positions for own games: positions of recorded games, endings, and the initial position.

    python bench/learning/own_starts.py runs/own runs/own-endings --endings data/endings.epd

Of each run up to 9,000 positions are drawn that have a choice of moves, seven men or more and a low
halfmove clock, none twice; 14,000 of them in all, the endings, and the initial position so often
that 20,000 lines result, in a random order.
"""

import argparse
import sys
from pathlib import Path

import chess
import numpy as np

from vecchess.chess.fen import to_board
from vecchess.store.replay_positions import replay_moves
from vecchess.store.sources import read_games

OF_EACH, FROM_GAMES, LINES = 9000, 14_000, 20_000
LEAST_MEN, MOST_CLOCK = 7, 20


def is_of_use(board: chess.Board) -> bool:
    """Whether a game may begin there."""
    has_choice = board.legal_moves.count() > 1 and not board.is_game_over()
    return has_choice and len(board.piece_map()) >= LEAST_MEN and board.halfmove_clock <= MOST_CLOCK


def main() -> None:
    """Print them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--endings", type=Path, required=True, help="of endgames.py")
    options = parser.parse_args()
    rng, found = np.random.default_rng(5), dict[str, None]()
    for run in options.runs:
        positions = replay_moves(read_games([run])).positions
        for ply in rng.permutation(len(positions))[:OF_EACH]:
            board = to_board(positions[ply], chess960=False)
            if is_of_use(board):
                found[board.epd()] = None
    lines = rng.permutation(list(found))[:FROM_GAMES].tolist()
    lines += options.endings.read_text().splitlines()
    lines += [chess.Board().epd()] * (LINES - len(lines))
    sys.stdout.writelines(f"{line}\n" for line in rng.permutation(lines))


if __name__ == "__main__":
    main()
