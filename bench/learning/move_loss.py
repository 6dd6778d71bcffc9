"""What moves of players lose, as Stockfish judges: the mean, and the share of blunders, as JSON.

    python bench/learning/move_loss.py net: lc0:maia-1100.pb.gz --positions 1000 --nodes 10000

Positions are the first of ``vecchess suite moves``. A move's worth is the expected score (win +
draw / 2, of Stockfish's score) of the position after it; its loss is the worth of the suite's best
move less its own, at least 0. A blunder loses 0.2 or more. Players are spelled as for ``match``.
"""

import argparse
import json

import chess
import chess.engine
import numpy as np
from numpy.typing import NDArray

from vecchess.arena.match_game import MatchGame
from vecchess.chess.fen import to_board
from vecchess.chess.uci_moves import move_to_uci
from vecchess.config import MatchConfig
from vecchess.suites.best_moves import MOVES, BestMoveSuite
from vecchess.suites.run_suite import run_suite
from vecchess.suites.suite_result import Figure

BLUNDER = 0.2
"""Loss of expected score."""


class ChosenMoves(BestMoveSuite):
    """The suite of best moves, which keeps what each player chose, one player after another."""

    def __init__(self, limit: int) -> None:
        """``limit`` positions."""
        super().__init__(MOVES, limit)
        self.chosen: list[list[str]] = []

    def figures(self, games: list[MatchGame]) -> dict[str, Figure]:
        """See ``Suite``."""
        self.chosen.append([move_to_uci(game.start, int(game.moves[0])) for game in games])
        return super().figures(games)

    @property
    def best(self) -> list[str]:
        """The best move of each position, in UCI notation."""
        return [sorted(moves)[0] for moves in self.best_moves.moves]


class Judge:
    """Stockfish's expected score of moves, asked for once each."""

    def __init__(self, engine: chess.engine.SimpleEngine, nodes: int) -> None:
        """``nodes`` for the position after a move."""
        self._engine, self._limit = engine, chess.engine.Limit(nodes=nodes)
        self._known: dict[tuple[str, str], float] = {}

    def worth(self, board: chess.Board, uci: str) -> float:
        """Win + draw / 2 for the side to move, 0 to 1, after the move ``uci``."""
        key = board.fen(), uci
        if key not in self._known:
            after = board.copy(stack=False)
            after.push_uci(uci)
            self._known[key] = self._expect(after, board.turn)
        return self._known[key]

    def _expect(self, board: chess.Board, side: chess.Color) -> float:
        if outcome := board.outcome():
            return 0.5 if outcome.winner is None else float(outcome.winner == side)
        found = self._engine.analyse(board, self._limit, game=object())
        return found["score"].pov(side).wdl(model="sf15.1", ply=board.ply()).expectation()


def main() -> None:
    """Ask all players, then the judge, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("players", nargs="+")
    parser.add_argument("--positions", type=int, default=1000)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--stockfish", default="/usr/games/stockfish")
    options = parser.parse_args()
    suite = ChosenMoves(options.positions)
    results = list(run_suite(options.players, suite, MatchConfig()))
    boards = [to_board(position, chess960=False) for position in suite.best_moves.positions]
    with chess.engine.SimpleEngine.popen_uci(options.stockfish) as engine:
        judge = Judge(engine, options.nodes)
        best = worths(judge, boards, suite.best)
        for result, chosen in zip(results, suite.chosen, strict=True):
            losses = np.maximum(best - worths(judge, boards, chosen), 0.0)
            print(json.dumps({
                "player": result.player,
                "positions": len(losses),
                "best_moves": round(float(result.hits.mean()), 4),
                "mean_loss": round(float(losses.mean()), 4),
                "blunders": round(float((losses >= BLUNDER).mean()), 4),
            }))  # fmt: skip


def worths(judge: Judge, boards: list[chess.Board], moves: list[str]) -> NDArray[np.float64]:
    """float64[K]: the worth of a move in each position."""
    return np.array([judge.worth(*each) for each in zip(boards, moves, strict=True)])


if __name__ == "__main__":
    main()
