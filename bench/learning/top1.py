"""Share of recorded moves that deployed networks rank first.

    python bench/learning/top1.py NET [NET ...] --games FOLDER

After their last time step, on every position of ``--games`` that was evaluated or searched. Prints
one JSON object: the share of each network, and for all but the first its ratio to the first with a
95 % interval from a bootstrap over games.
"""

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.inference.backend_registry import open_backend
from vecchess.inference.engine import SlotEngine
from vecchess.inference.tune.step_traces import leave_at
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.integer.net_file import load_net
from vecchess.store.replay_positions import ReplayedPositions, replay_positions
from vecchess.store.sources import read_games

SLOTS = 1024
RESAMPLES = 2000


def main() -> None:
    """Read the games, evaluate their positions, print the shares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("nets", type=Path, nargs="+")
    parser.add_argument("--games", type=Path, nargs="+", required=True)
    options = parser.parse_args()
    records = read_games(options.games)
    positions = replay_positions(
        records, np.flatnonzero((records.visits > 0) | (records.steps > 0))
    )
    hits = [predicted(load_net(net), positions) for net in options.nets]
    print(json.dumps({"positions": len(positions.ply)} | shares(options.nets, hits, positions)))


def predicted(net: IntegerNet, positions: ReplayedPositions) -> NDArray[np.bool_]:
    """bool[B]: the network ranks the move played first."""
    requests, most = positions.requests, net.config.time_steps
    engine = SlotEngine(open_backend("cpu", net, SLOTS, leave_at(most), "cpu", 1), requests)
    engine.submit(np.arange(requests.num_rows, dtype=np.int32))
    while not engine.is_idle:
        engine.step()
    is_move = np.arange(requests.policy.shape[1]) < requests.num_legal[:, None]
    first = np.where(is_move, requests.policy, np.iinfo(np.int32).min).argmax(1)
    hits: NDArray[np.bool_] = first == positions.played
    return hits


def shares(
    nets: list[Path], hits: list[NDArray[np.bool_]], positions: ReplayedPositions
) -> dict[str, Any]:
    """The printed facts; ``hits``: bool[B] of each network."""
    game = np.unique(positions.game, return_inverse=True)[1]
    by_game = np.stack([np.bincount(game, weights=hit) for hit in hits])
    drawn = np.random.default_rng(0).integers(by_game.shape[1], size=(RESAMPLES, by_game.shape[1]))
    sums = by_game[:, drawn].sum(-1)
    networks = []
    for index, (net, hit) in enumerate(zip(nets, hits, strict=True)):
        facts: dict[str, Any] = {"net": net.name, "top1": round(float(hit.mean()), 4)}
        if index:
            ratio = partial(np.quantile, sums[index] / sums[0])
            facts["ratio"] = round(float(hit.mean() / hits[0].mean()), 4)
            facts["ratio_interval"] = [round(float(ratio(q)), 4) for q in (0.025, 0.975)]
        networks.append(facts)
    return {"games": by_game.shape[1], "nets": networks}


if __name__ == "__main__":
    main()
