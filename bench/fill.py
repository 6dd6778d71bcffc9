"""Fill of the slots over the generations of a training: of games, and of positions.

    PYTHONPATH=. python bench/fill.py                 5 generations, 4,096 slots of a fake device
    PYTHONPATH=. python bench/fill.py --latency 1:2ms,512:2ms,4096:9ms --plies 200

The device is slow enough that movers keep up (``fake_device``); the network answers nothing, so
that games have the lengths of random ones, up to ``--plies``. Answers come at once, not a step
late, so that a seat without a game is all that is missing. "games": a generation is as many
games as make its positions, and ends with the last of them, as it was up to decision 224.
"positions": each seat takes the same number of turns, and its game goes on. Prints one JSON
object: of each generation the fill (occupied share of the device's slots, averaged over batches),
games, positions and seconds.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from bench.fake_device import FAKE

from vecchess.config import SelfplayConfig
from vecchess.runtime.devices import CPU
from vecchess.selfplay.supervisor.supervisor import LineWatcher, RunResult, Supervisor
from vecchess.store.id_set import IdSet
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_pins import pin_run
from vecchess.store.seating import Seating

SCHEMA = 1
H100_LIKE = "1:20ms,512:20ms,1024:25ms,2048:43ms,4096:80ms"
"""The shape of an H100's curve, flat up to some hundred slots; a hundred times slower."""


def main() -> None:
    """Measure both, and print them."""
    options = _options()
    seating = Seating(options.seats, options.positions // options.seats)
    config = SelfplayConfig.model_validate(
        {
            "net": "constant",
            "backend": f"{FAKE}?latency={options.latency}&late=0",
            "slots": options.slots,
            "concurrent_games": options.seats,
            "game": {"max_plies": options.plies, "random_plies": 2},
            "stall_timeout_s": 120.0,
        }
    )
    measured = {}
    for kind in options.kinds:
        with tempfile.TemporaryDirectory(prefix="fill-") as folder:
            measured[kind] = _generations(kind, Path(folder) / "run", config, seating, options)
    print(json.dumps({"schema": SCHEMA, **vars(options), **measured}))


def _generations(
    kind: str, path: Path, config: SelfplayConfig, seating: Seating, options: argparse.Namespace
) -> dict[str, Any]:
    run = RunFolder(path)
    run.create()
    pin_run(run, config)
    net = config.net
    by_positions = kind == "positions"
    found, games = [], options.positions // options.mean_plies
    with Supervisor(
        config, run, [CPU], LineWatcher(), seating=seating if by_positions else None
    ) as supervisor:
        for number in range(options.generations):
            rows = options.slots if by_positions else min(games, options.slots)
            ids = IdSet([(number * games, (number + 1) * games)])
            if by_positions:
                ids = seating.segments(number, number + 1)
            result = supervisor.play(net, ids)
            found.append(_facts(result, by_positions, seating, rows / options.slots))
    seconds = sum(each["seconds"] for each in found)
    positions = sum(each["positions"] for each in found)
    mean = sum(each["fill"] for each in found) / len(found)
    whole = {"fill": round(mean, 4), "positions_per_s": round(positions / seconds)}
    return {**whole, "generations": found}


def _facts(result: RunResult, by_positions: bool, seating: Seating, share: float) -> dict[str, Any]:
    """Facts about a generation that used this ``share`` of the device's slots."""
    asked = sum(result.stats.time_steps.values())
    return {
        "fill": round(share * result.throughput.batch_fill, 4),
        "games": result.stats.games,
        "positions": seating.positions if by_positions else asked,
        "seconds": round(result.seconds, 2),
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kinds", nargs="+", default=["games", "positions"])
    parser.add_argument("--generations", type=int, default=5)
    parser.add_argument("--slots", type=int, default=4096)
    parser.add_argument("--seats", type=int, default=8192)
    parser.add_argument("--positions", type=int, default=262_144, help="of a generation")
    parser.add_argument("--plies", type=int, default=600, help="most of a game")
    parser.add_argument("--mean-plies", type=int, default=330, help="of a game, to count games")
    parser.add_argument("--latency", default=H100_LIKE)
    return parser.parse_args()


if __name__ == "__main__":
    main()
