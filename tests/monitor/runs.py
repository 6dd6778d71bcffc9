"""Runs as a self-play or a training leaves them, and as they are while they go on: real shards, a
real manifest, and status, boards and metrics as docs/architecture.md says who writes them."""

import hashlib
import json
import os
import socket
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tests.export.made import SEED, played, searched
from vecchess.chess.rules import Termination
from vecchess.config import SelfplayConfig, TrainConfig, to_toml
from vecchess.runtime.atomic_write import write_atomically
from vecchess.store.manifest import Manifest, ShardEntry
from vecchess.store.records import GameRecords, concatenate
from vecchess.store.run_folder import RunFolder
from vecchess.store.shard import write_shard
from vecchess.store.stats import GameStats

LAYERS = ("block0.first", "block0.second", "block1.first", "block1.second", "heads")
H200 = {
    "name": "NVIDIA H200", "util": 0.93, "memory_mb": 8123.0, "memory_total_mb": 143771.0,
    "power_w": 412.0, "temperature_c": 61.0,
}  # fmt: skip


def load(**changes: Any) -> dict[str, Any]:
    """As ``selfplay.meter.Load.to_dict``: what takes the time is the network."""
    return {
        "plies_per_s": 9418.0, "games_per_s": 27.6, "evals_per_s": 9000.0, "sims_per_s": 0.0,
        "cache_hit_rate": 0.0, "mean_time_steps": 2.66, "batch_fill": 0.97, "full_batches": 0.5,
        "device_busy": 0.91, "host_busy": 0.0, "mover_busy": 0.11, "queue_age_p99_ms": 3.2,
        "games_mb": 5.1,
        "verdict": "device-bound",
    } | changes  # fmt: skip


def worker(index: int, gpu: bool = False, **changes: Any) -> dict[str, Any]:
    found = {
        "index": index, "device": f"gpu {index}" if gpu else "cpu", "stage": "playing",
        "games": 60, "seated": 64, "load": load(plies_per_s=4709.0),
    }  # fmt: skip
    return found | ({"gpu": dict(H200)} if gpu else {}) | changes


class MadeRun:
    """A run folder to be filled, as its own processes would."""

    def __init__(self, path: Path, kind: str = "selfplay", chess960: bool = False) -> None:
        self.path, self.kind = path, kind
        self.run = RunFolder(path)
        self.run.create()
        game = {"chess960": chess960}
        config: Any = (
            TrainConfig(seed=SEED, iterations=6, game=game)
            if kind == "train"
            else SelfplayConfig(seed=SEED, games=4096, net="small", game=game)
        )
        self.run.config.write_text(to_toml(config))
        self._clock = 1_790_000_000.0

    def status(self, **changes: Any) -> dict[str, Any]:
        """Say how things stand, now, by this process unless ``changes`` say otherwise."""
        now = time.time()
        is_train = self.kind == "train"
        values = {
            "schema": 1, "kind": self.kind, "state": "playing", "why": "", "pid": os.getpid(),
            "host": socket.gethostname(), "started_unix": now - 95.0, "updated_unix": now,
            "net": "tiny-s0-d0.safetensors", "iteration": 3 if is_train else 0,
            "iterations": 6 if is_train else 0, "games": 120, "target": 4096, "eta_s": 31.5,
            "load": load(), "workers": [worker(0), worker(1)], "learning": {},
            "stats": GameStats.of(played()).to_dict(), "restarts": 0, "notes": [],
        } | changes  # fmt: skip
        write_atomically(self.path / "status.json", json.dumps(values).encode())
        return values

    def killed(self, ago_s: float = 40.0, **changes: Any) -> None:
        """Leave the word of a process that said nothing since, and is no more."""
        self.status(updated_unix=time.time() - ago_s, pid=2**22 + 1, **changes)

    def record(self, records: GameRecords) -> str:
        """Write a shard and its line in the manifest; returns its name."""
        games = self.run.games
        manifest = Manifest(games)
        name = f"w{len(manifest.entries)}.npz"
        sha256 = write_shard(games / name, records)
        manifest.append(ShardEntry.of(name, sha256, records))
        return name

    def show(self, worker_index: int, records: GameRecords) -> Path:
        """Let a worker show games in progress."""
        self.run.live.mkdir(exist_ok=True)
        file = self.run.live / f"{worker_index:03}.npz"
        write_shard(file, records)
        return file

    def measure(self, kind: str, iteration: int = 0, step: int = 0, **values: Any) -> None:
        """Append a line to metrics.jsonl."""
        self._clock += 5.0
        head = {"schema": 1, "kind": kind, "iteration": iteration, "step": step}
        head |= {"samples": 256 * step, "time_unix": self._clock}
        with (self.path / "metrics.jsonl").open("a") as file:
            file.write(json.dumps(head | values) + "\n")

    def net(self, samples: int, positions: int) -> None:
        """A file that is no network, but is called like one."""
        (self.run.nets / f"{self.path.name}-s{samples}-d{positions}.safetensors").write_text("")


