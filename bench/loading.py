"""Batches for training, from recorded games: positions/s, when they are asked for and ahead.

    python -m bench.loading [--games 1024] [--batch-size 256] [--seconds 10]

Prints one JSON object.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from vecchess.bench.throughput import keep_to_cores
from vecchess.bench.training_speed import as_shards, made_up_searches, play_games
from vecchess.train.data.batch_loader import BatchLoader
from vecchess.train.data.batch_spec import BatchSpec

SCHEMA = 1
ROUNDS = 5
SETTLE_BATCHES = 20


def run(games: int, batch_size: int, seconds: float, cores: int, seed: int) -> dict[str, Any]:
    """Play ``games`` in a temporary folder, then load batches of them; positions/s.

    Games of 120 plies, a target of 15 moves on every ply. A loader that builds a batch when it is
    asked for and one with a thread ahead take turns; ``cores`` > 0 keeps all to that number. Raises
    ConfigError for more cores than there are.
    """
    keep_to_cores(cores)
    with tempfile.TemporaryDirectory(prefix="vecchess-bench-") as folder:
        records = made_up_searches(play_games(games, seed), seed)
        source = as_shards(records, Path(folder))
        spec = BatchSpec(len(source), seed, 0, batch_size, mirror=True)
        with (
            BatchLoader(source) as here,
            BatchLoader(source, threads=1) as ahead,
        ):
            positions = here.count(spec), ahead.count(spec)
            laps = [
                [_lap(loader, spec, seconds / (2 * ROUNDS)) for loader in (here, ahead)]
                for _ in range(ROUNDS)
            ]
    in_process, one_worker = (round(median(column)) for column in zip(*laps, strict=True))
    return {
        "schema": SCHEMA,
        "games": games,
        "positions": positions[0],
        "plies_per_game": round(len(records.action) / games, 1),
        "moves_per_target": round(len(records.target_prob) / len(records.action), 1),
        "batch_size": batch_size,
        "cores": cores or None,
        "in_process_positions_per_s": in_process,
        "one_worker_positions_per_s": one_worker,
    }


def _lap(loader: BatchLoader, spec: BatchSpec, seconds: float) -> float:
    """Positions/s over ``seconds``; the first batches, which are made ahead, are not counted."""
    batches = loader.batches(_all_steps(spec))
    for _ in range(SETTLE_BATCHES):
        next(batches)
    made, start = 0, perf_counter()
    while (spent := perf_counter() - start) < seconds:
        made += len(next(batches).played)
    return made / spent


def _all_steps(spec: BatchSpec) -> Iterator[BatchSpec]:
    """The specs of all steps."""
    return (replace(spec, step=step) for step in count())


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--games", type=int, default=1024, help="to play first")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--cores", type=int, default=1, help="to keep to; 0: all")
    parser.add_argument("--seed", type=int, default=0)
    print(json.dumps(run(**vars(parser.parse_args()))))


if __name__ == "__main__":
    main()
