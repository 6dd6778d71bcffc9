"""Lines of the commands that take long, besides ``go``: count leaves, evaluate a position, bench.

Decision 65.
"""

from collections.abc import Iterator
from threading import Event
from time import perf_counter

import chess
import numpy as np

from vecchess.chess.fen import from_board
from vecchess.chess.perft import perft
from vecchess.config import UciConfig
from vecchess.search.principal_variations import root_estimate
from vecchess.search.tree.edge_word import word_actions, word_priors
from vecchess.uci.engine_state import EngineState
from vecchess.uci.parse_command import Position
from vecchess.uci.search_snapshot import points, wdl
from vecchess.uci.uci_board import UciGame, set_up, uci_line

BENCH_SIMS = 1000
BENCH_LANES = 8
SHOWN_MOVES = 8
UNSTOPPABLE_DEPTH = 4
"""Leaves this far down are counted without checking for ``stop``."""
MOST_DEPTH = 100
BENCH_FENS = (
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
    "r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3",
    "rnb1kbr1/p1pp1ppp/1q2pn2/1p6/3PP3/2N2N2/PPP2PPP/R1BQKB1R w KQq - 0 6",
    "1r2k1r1/pppppppp/8/8/8/8/PPPPPPPP/1R2K1R1 w GBgb - 0 1",
    "8/8/4k3/8/2p5/8/B2P4/4K3 w - - 0 1",
    "8/5k2/8/8/2R5/8/4K3/8 w - - 90 80",
    "4k3/8/4K3/4P3/8/8/8/8 b - - 4 60",
)
"""The positions of ``bench``, whose node count is a signature of the search: the start, five from
chessprogramming.org's *Perft Results*, Chess960 castling, and endings."""


def perft_lines(
    game: UciGame, depth: int, chess960: bool, _: EngineState, stopped: Event
) -> Iterator[str]:
    """``go perft``: leaves below each move, as Stockfish prints them; after ``stop`` the sum is
    that of the moves counted so far. depth: 1 or more."""
    board, total = game.board.copy(stack=False), 0
    for move in list(board.legal_moves):
        if stopped.is_set():
            break
        name = board.uci(move, chess960=chess960 or game.writes_chess960)
        board.push(move)
        leaves = _leaves(board, depth - 1, stopped)
        board.pop()
        total += leaves
        yield f"{name}: {leaves}"
    yield from ("", f"Nodes searched: {total}", "")


def _leaves(board: chess.Board, depth: int, stopped: Event) -> int:
    if depth <= UNSTOPPABLE_DEPTH:
        return perft(from_board(board), depth)
    total = 0
    for move in list(board.legal_moves):
        if stopped.is_set():
            break
        board.push(move)
        total += _leaves(board, depth - 1, stopped)
        board.pop()
    return total


def bench_lines(config: UciConfig, sims: int, engine: EngineState, stopped: Event) -> Iterator[str]:
    """``bench``: the fixed positions, ``sims`` simulations each, with an empty tree and cache. Its
    nodes are a signature of the search.

    Nodes are moves made on the board, as alpha-beta programs count them: the lengths of all paths
    down the tree. So they change with every choice of the search, unlike the simulations.
    """
    session, nodes, seconds = engine.session(engine.load(config)), 0, 0.0
    for number, fen in enumerate(BENCH_FENS, 1):
        if stopped.is_set():
            break
        yield f"\nPosition: {number}/{len(BENCH_FENS)} ({fen})"
        engine.clear()
        engine.set_up(set_up(Position(fen)))
        start, before = perf_counter(), int(session.forest.header["depth"])
        session.begin(sims, BENCH_LANES)
        while not session.is_over:
            session.advance(session.compute())
            if stopped.is_set():
                session.end()
        seconds += perf_counter() - start
        made = int(session.forest.header["depth"]) - before
        nodes += made
        yield f"info nodes {made} string moves made by {session.visits} simulations"
    engine.clear()
    yield "\n==========================="
    yield f"Total time (ms) : {round(1000 * seconds)}"
    yield f"Nodes searched  : {nodes}"
    yield f"Nodes/second    : {round(nodes / max(seconds, 1e-6))}"


def eval_lines(game: UciGame, config: UciConfig, engine: EngineState, _: Event) -> Iterator[str]:
    """``eval``: the network's evaluation of the position, without a search; the tree is dropped."""
    if not any(game.board.legal_moves):
        yield "\nFinal evaluation: none (game over)\n"
        return
    config = engine.load(config)
    engine.session(config)
    session = engine.set_up(game)
    session.evaluate_root()
    estimate = root_estimate(session.forest, 0)
    centipawns = points(estimate, "centipawn")
    steps = int(session.forest.trees["num_steps"][0])
    yield f"\nNetwork {config.net}, {steps} time step{'s' if steps != 1 else ''}"
    yield f"Side to move: {wdl(estimate)}, cp {centipawns}"
    words = np.sort(session.root_edges["word"])[::-1][:SHOWN_MOVES]
    actions, priors = word_actions(words), word_priors(words)
    for action, prior in zip(actions.tolist(), priors.tolist(), strict=True):
        name = uci_line(game, (action,), config.chess960)[0]
        yield f"Policy {name:5} {100 * prior:5.1f} %"
    side = 1 if game.board.turn == chess.WHITE else -1
    yield f"\nFinal evaluation {side * centipawns / 100:+.2f} (white side)\n"
    session.forget()
