"""Root values of Gumbel searches against a long PUCT search of the same positions.

    python bench/learning/root_value.py                  the material evaluator
    python bench/learning/root_value.py --net FILE --sims 16 64 --deep 3200

Prints one JSON object for each number of simulations, over positions of random games that the long
search does not see won or lost. Values are win - loss: ``mean`` is that of all simulations,
``chosen`` of the move that was chosen, ``recorded`` what the improved policy expects, which is the
root's value since decision 221; with each, the bias and the RMS error to the long search.
"""

import argparse
import json

import numpy as np
from numpy.typing import NDArray

from vecchess.bench.search import open_evaluator
from vecchess.chess.sample import random_games
from vecchess.config import TreeConfig
from vecchess.search.batch_search import BatchSearch
from vecchess.search.tree.layout import UNIT

DECIDED = 0.9
Values = NDArray[np.float64]


def main() -> None:
    """Search, compare, print."""
    options = _options()
    truth = _search(options, "puct", options.deep)["recorded"]
    open_positions = np.abs(truth) < DECIDED
    for sims in options.sims:
        found = _search(options, "gumbel", sims)
        report = {"sims": sims, "positions": int(open_positions.sum())}
        for name, values in found.items():
            error = (values - truth)[open_positions]
            rms = float(np.sqrt((error**2).mean()))
            report |= {f"{name}_bias": round(float(error.mean()), 4), f"{name}_rms": round(rms, 4)}
        print(json.dumps(report), flush=True)


def _search(options: argparse.Namespace, method: str, sims: int) -> dict[str, Values]:
    """float64[G] each: values of G searches, by the names above."""
    config = TreeConfig.model_validate({"search": method, "sims": sims})
    evaluator = open_evaluator(options.net, options.games, options.gpus, seed=options.seed)
    search = BatchSearch(config, evaluator.backend, options.games, num_planes=evaluator.num_planes)
    positions, past = random_games(options.games, options.seed)
    trees = np.arange(options.games)
    search.begin(
        trees, positions, past=past, seed=options.seed, numbers=trees, temperature=1.0,
        explore=method == "gumbel",
    )  # fmt: skip
    while not search.is_idle:
        search.step()
    results = search.results(trees)
    roots = search.forest.nodes[search.forest.trees["root"]]
    chosen = np.repeat(results.action, np.diff(results.edge_offsets)) == results.edge_action
    return {
        "mean": roots["value_sum"] / (roots["visits"].astype(np.int64) * UNIT),
        "chosen": results.edge_q[chosen].astype(np.float64),
        "recorded": (2 * results.win + results.draw) / UNIT - 1,
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--net", default="material")
    parser.add_argument("--sims", type=int, nargs="+", default=[16, 32, 64])
    parser.add_argument("--deep", type=int, default=800)
    parser.add_argument("--games", type=int, default=384)
    parser.add_argument("--gpus", default="cpu")
    parser.add_argument("--seed", type=int, default=5)
    return parser.parse_args()


if __name__ == "__main__":
    main()
