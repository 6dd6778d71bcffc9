"""Run folders with games that were really played, quickly: no workers, no program."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tests.nets import FOUR_STEPS
from vecchess.config import SelfplayConfig, to_toml
from vecchess.evaluate.calibrate_exits import play_here
from vecchess.runtime.devices import CPU
from vecchess.selfplay.worker.networks import store_net
from vecchess.snn.create import create_network
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.store.manifest import Manifest, ShardEntry
from vecchess.store.records import GameRecords
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_pins import pin_run
from vecchess.store.shard import write_shard

DRAWN: dict[str, Any] = {"game": {"max_plies": 24, "random_plies": 4}}
GUMBEL = DRAWN | {"tree": {"search": "gumbel", "sims": 6}}
PUCT = {
    "game": {"max_plies": 20, "random_plies": 3, "chess960": True, "resign_below": 0.49},
    "tree": {"search": "puct", "sims": 12, "fast_sims": 4, "full_share": 0.5},
}


@cache
def tiny(seed: int = 0) -> IntegerNet:
    return create_network(FOUR_STEPS, seed)


def new_run(path: Path, settings: dict[str, Any]) -> RunFolder:
    """A run that has not played yet."""
    run = RunFolder(path)
    run.create()
    config = SelfplayConfig.model_validate({"net": "tiny", "seed": 5} | settings)
    pin_run(run, config)
    run.config.write_text(to_toml(config))
    return run


def played(run: RunFolder, settings: dict[str, Any], net: IntegerNet, count: int) -> GameRecords:
    """Games 0 .. count - 1 by a network that the run keeps."""
    config = settings | {"seed": 5, "net": str(store_net(net, run))}
    return play_here(SelfplayConfig.model_validate(config), CPU, count)


def record(run: RunFolder, records: GameRecords, shards: int = 1) -> None:
    """Write games to a run, a part of them in each shard."""
    manifest = Manifest(run.games)
    for part in np.array_split(np.arange(records.num_games), shards):
        file, games = f"{len(manifest.entries):06d}.npz", records.take(part)
        sha256 = write_shard(run.games / file, games)
        manifest.append(ShardEntry.of(file, sha256, games))


def run_of(path: Path, settings: dict[str, Any], count: int, shards: int = 1) -> RunFolder:
    """A run of so many games by the tiny network."""
    run = new_run(path, settings)
    record(run, played(run, settings, tiny(), count), shards)
    return run
