"""Network files with odd numbers, made from a seed, and what comes of playing with them.

python -m tests.selfplay.odd_networks --networks 10000 --seed 1: one JSON object.
"""

import argparse
import json
import sys
import warnings
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from tests.selfplay.playing import play, replay
from tests.snn.positions import random_positions
from vecchess.chess.planes import NUM_PLANES
from vecchess.config import GameConfig, TreeConfig
from vecchess.errors import NetworkError
from vecchess.inference.backend_registry import open_backend
from vecchess.replay.compare_records import first_difference
from vecchess.snn.initialise import new_network
from vecchess.snn.integer.integer_net import ExitRule, IntegerNet, Layer, describe, tensors_of
from vecchess.snn.integer.net_file import METADATA_KEY, SCALES, load_net
from vecchess.snn.presets import NetConfig
from vecchess.store.records import GameRecords
from vecchess.store.replay_positions import replay_moves
from vecchess.store.shard import read_shard, write_shard

GAMES, PLIES = 2, 8
RULES: tuple[Any, ...] = (
    None, {}, {"min_steps": 1}, {"min_steps": 255}, {"min_steps": 0}, {"min_steps": True},
    {"min_steps": 1, "policy_margin": 1 << 40, "best_move_unchanged": False},
    {"policy_margin": 1 << 41}, {"value_drift": 0}, {"value_drift": 1 << 40}, {"value_drift": -1},
    {"value_drift": False}, {"value_drift": float("nan")}, {"mode": 1}, [], "", 0,
)  # fmt: skip
SCALES_TRIED = (
    *SCALES,
    SCALES[1] * 2,
    1e300,
    1e38,
    3.4e38,
    0.0,
    -1.0,
    5e-324,
    1e-38,
    float("nan"),
    float("inf"),
)
TEMPERATURES = ("0", "1e-300", "1e-38", "0.001", "0.1", "1.0", "100", "1.0,3:0.001", "0.001,2:100")


@cache
def networks() -> tuple[IntegerNet, ...]:
    """Small ones of several kinds."""
    planes = random_positions(16, 1)[0][:, :NUM_PLANES]
    sizes: tuple[dict[str, Any], ...] = (
        {"blocks": 1, "channels": 32, "time_steps": 2},
        {"blocks": 1, "channels": 32, "time_steps": 4, "readout": "graded"},
        {"blocks": 1, "channels": 32, "time_steps": 1, "neuron": "relu"},
    )
    configs = [NetConfig(num_planes=NUM_PLANES, **each) for each in sizes]
    return tuple(new_network(config, 1, planes) for config in configs)


def odd_network(draw: Random) -> IntegerNet:
    """A network of which some numbers were exchanged, for any that its types hold."""
    net = draw.choice(networks())
    for _ in range(draw.randrange(1, 4)):
        kind = draw.random()
        if kind < 0.35:
            name = draw.choice(("policy_scale", "value_scale"))
            net = replace(net, **{name: _odd_scale(draw)})
        elif kind < 0.85:
            name = draw.choice(list(net.layers))
            net = replace(net, layers=net.layers | {name: _odd_layer(draw, net.layers[name])})
        else:
            net = replace(net, exit_rule=draw.choice(RULES))
    return net


def _odd_scale(draw: Random) -> float:
    return draw.choice(SCALES_TRIED) if draw.random() < 0.5 else 2.0 ** draw.uniform(-64, 64)


def _odd_layer(draw: Random, layer: Layer) -> Layer:
    part = draw.choice(("weight", "shift", "bias"))
    old: NDArray[Any] = getattr(layer, part)
    limits, cells = np.iinfo(old.dtype), old.copy().reshape(-1)
    numpy = np.random.default_rng(draw.getrandbits(32))
    share = draw.choice((1.0, 0.5, 0.01, 1 / old.size))
    places = numpy.random(old.size) < share
    most = draw.choice((limits.max, 127, 10, 1))
    low = max(limits.min, draw.choice((limits.min, -most, 0)))
    drawn = numpy.integers(low, most, old.size, endpoint=True)
    one = draw.choice((low, most, 0))
    new = drawn if draw.random() < 0.5 else np.full(old.size, one)
    cells[places] = new[places].astype(old.dtype)
    return replace(layer, **{part: cells.reshape(old.shape)})


def write_unchecked(net: IntegerNet, path: Path) -> None:
    """The file of a network that ``save_net`` may refuse, its hash right."""
    description = json.dumps(describe(net) | {"sha256": net.sha256})
    path.write_bytes(save(tensors_of(net), {METADATA_KEY: description}))


def try_network(seed: int, folder: Path) -> str:
    """ "played", "refused", or what went wrong with the network of this seed."""
    draw = Random(seed)
    path = folder / "net.safetensors"
    write_unchecked(odd_network(draw), path)
    try:
        net = load_net(path)
        rule = ExitRule.from_metadata(net.exit_rule)
        backends = [open_backend("cpu", net, slots, rule) for slots in (2, 3)]
    except NetworkError as error:
        return "refused" if "\n" not in str(error) else f"a refusal of several lines: {error}"
    search = draw.choice(("none", "gumbel", "puct"))
    tree = TreeConfig() if search == "none" else TreeConfig(search=search, sims=3, cache_mb=0)  # type: ignore[arg-type]
    config = GameConfig(
        max_plies=PLIES, temperature=draw.choice(TEMPERATURES), resign_below=draw.choice((0, 0.2))
    )
    first, second = (
        play(config, GAMES, backend, seats=seats, seed=seed, tree=tree)
        for backend, seats in zip(backends, (2, 1), strict=True)
    )
    return _fault(first, second, folder / "games.npz") or "played"


def _fault(first: GameRecords, second: GameRecords, path: Path) -> str:
    """What is wrong with games that were played twice, or "": what selfplay, replay and verify
    would find."""
    if first.digest() != second.digest():
        return "digests differ"
    for game in range(first.num_games):
        one = np.array([game])
        if first_difference(first.by_number().take(one), second.by_number().take(one)):
            return "a replay differs"
    try:
        write_shard(path, first)
        replay_moves(read_shard(path))
        assert len(replay(first)) == GAMES
    except Exception as error:
        return f"games that cannot be read: {type(error).__name__}: {error}"[:200]
    return ""


def try_networks(seeds: range, seconds: float = float("inf")) -> Counter[str]:
    """How often each thing came of the networks of ``seeds``; warnings are faults."""
    found, began = Counter[str](), perf_counter()
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for seed in seeds:
            if perf_counter() - began > seconds:
                break
            try:
                came = try_network(seed, Path(folder))
            except Exception as error:
                came = f"{type(error).__name__}: {error}"[:200]
            found[came if came in ("played", "refused") else f"seed {seed}: {came}"] += 1
    return found


def main() -> int:
    """Exit code 1 where a network did anything but play or be refused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    first, began = options.seed * 1_000_000, perf_counter()
    found = try_networks(range(first, first + options.networks))
    print(json.dumps({"seconds": round(perf_counter() - began, 1), **found}))
    return int(set(found) > {"played", "refused"})


if __name__ == "__main__":
    sys.exit(main())
