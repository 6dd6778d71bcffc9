"""What ``UCI_Elo`` is worth: matches against Stockfish at its lowest, and between our own ratings.

    python bench/uci_strength.py --elo 1500 --games 100
    python bench/uci_strength.py --elo 1100 --against-elo 900 --games 100

Stockfish 15.1's lowest UCI_Elo is 1350; its strength there hardly depends on time. Paired games
from random openings. Prints the score and the difference it means, with its 95 % interval.
"""

import argparse
import json
import sys

import chess
import chess.engine
import numpy as np
from uci_games import opening

from vecchess.arena.ratings.score import Score

OURS = chess.engine.Limit(nodes=1_000_000)
"""More than any rating takes."""
STOCKFISHS = chess.engine.Limit(depth=4)
"""Its lowest rating chooses its move at depth 1."""
TIMEOUT_S = 300.0
MOST_PLIES = 400


def play(number: int, first: chess.engine.SimpleEngine, second: chess.engine.SimpleEngine) -> float:
    """Points of ``first`` in one game; it has White in even ones."""
    board = opening(number)
    white = number % 2 == 0
    while board.outcome(claim_draw=True) is None and board.ply() < MOST_PLIES:
        engine = first if (board.turn == chess.WHITE) == white else second
        limit = OURS if engine.id["name"].startswith("vecchess") else STOCKFISHS
        found = engine.play(board, limit, game=number)
        assert found.move is not None
        board.push(found.move)
    outcome = board.outcome(claim_draw=True)
    if outcome is None or outcome.winner is None:
        return 0.5
    return 1.0 if outcome.winner == white else 0.0


def ours(elo: int, seed: int, net: str) -> chess.engine.SimpleEngine:
    """The engine at a rating."""
    command = [sys.executable, "-m", "vecchess_cli.main", "uci", "--net", net, "--seed", str(seed)]
    engine = chess.engine.SimpleEngine.popen_uci(command, timeout=TIMEOUT_S)
    engine.configure({"UCI_LimitStrength": True, "UCI_Elo": elo, "Hash": 64})
    engine.ping()
    return engine


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--elo", type=int, required=True)
    parser.add_argument("--against-elo", type=int, default=0, help="ours; 0: Stockfish at 1350")
    parser.add_argument("--stockfish", default="/usr/games/stockfish")
    parser.add_argument("--net", default="material")
    parser.add_argument("--games", type=int, default=100, help="an even number")
    options = parser.parse_args()
    first = ours(options.elo, 1, options.net)
    if options.against_elo:
        second = ours(options.against_elo, 2, options.net)
    else:
        second = chess.engine.SimpleEngine.popen_uci(options.stockfish)
        second.configure({"UCI_LimitStrength": True, "UCI_Elo": 1350})
    points = [play(number, first, second) for number in range(options.games)]
    first.quit()
    second.quit()
    facts = {"elo": options.elo, "against": options.against_elo or "stockfish 1350"}
    print(json.dumps({"schema": 1} | facts | Score.of(np.array(points)).to_dict()))


if __name__ == "__main__":
    main()
