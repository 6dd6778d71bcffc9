"""Value targets of recorded games against a truth: which mixture errs least.

    python bench/learning/value_targets.py RUN --truth stockfish --nodes 20000
    python bench/learning/value_targets.py RUN --truth NET --sims 1600

RUN: a run's folder, a folder of engine games, or shards. The truth of a position is an engine's
win/draw/loss, or the root value of a PUCT search with a network. Prints one JSON object for each
target, of values win - loss: the share of the position's own recorded value, and the lambda of the
later ones in the rest (1: the game's result). ``bias`` is the mean error for the mover, ``rms`` the
whole error, ``slope`` that of the target over the truth (1: on average the truth, whatever it is),
``scatter`` the standard deviation around that line: what averages out over samples.
"""

import argparse
import json
from pathlib import Path

import chess.engine
import numpy as np
from numpy.typing import NDArray

from vecchess.bench.search import open_evaluator
from vecchess.chess.fen import to_board
from vecchess.chess.position import Positions
from vecchess.config import TreeConfig
from vecchess.importers.engine_label import open_engine
from vecchess.runtime.engines.uci_client import find_engine
from vecchess.search.batch_search import BatchSearch
from vecchess.search.tree.layout import UNIT
from vecchess.store.records import VALUE_UNIT, GameRecords
from vecchess.store.replay_positions import replay_moves
from vecchess.store.sources import read_games
from vecchess.train.data.value_targets import lambda_returns, outcomes

Values = NDArray[np.float64]
TARGETS = [
    *[(share, 1.0) for share in (0.0, 0.25, 0.5, 0.75, 1.0)],
    *[(0.25, trace) for trace in (0.99, 0.98, 0.95, 0.9, 0.8, 0.5)],
]
"""(share of the own value, lambda of the rest)."""


def main() -> None:
    """Draw positions, find their truth, compare."""
    options = _options()
    records = read_games(options.games).by_number()
    records = records.take(np.arange(records.num_games)[-options.last :])
    plies = np.flatnonzero(records.evaluated())
    rng = np.random.default_rng(options.seed)
    plies = np.sort(rng.choice(plies, min(options.positions, len(plies)), replace=False))
    positions = replay_moves(records).positions[plies]
    truth = (_by_engine if options.nodes else _by_net)(positions, options)
    own = (2.0 * records.win[plies] + records.draw[plies]) / VALUE_UNIT - 1
    print(json.dumps({"positions": len(plies), "games": records.num_games} | _results(records)))
    results = outcomes(records)[plies].astype(np.float64)
    for share in (0.0, 0.25):  # with random moves between them
        target = share * own + (1 - share) * results
        print(json.dumps({"share": share, "result": "of the game"} | _compare(target, truth)))
    for share, trace in TARGETS:
        returned = lambda_returns(records, trace)[plies].astype(np.float64)
        target = share * own + (1 - share) * (returned[:, 0] - returned[:, 2])
        name = {"share": round(share, 2), "lambda": trace}
        print(json.dumps(name | _compare(target, truth)), flush=True)


def _compare(target: Values, truth: Values) -> dict[str, float]:
    error = target - truth
    slope = float(np.cov(target, truth)[0, 1] / truth.var(ddof=1))
    line = slope * (truth - truth.mean()) + target.mean()
    facts = {
        "bias": error.mean(), "rms": np.sqrt((error**2).mean()), "slope": slope,
        "scatter": np.sqrt(((target - line) ** 2).mean()),
    }  # fmt: skip
    return {key: round(float(value), 4) for key, value in facts.items()}


def _results(records: GameRecords) -> dict[str, float]:
    return {
        "drawn": round(float((records.result == 0).mean()), 4),
        "mean_length": round(float(records.lengths.mean()), 1),
    }


def _by_engine(positions: Positions, options: argparse.Namespace) -> Values:
    """float64[B]: an engine's win - loss."""
    truth = []
    limit = chess.engine.Limit(nodes=options.nodes)
    with open_engine(find_engine(options.truth), options.nodes, 1) as engine:
        for number, position in enumerate(positions):
            _, found = engine.play(to_board(position), limit, number)
            assert found is not None, "the engine gives no evaluation"
            truth.append(2 * found.win + found.draw - 1)
    return np.array(truth)


def _by_net(positions: Positions, options: argparse.Namespace) -> Values:
    """float64[B]: win - loss of a PUCT search; repetitions and earlier positions are not known."""
    evaluator = open_evaluator(options.truth, len(positions), options.gpus)
    config = TreeConfig.model_validate({"search": "puct", "sims": options.sims})
    search = BatchSearch(config, evaluator.backend, len(positions), num_planes=evaluator.num_planes)
    found = search.run(positions)
    return np.asarray((2 * found.win + found.draw) / UNIT - 1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("games", type=Path, nargs="+")
    parser.add_argument("--truth", required=True, help="an engine (with --nodes) or a network")
    parser.add_argument("--nodes", type=int, default=0)
    parser.add_argument("--sims", type=int, default=1600)
    parser.add_argument("--last", type=int, default=0, help="newest games alone")
    parser.add_argument("--positions", type=int, default=1000)
    parser.add_argument("--gpus", default="cpu")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
