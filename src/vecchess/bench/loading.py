"""``bench loader``: batches from recorded games, built when they are asked for and ahead."""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from vecchess.bench.throughput import keep_to_cores
from vecchess.config import CONSTANT_NET, SelfplayConfig
from vecchess.evaluate.calibrate_exits import play_here
from vecchess.runtime.devices import parse_gpus
from vecchess.store.records import GameRecords
from vecchess.store.replay_positions import replay_positions
from vecchess.store.shard import write_shard
from vecchess.train.data.batch_loader import BatchLoader
from vecchess.train.data.batch_spec import BatchSpec
from vecchess.train.data.replay_window import GivenShards

SCHEMA = 1
MAX_PLIES = 120
TARGET_MOVES = 15
SHARD_GAMES = 64
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


def made_up_searches(records: GameRecords, seed: int) -> GameRecords:
    """The games as if every ply had been searched, with targets of up to 15 of the legal moves."""
    draw = np.random.default_rng(seed)
    legal = replay_positions(records, np.arange(len(records.action))).requests
    counts = np.minimum(legal.num_legal, TARGET_MOVES).astype(np.int64)
    rows = [np.sort(row[:num]) for row, num in zip(legal.legal, counts, strict=True)]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return replace(
        records,
        visits=np.full(len(counts), 64, np.uint32),
        full=np.ones(len(counts), np.uint8),
        target_offsets=offsets,
        target_action=np.concatenate(rows),
        target_prob=draw.integers(1, 4000, offsets[-1]).astype(np.uint16),
    )


def as_shards(records: GameRecords, folder: Path) -> GivenShards:
    """The games in shards of 64, written to ``folder``."""
    num_games = records.num_games
    parts = np.array_split(np.arange(num_games), -(-num_games // SHARD_GAMES))
    for index, chosen in enumerate(parts):
        write_shard(folder / f"{index:06d}.npz", records.take(chosen))
    return GivenShards([folder])


def play_games(games: int, seed: int) -> GameRecords:
    """Games of 120 plies, drawn from the same answer for every position."""
    settings = {"net": CONSTANT_NET, "seed": seed, "game": {"max_plies": MAX_PLIES}}
    return play_here(SelfplayConfig.model_validate(settings), parse_gpus("cpu")[0], games)


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
