"""Make the book of openings that matches begin with: ``src/vecchess/arena/openings.epd``.

    python bench/make_openings.py > src/vecchess/arena/openings.epd        minutes on one core

Stockfish plays short games against itself. The first moves take turns among all that it thinks
within a margin of the best; each further move is drawn among its best few within that margin. Ends
are kept that a longer look finds even, each once, with its verdict as EPD's ``ce``: centipawns for
who moves.

The same program, version and numbers make the same book: moves are drawn by a counter of seed, game
and ply, and every position is judged alone, by one thread with an empty hash and so many nodes.
"""

import argparse
import sys
from collections.abc import Iterator

import chess
import chess.engine

from vecchess.rng import random_word

MATE_CP = 100_000


class Judge:
    """An engine that is asked about one position at a time, as if it had never seen another."""

    def __init__(self, command: str) -> None:
        self._engine = chess.engine.SimpleEngine.popen_uci(command)
        self._engine.configure({"Threads": 1, "Hash": 16})
        self.name = self._engine.id.get("name", command)

    def close(self) -> None:
        """End the process."""
        self._engine.quit()

    def verdict(self, board: chess.Board, nodes: int) -> int:
        """Centipawns for who moves."""
        return self._lines(board, nodes, 1)[0][0]

    def good_moves(
        self, board: chess.Board, nodes: int, lines: int, margin: int
    ) -> list[chess.Move]:
        """The best moves, up to ``lines``, none worse than the best by more than ``margin``."""
        found = self._lines(board, nodes, lines)
        best = max(score for score, _ in found)
        return [move for score, move in found if score >= best - margin]

    def _lines(self, board: chess.Board, nodes: int, lines: int) -> list[tuple[int, chess.Move]]:
        """Score and move of each line; a game of its own empties the engine's hash."""
        limit = chess.engine.Limit(nodes=nodes)
        told = self._engine.analyse(board, limit, multipv=lines, game=object())
        return [(one["score"].relative.score(mate_score=MATE_CP), one["pv"][0]) for one in told]


def play(
    number: int, judge: Judge, firsts: list[chess.Move], options: argparse.Namespace
) -> chess.Board:
    """The position in which game ``number`` ends."""
    board = chess.Board()
    board.push(firsts[number % len(firsts)])
    while board.ply() < options.plies and any(board.legal_moves):
        good = judge.good_moves(board, options.nodes, options.lines, options.margin)
        word = random_word(options.seed, number, board.ply())
        board.push(good[word * len(good) >> 64])
    return board


def even_ends(judge: Judge, options: argparse.Namespace) -> Iterator[tuple[str, int]]:
    """EPD and verdict of one end after the other, each a new position."""
    start = chess.Board()
    firsts = judge.good_moves(start, options.end_nodes, start.legal_moves.count(), options.margin)
    seen: set[str] = set()
    number = 0
    while True:
        board = play(number, judge, firsts, options)
        number += 1
        epd = board.epd(en_passant="legal")
        if epd in seen or board.is_game_over():
            continue
        seen.add(epd)
        verdict = judge.verdict(board, options.end_nodes)
        if abs(verdict) <= options.even:
            yield epd, verdict


def main() -> int:
    """Print a book; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--engine", default="stockfish", help="command of a UCI engine")
    parser.add_argument("--positions", type=int, default=500)
    parser.add_argument("--plies", type=int, default=8, help="of each game, an even number")
    parser.add_argument("--nodes", type=int, default=4000, help="for a move")
    parser.add_argument("--end-nodes", type=int, default=40000, help="for the end of a game")
    parser.add_argument("--lines", type=int, default=6, help="among which a move is drawn")
    parser.add_argument("--margin", type=int, default=60, help="below the best, centipawns")
    parser.add_argument("--even", type=int, default=30, help="most at the end, centipawns")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if min(options.positions, options.plies, options.nodes, options.lines) < 1:
        parser.error("--positions, --plies, --nodes and --lines: give 1 or more")
    try:
        judge = Judge(options.engine)
    except (OSError, chess.engine.EngineError) as error:
        parser.error(f"--engine {options.engine}: {error}")
    print(f"{judge.name}: {options.positions} positions", file=sys.stderr)
    ends = even_ends(judge, options)
    for _ in range(options.positions):
        epd, verdict = next(ends)
        print(f"{epd} ce {verdict};", flush=True)
    judge.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
