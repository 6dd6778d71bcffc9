"""``bench movegen``: plies/s of random games to the end under all rules."""

from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

import chess
import numpy as np
from numpy.typing import NDArray

from vecchess.chess.chess960 import start_positions
from vecchess.chess.rules import Termination
from vecchess.chess.sample import play_random
from vecchess.rng import random_word

SCHEMA = 1
_PYTHON_CHESS_GAMES = 8
_MOST_PART = 5_000
"""Games of a part: a tenth of a second."""
_REPEATS = 3
"""Timings of one and of two threads alternate this often; the fastest of each counts."""

Games = tuple[NDArray[np.uint8], NDArray[np.int64]]


def run(games: int = 20000, threads: int = 1, seed: int = 0) -> dict[str, Any]:
    """Play ``games`` random games with ``threads`` threads, threefold and fifty moves claimed.

    Returns plies/s, how the games ended, python-chess's plies/s on a few of the same games, and
    for several threads the speedup over one in the same run. The outcomes depend on the seed only.
    """
    _play(min(games, threads), threads, seed)  # compile before the clock runs
    slowest, fastest = np.inf, np.inf
    for _ in range(_REPEATS):
        if threads > 1:
            slowest = min(slowest, _timed(games, 1, seed)[1])
        (codes, plies), elapsed = _timed(games, threads, seed)
        fastest = min(fastest, elapsed)
    python_chess = _python_chess_speed(seed)
    speed = float(plies.sum() / fastest)
    result = {
        "schema": SCHEMA,
        "plies_per_s": speed,
        "games": games,
        "plies": int(plies.sum()),
        "threads": threads,
        "seed": seed,
        "outcomes": {
            Termination(code).name: int((codes == code).sum()) for code in np.unique(codes)
        },
        "python_chess_plies_per_s": python_chess,
        "ratio_python_chess": speed / python_chess,
    }
    if threads > 1:
        words = {2: "two"}.get(threads, str(threads))
        result[f"speedup_{words}_threads"] = float(slowest / fastest)
    return result


def _timed(games: int, threads: int, seed: int) -> tuple[Games, float]:
    start = perf_counter()
    played = _play(games, threads, seed)
    return played, perf_counter() - start


def _play(games: int, threads: int, seed: int) -> Games:
    """Ends and lengths of games 0 .. games - 1, divided among threads in parts that a Ctrl-C waits
    for."""
    parts = -(-games // (threads * _MOST_PART))
    shares = np.array_split(np.arange(games, dtype=np.int64), threads * parts)
    starts = start_positions(len(shares[0]))
    pool = ThreadPoolExecutor(threads)
    try:
        done = list(pool.map(lambda share: play_random(starts[: len(share)], share, seed), shares))
    finally:
        pool.shutdown(cancel_futures=True)
    return np.concatenate([codes for _, codes, _ in done]), np.concatenate([n for _, _, n in done])


def _python_chess_speed(seed: int) -> float:
    """Plies/s of python-chess over a few random games of its own, every draw claimed."""
    start, total = perf_counter(), 0
    for number in range(_PYTHON_CHESS_GAMES):
        board = chess.Board()
        while board.outcome(claim_draw=True) is None:
            moves = list(board.legal_moves)
            board.push(moves[random_word(seed, number, board.ply()) % len(moves)])
        total += board.ply()
    return total / (perf_counter() - start)
