"""What it takes to look at a large run: seconds to open it and to refresh, and memory.

    python bench/monitor_load.py                              1,000,000 lines, 10,000 games
    python bench/monitor_load.py --lines 100000 --games 1000 --refreshes 1000

Makes such a run in a temporary folder (some 500 MB): load lines, losses with eight layers' spikes,
one generation in a hundred lines; shards of 64 games, eight workers that show 16 games each. Opens
it, asks for the samples that charts take, refreshes while nothing changes, then while the status,
all boards and ten lines are new each time, as they are each second. Prints one JSON object.
"""

import argparse
import json
import os
import random
import resource
import shutil
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import chess
import numpy as np

from vecchess.chess.fen import from_fens
from vecchess.chess.rules import Termination
from vecchess.chess.uci_moves import action_of
from vecchess.config import TrainConfig, to_toml
from vecchess.importers.imported_game import ImportedGame, to_records
from vecchess.monitor.run_view import RunView
from vecchess.runtime.cost_meter import resident_bytes
from vecchess.store.manifest import Manifest, ShardEntry
from vecchess.store.records import GameRecords
from vecchess.store.run_folder import RunFolder
from vecchess.store.shard import write_shard

SCHEMA = 1
SHARD_GAMES, SHOWN_GAMES, WORKERS = 64, 16, 8
PLIES = 100
LINES_A_SECOND = 10
LAYERS = [f"block{block}.{half}" for block in range(4) for half in ("first", "second")]


def main() -> int:
    """Make a run, measure, print; returns the exit code."""
    options = _options()
    folder = Path(tempfile.mkdtemp(prefix="monitor-load-"))
    try:
        run = RunFolder(folder / "run")
        games = _make(run, options.lines, options.games)
        print(json.dumps(_measured(run, games, options)))
    finally:
        shutil.rmtree(folder)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--games", type=int, default=10_000)
    parser.add_argument("--refreshes", type=int, default=200)
    return parser.parse_args()


def _measured(run: RunFolder, games: GameRecords, options: argparse.Namespace) -> dict[str, Any]:
    before = _memory_mb()
    processor = time.process_time()
    opening, view = _timed(lambda: RunView(run.path))
    processor = time.process_time() - processor
    charts, _ = _timed(lambda: _chart(view))
    number = options.games // 2
    looking, _ = _timed(lambda: view.game(number))
    boards, shown = _timed(view.live_games)
    opened = _memory_mb()
    idle = [_timed(view.refresh)[0] for _ in range(options.refreshes)]
    busy, drawn, halfway = [], [], 0.0
    for tick in range(options.refreshes):
        _go_on(run, games, tick)
        busy.append(_timed(view.refresh)[0])
        drawn.append(_timed(lambda: (_chart(view), view.live_games()))[0])
        halfway = _memory_mb() if tick == options.refreshes // 2 else halfway
    return {
        "schema": SCHEMA,
        "lines": options.lines,
        "games": options.games,
        "metrics_mb": round((run.path / "metrics.jsonl").stat().st_size / 1e6, 1),
        "open_s": round(opening, 4),
        "open_cpu_s": round(processor, 4),
        "charts_s": round(charts, 4),
        "game_s": round(looking, 4),
        "boards": len(shown),
        "boards_s": round(boards, 4),
        "refresh_idle_ms": round(median(idle) * 1e3, 3),
        "refresh_ms": round(median(busy) * 1e3, 3),
        "refresh_max_ms": round(max(busy) * 1e3, 3),
        "charts_and_boards_ms": round(median(drawn) * 1e3, 3),
        "memory_mb": {
            "before": before,
            "opened": opened,
            "halfway": halfway,
            "end": _memory_mb(),
            "peak": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6, 1),
        },
    }


def _chart(view: RunView) -> int:
    """What charts of all kinds ask for."""
    return sum(len(view.series.lines(kind)) for kind in view.series.kinds)


def _timed(work: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def _memory_mb() -> float:
    """What the process holds now."""
    return round((resident_bytes([os.getpid()]) or 0) / 1e6, 1)


def _make(run: RunFolder, num_lines: int, num_games: int) -> GameRecords:
    """Fill the folder of a training; returns the games that its shards repeat."""
    print(f"making a run of {num_lines:,} lines and {num_games:,} games", file=sys.stderr)
    run.create()
    run.config.write_text(to_toml(TrainConfig(iterations=1000)))
    with (run.path / "metrics.jsonl").open("w") as file:
        for place in range(num_lines):
            file.write(_line(place))
    games, manifest = _random_games(SHARD_GAMES), Manifest(run.games)
    for first in range(0, num_games, SHARD_GAMES):
        numbers = np.arange(first, min(first + SHARD_GAMES, num_games))
        part = replace(games.take(numbers - first), numbers=numbers)
        sha256 = write_shard(run.games / f"{first}.npz", part)
        manifest.append(ShardEntry.of(f"{first}.npz", sha256, part))
    (run.path / "live").mkdir()
    _go_on(run, games, 0)
    return games


def _go_on(run: RunFolder, games: GameRecords, tick: int) -> None:
    """What a run does in a second: a ply in every game, a status, a few lines."""
    now = time.time()
    run.write_json(
        "status.json",
        {"schema": 2, "kind": "train", "state": "playing", "updated_unix": now, "games": tick},
    )
    shown = _so_far(games.take(np.arange(SHOWN_GAMES)), 1 + tick % PLIES)
    for worker in range(WORKERS):
        write_shard(run.path / "live" / f"{worker:03}.npz", shown)
    with (run.path / "metrics.jsonl").open("a") as file:
        for place in range(LINES_A_SECOND):
            file.write(_line(place))


def _line(place: int) -> str:
    kind = "play" if place % 100 == 0 else "load" if place % 2 else "learn"
    head = {"schema": 1, "kind": kind, "iteration": place // 1000, "step": place}
    head |= {"samples": 256 * place, "time_unix": 1.8e9 + place}
    if kind == "learn":
        losses = {"loss": 2.1, "loss_policy": 1.4, "loss_value": 0.7, "spike_rate": 0.08}
        return json.dumps(head | losses | {"spikes": dict.fromkeys(LAYERS, 0.081234)}) + "\n"
    load = {"plies_per_s": 9418.1, "games_per_s": 27.6, "batch_fill": 0.97, "device_busy": 0.91}
    return json.dumps(head | load | {"verdict": "device-bound", "loads": [load, load]}) + "\n"


def _random_games(num: int) -> GameRecords:
    """Games of 100 random plies."""
    draw, found = random.Random(0), []
    start = from_fens([chess.STARTING_FEN])[0]
    while len(found) < num:
        board = chess.Board()
        game = ImportedGame(len(found), start, 0, Termination.ADJUDICATION)
        while len(game.actions) < PLIES and (moves := list(board.legal_moves)):
            game.actions.append(action_of(board, move := draw.choice(moves)))
            board.push(move)
        if len(game.actions) == PLIES:
            found.append(game)
    return to_records(found, "random")


def _so_far(games: GameRecords, plies: int) -> GameRecords:
    """``games``, which all have the same length, after so many plies."""
    kept = np.flatnonzero(np.arange(len(games.action)) % PLIES < plies)
    columns = ("action", "steps", "win", "draw", "prob", "tag", "visits", "full", "thought")
    return replace(
        games,
        termination=np.full(games.num_games, Termination.ONGOING, np.uint8),
        offsets=np.arange(games.num_games + 1) * plies,
        target_offsets=np.zeros(len(kept) + 1, np.int64),
        **{name: getattr(games, name)[kept] for name in columns},
    )


if __name__ == "__main__":
    sys.exit(main())
