"""What the searcher does besides searching: count leaves, judge a position, bench."""

from collections.abc import Iterator
from time import perf_counter

import chess
import numpy as np

from vecchess.chess.fen import from_board
from vecchess.chess.perft import perft
from vecchess.config import UciConfig
from vecchess.search.game_search import GameSearch
from vecchess.search.principal_variations import Line, root_estimate
from vecchess.search.tree.edge_word import word_actions, word_priors
from vecchess.uci.background_task import StoppableTask
from vecchess.uci.engine_state import EngineState, Say
from vecchess.uci.go_command import Load
from vecchess.uci.info import points, wdl
from vecchess.uci.move_words import uci_line
from vecchess.uci.parse_command import Position
from vecchess.uci.positions import BENCH_FENS
from vecchess.uci.uci_board import UciGame, set_up, write_move

BENCH_SIMS = 1000
BENCH_LANES = 8
SHOWN_MOVES = 8
UNSTOPPABLE_DEPTH = 4
"""Leaves so far down are counted without a look at whether to stop."""
MOST_DEPTH = 100


class PerftTask(StoppableTask):
    """``go perft``: leaves below each move, as Stockfish prints them."""

    def __init__(self, game: UciGame, depth: int, chess960: bool, say: Say) -> None:
        """``depth`` >= 1. ``say`` hears the lines."""
        super().__init__()
        self._game, self._depth, self._say = game, depth, say
        self._chess960 = chess960 or game.writes_chess960

    def run(self, engine: EngineState) -> None:
        """Count, move by move; after ``stop`` the sum is of what was counted."""
        board, total = self._game.board.copy(stack=False), 0
        for move in list(board.legal_moves):
            if self._stopped.is_set():
                break
            name = write_move(board, move, self._chess960)
            board.push(move)
            leaves = self._leaves(board, self._depth - 1)
            board.pop()
            total += leaves
            self._say(f"{name}: {leaves}")
        for line in ("", f"Nodes searched: {total}", ""):
            self._say(line)

    def _leaves(self, board: chess.Board, depth: int) -> int:
        if depth <= UNSTOPPABLE_DEPTH:
            return perft(from_board(board), depth)
        total = 0
        for move in list(board.legal_moves):
            if self._stopped.is_set():
                break
            board.push(move)
            total += self._leaves(board, depth - 1)
            board.pop()
        return total


class BenchTask(StoppableTask):
    """``bench``: the fixed positions. Its nodes are a signature of the search.

    They are counted as alpha-beta programs count them, moves made on the board: all of the ways
    down the tree. So they change with every choice, as simulations, which are given, would not.
    """

    def __init__(self, config: UciConfig, load: Load, sims: int, say: Say) -> None:
        """``sims``: simulations of each position. ``say`` hears the lines."""
        super().__init__()
        self._config, self._load, self._sims, self._say = config, load, sims, say

    def run(self, engine: EngineState) -> None:
        """Search one position after the other, each as if it were the first."""
        session, nodes, seconds = engine.session(self._load(engine, self._config)), 0, 0.0
        for number, fen in enumerate(BENCH_FENS, 1):
            if self._stopped.is_set():
                break
            self._say(f"\nPosition: {number}/{len(BENCH_FENS)} ({fen})")
            engine.clear()
            game = set_up(Position(fen))
            engine.set_up(game)
            start, before = perf_counter(), int(session.forest.header["depth"])
            self._search(session)
            seconds += perf_counter() - start
            made = int(session.forest.header["depth"]) - before
            nodes += made
            self._say(f"info nodes {made} string moves made by {session.visits} simulations")
        engine.clear()
        self._say("\n===========================")
        self._say(f"Total time (ms) : {round(1000 * seconds)}")
        self._say(f"Nodes searched  : {nodes}")
        self._say(f"Nodes/second    : {round(nodes / max(seconds, 1e-6))}")

    def _search(self, session: GameSearch) -> None:
        session.begin(self._sims, BENCH_LANES)
        while not session.is_over:
            session.advance(session.compute())
            if self._stopped.is_set():
                session.end()


class EvalTask(StoppableTask):
    """``eval``: what the network says of the position, without a search."""

    def __init__(self, game: UciGame, config: UciConfig, load: Load, say: Say) -> None:
        """``say`` hears the lines."""
        super().__init__()
        self._game, self._config, self._load, self._say = game, config, load, say

    def run(self, engine: EngineState) -> None:
        """Ask the network once; the tree is dropped."""
        if not any(self._game.board.legal_moves):
            self._say("\nFinal evaluation: none (game over)\n")
            return
        engine.session(self._load(engine, self._config))
        session = engine.set_up(self._game)
        session.evaluate_root()
        for line in self._lines(session, str(engine.facts.get("net"))):
            self._say(line)
        session.forget()

    def _lines(self, session: GameSearch, net: str) -> Iterator[str]:
        line = Line((), 0, root_estimate(session.forest, 0), 0.0, 0, None)
        steps = int(session.forest.trees["num_steps"][0])
        yield f"\nNetwork {net}, {steps} time step{'s' if steps != 1 else ''}"
        yield f"Side to move: {wdl(line)}, cp {points(line, 'centipawn')}"
        words = np.sort(session.root_edges["word"])[::-1][:SHOWN_MOVES]
        actions, priors = word_actions(words), word_priors(words)
        for action, prior in zip(actions.tolist(), priors.tolist(), strict=True):
            chess960 = self._config.chess960
            name = uci_line(self._game, session.position, (action,), chess960)[0]
            yield f"Policy {name:5} {100 * prior:5.1f} %"
        side = 1 if self._game.board.turn == chess.WHITE else -1
        yield f"\nFinal evaluation {side * points(line, 'centipawn') / 100:+.2f} (white side)\n"