def so_far(records: GameRecords, plies: list[int]) -> GameRecords:
    """The games of ``records`` when so many plies of each were played."""
    rows = zip(records.offsets[:-1].tolist(), plies, strict=False)
    kept = np.concatenate([np.arange(first, first + count) for first, count in rows])
    offsets = np.concatenate([[0], np.cumsum(plies)]).astype(np.int64)
    columns = ("action", "steps", "win", "draw", "prob", "tag", "visits", "full", "thought")
    return replace(
        records.take(np.arange(len(plies))),
        result=np.zeros(len(plies), np.int8),
        termination=np.full(len(plies), Termination.ONGOING, np.uint8),
        offsets=offsets,
        target_offsets=np.zeros(len(kept) + 1, np.int64),
        target_action=np.zeros(0, np.uint16),
        target_prob=np.zeros(0, np.uint16),
        **{name: getattr(records, name)[kept] for name in columns},
    )


def numbered(records: GameRecords, first: int) -> GameRecords:
    """The same games with numbers from ``first`` on."""
    return replace(records, numbers=np.arange(first, first + records.num_games))


def selfplay_run(path: Path, seconds: int = 60) -> MadeRun:
    """A self-play in progress with twelve games recorded."""
    made = MadeRun(path)
    made.record(played())
    made.record(numbered(searched().take(np.arange(4)), 8))
    made.show(0, numbered(so_far(played(), [10, 4, 0, 30]), 100))
    for tick in range(seconds // 5):
        made.measure("load", games=2 * tick, **load(plies_per_s=9000.0 + 40 * tick))
    made.status()
    return made


def training_run(path: Path, iterations: int = 3, steps: int = 20) -> MadeRun:
    """A training in progress, which is learning."""
    made = MadeRun(path, "train")
    step = 0
    for iteration in range(1, iterations + 1):
        made.record(numbered(searched(), 8 * (iteration - 1)))
        for tick in range(4):
            made.measure("load", iteration, step, games=2 * tick, **load(sims_per_s=16000.0))
        made.measure("play", iteration, step, **generation(iteration))
        for _ in range(steps):
            step += 10
            made.measure("learn", iteration, step, **losses(step))
        made.net(256 * step, 400 * iteration)
        made.measure("publish", iteration, step, net=f"x-s{256 * step}", sha256="ab" * 32)
        for opponent in ("random", "greedy"):
            made.measure("eval", iteration, step, **match(opponent, 0.4 + 0.1 * iteration))
    made.status(
        state="learning", load={}, workers=[], iteration=iterations, games=96, target=96,
        learning={"step": 120, "steps": 300, "samples_per_s": 812.0, "eta_s": 12.0}
        | losses(step),
    )  # fmt: skip
    return made


def generation(iteration: int) -> dict[str, Any]:
    stats = GameStats.of(searched())
    return {
        "seconds": 20.0, "games_per_s": 4.8, "positions": 480, "window_positions": 480 * iteration,
        "mean_length": stats.mean_length, "mean_time_steps": 2.3,
        "batch_fill": 0.9, "device_busy": 0.9, **stats.to_dict(),
    }  # fmt: skip


def losses(step: int) -> dict[str, Any]:
    fall = 1 / (1 + step / 300)
    return {
        "loss": 2.0 + 2 * fall, "loss_policy": 1.4 + 1.8 * fall, "loss_value": 0.6 + 0.2 * fall,
        "entropy": 1.2 + fall, "kl": 0.2 * fall, "top1": 0.35 - 0.3 * fall, "lr": 2e-3 * fall,
        "cross_entropy": 1.5 + fall, "spike_rate": 0.08 + 0.06 * fall,
        "spikes": {name: 0.05 + 0.03 * i + 0.08 * fall for i, name in enumerate(LAYERS)},
    }  # fmt: skip


def match(opponent: str, score: float) -> dict[str, Any]:
    return {
        "player": "policy", "opponent": opponent, "games": 100, "wins": round(100 * score),
        "draws": 0, "losses": 100 - round(100 * score), "score": score,
        "score_interval": [max(score - 0.08, 0.0), min(score + 0.08, 1.0)],
        "elo": 400 * (score - 0.5), "elo_low": 400 * (score - 0.6), "elo_high": None,
    }  # fmt: skip


def joined(*parts: GameRecords) -> GameRecords:
    return concatenate(list(parts))


def state_of(folder: Path) -> dict[str, str]:
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }
