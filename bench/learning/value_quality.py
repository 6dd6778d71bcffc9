"""How well networks judge positions, against Stockfish's expected score.

    python bench/learning/value_quality.py default my.safetensors --positions 500 --nodes 20000

Positions are those of the suite ``moves``, and the same after one and two random moves, as leaves
of a search are. One JSON object a network and set: the correlation of win - loss with Stockfish's,
the RMS error, and the slope s that brings tanh(s artanh(value)) nearest: above 1, values are too
small. ``--mend FILE`` writes the last network again, its values scaled by the mean slope.
"""

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import chess
import chess.engine
import numpy as np
from numpy.typing import NDArray

import vecchess
from vecchess import suites
from vecchess.snn.integer.net_file import load_net, save_net
from vecchess.suites.best_moves import MOVES

STOCKFISH = "/usr/games/stockfish"
SLOPES = np.arange(0.3, 4.0, 0.1)
MOST = 0.999


def positions(count: int, seed: int) -> dict[str, list[str]]:
    """FENs of positions, without and with random moves after them."""
    draw = random.Random(seed)
    suite = Path(suites.__file__).parent / MOVES
    lines = [line for line in suite.read_text().splitlines() if line.strip()]
    found: dict[str, list[str]] = {name: [] for name in ("suite", "one move on", "two moves on")}
    for line in draw.sample(lines, count):
        board = chess.Board(" ".join(line.split()[:4]) + " 0 1")
        for fens in found.values():
            if board.is_game_over():
                break
            fens.append(board.fen())
            board.push(draw.choice(list(board.legal_moves)))
    return found


def judged(fens: Sequence[str], nodes: int, program: str) -> NDArray[np.float64]:
    """Win - loss of positions by Stockfish, float64[N], for the side to move."""
    scores = []
    with chess.engine.SimpleEngine.popen_uci(program) as engine:
        for fen in fens:
            info = engine.analyse(chess.Board(fen), chess.engine.Limit(nodes=nodes))
            wdl = info["score"].relative.wdl(model="sf15.1", ply=40)
            scores.append((wdl.wins - wdl.losses) / 1000)
    return np.array(scores)


def quality(values: NDArray[np.float64], truth: NDArray[np.float64]) -> dict[str, float]:
    """Correlation, RMS error and best slope of values against the truth."""
    wide = np.arctanh(np.clip(values, -MOST, MOST))
    errors = [np.mean(np.square(np.tanh(slope * wide) - truth)) for slope in SLOPES]
    return {
        "correlation": round(float(np.corrcoef(values, truth)[0, 1]), 3),
        "rms_error": round(float(np.sqrt(np.mean(np.square(values - truth)))), 3),
        "slope": round(float(SLOPES[np.argmin(errors)]), 1),
    }


def main() -> None:
    """Judge, compare, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("nets", nargs="+")
    parser.add_argument("--positions", type=int, default=500)
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--stockfish", default=STOCKFISH)
    parser.add_argument("--mend", type=Path, metavar="FILE")
    options = parser.parse_args()
    sets = positions(options.positions, options.seed)
    truth = {name: judged(fens, options.nodes, options.stockfish) for name, fens in sets.items()}
    for net in options.nets:
        network, slopes = vecchess.load_network(net), []
        for name, fens in sets.items():
            values = [answer.wdl[0] - answer.wdl[2] for answer in network.evaluate(fens)]
            found = quality(np.array(values), truth[name])
            slopes.append(found["slope"])
            print(json.dumps({"net": net, "positions": f"{len(fens)}, {name}"} | found), flush=True)
    if options.mend:
        small = load_net(options.nets[-1])
        scale = small.value_scale * round(float(np.mean(slopes)), 1)
        save_net(replace(small, value_scale=scale), options.mend)


if __name__ == "__main__":
    main()
