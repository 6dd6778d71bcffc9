"""Runs that go on before one's eyes: made-up measurements, real games, boards that move."""

import math
import threading
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from tests.monitor.runs import MadeRun, load, match, numbered, so_far, training_run, worker
from tests.selfplay.playing import LoudBackend, play
from vecchess.chess.rules import Termination
from vecchess.config import GameConfig
from vecchess.store.records import GameRecords

LAYERS = [f"block {b}, {half}" for b in range(6) for half in ("first", "second")] + [
    "policy",
    "value",
]
NUM_SEATS = 16
REASONS = {
    Termination.CHECKMATE: 0.3,
    Termination.RESIGNATION: 0.28,
    Termination.THREEFOLD: 0.2,
    Termination.INSUFFICIENT_MATERIAL: 0.08,
    Termination.FIFTY_MOVES: 0.06,
    Termination.STALEMATE: 0.05,
    Termination.ADJUDICATION: 0.03,
}


@cache
def played() -> GameRecords:
    """Whole games by a network that knows nothing, with all kinds of ends."""
    return play(GameConfig(max_plies=160, random_plies=3), 32, LoudBackend(32), seed=7)


def ended(seed: int) -> GameRecords:
    """The same games cut short, with results and reasons as a fair network has them."""
    draw = np.random.default_rng(seed)
    games = played()
    cut = np.minimum(games.lengths, draw.normal(95, 30, games.num_games).clip(20, 160))
    reason = draw.choice(list(REASONS), games.num_games, p=list(REASONS.values()))
    result = np.where(reason <= Termination.CHECKMATE, draw.choice([1, -1], len(reason)), 0)
    result = np.where(
        reason == Termination.RESIGNATION, draw.choice([1, 1, -1], len(reason)), result
    )
    cut_games = so_far(games, cut.astype(int).tolist())
    return replace(cut_games, result=result.astype(np.int8), termination=reason.astype(np.uint8))


def wave(seed: int, at: float, size: float = 0.03) -> float:
    """A number near 1 that wanders with ``at``."""
    return 1 + size * (math.sin(1.7 * at + seed) + 0.6 * math.sin(5.3 * at + 2 * seed))


class Tables:
    """The boards of one worker: games of ``played``, each from its own ply on."""

    def __init__(self, made: MadeRun, index: int) -> None:
        self._made, self._index, self._tick = made, index, 0
        self._games = played().take(np.arange(NUM_SEATS * index, NUM_SEATS * (index + 1)))
        self._lengths = self._games.lengths

    def move(self) -> None:
        """One more ply on every board; who is over begins anew with another number."""
        self._tick += 1
        ages = self._tick + 23 * np.arange(NUM_SEATS)
        rounds, plies = np.divmod(ages, self._lengths + 1)
        shown = so_far(self._games, plies.tolist())
        numbers = 1000 * self._index + NUM_SEATS * (rounds + 10) + np.arange(NUM_SEATS)
        self._made.show(self._index, replace(shown, numbers=numbers))


def busy_selfplay(path: Path, gpus: int = 2, seconds: int = 900) -> MadeRun:
    """A self-play on GPUs with an hour's figures, being played."""
    made = MadeRun(path)
    for part in range(4):
        made.record(numbered(ended(part), 32 * part))
    for tick in range(seconds // 5):
        at = tick / 12
        made.measure("load", games=40 * tick, **gpu_load(at))
    status_of_selfplay(made, gpus)
    return made


def gpu_load(at: float) -> dict[str, float]:
    warm = 1 - math.exp(-3 * at)
    return load(
        plies_per_s=188_000 * warm * wave(1, at), evals_per_s=181_000 * warm * wave(1, at + 0.1),
        games_per_s=930 * warm * wave(2, at, 0.08), mean_time_steps=2.55 * wave(3, at, 0.01),
        batch_fill=min(0.985 * warm * wave(4, at, 0.005), 1), full_batches=min(0.9 * warm, 1),
        device_busy=min(0.94 * warm * wave(5, at, 0.01), 1), mover_busy=0.58 * warm * wave(6, at),
        host_busy=0.31 * warm * wave(9, at),
        queue_age_p99_ms=4.1 * wave(7, at, 0.15), games_mb=118 * (0.6 + 0.4 * warm),
    ) | {"gpu_util": min(0.93 * warm * wave(8, at, 0.02), 1), "gpu_power_w": 120 + 520 * warm,
         "gpu_memory_mb": 9100.0}  # fmt: skip


def status_of_selfplay(made: MadeRun, gpus: int = 2) -> None:
    workers = [
        worker(i, gpu=True, games=61_000 + 311 * i, seated=8192, load=gpu_load(4 + i))
        for i in range(gpus)
    ]
    note = {
        "time_unix": 1_790_000_300.0,
        "line": "gpu 1 died: killed by SIGKILL; 8,192 unfinished games will be played",
    }
    made.status(
        games=122_311, target=200_000, eta_s=412.0, load=gpu_load(4), workers=workers,
        restarts=1, notes=[note], net="small-s0-d0.safetensors",
    )  # fmt: skip


def long_training(
    path: Path, iterations: int = 40, seed: int = 0, is_over: bool = False
) -> MadeRun:
    """A training with the curves of a good one."""
    made = training_run(path, 0)
    for iteration in range(1, iterations + 1):
        add_iteration(made, iteration, iterations, seed)
    made.record(numbered(ended(seed), 0))
    learning = {"step": 120, "steps": 300, "samples_per_s": 812.0, "eta_s": 12.0}
    made.status(
        state="done" if is_over else "learning", load={}, workers=[],
        learning={} if is_over else learning, iteration=iteration,
        iterations=iterations if is_over else 200, games=96, target=96,
    )  # fmt: skip
    return made


def add_iteration(made: MadeRun, iteration: int, iterations: int, seed: int) -> None:
    """Everything that one iteration of ``long_training`` measures."""
    first, last = 96 * (iteration - 1), 96 * iteration
    rates = {
        "plies_per_s": 5200 * wave(seed, iteration),
        "sims_per_s": 83_000 * wave(seed, iteration),
    }
    made.measure("load", iteration, first, games=96, **load(**rates))
    made.measure("play", iteration, first, **results(iteration, iterations))
    for step in range(first + 12, last + 1, 12):
        made.measure("learn", iteration, step, **learnt(step / (96 * iterations), seed, step))
    made.net(256 * last, 4000 * iteration)
    if iteration % 5 == 0 or iteration == 1:
        made.measure("examine", iteration, last, **examined(iteration / iterations))
        for opponent, begin, rise in (("random", 0.48, 0.48), ("greedy", 0.12, 0.55)):
            score = begin + rise * (iteration / iterations) ** 0.7
            interval = {"score_interval": [max(score - 0.08, 0), min(score + 0.06, 1)]}
            made.measure("eval", iteration, last, **match(opponent, round(score, 3)) | interval)
        passed = iteration != 15
        made.measure(
            "gate", iteration, last, admitted=passed, opponent="the last", games=240,
            score=0.53 if passed else 0.49,
            sprt={"state": "accepted" if passed else "rejected", "llr": 2.95},
        )  # fmt: skip


def results(iteration: int, iterations: int) -> dict[str, object]:
    share = iteration / iterations
    draws = round(400 * (0.55 - 0.3 * share) * wave(1, iteration, 0.05))
    white = round((400 - draws) * (0.5 + 0.04 * share))
    return {
        "seconds": 20.0,
        "white_wins": white,
        "draws": draws,
        "black_wins": 400 - draws - white,
        "mean_length": 190 - 70 * share * wave(3, iteration, 0.05),
        "positions": 4000,
        "mean_time_steps": 2.6,
    }


def learnt(share: float, seed: int, step: int) -> dict[str, object]:
    fall = math.exp(-3.2 * share * (1 + 0.15 * seed)) * wave(seed, step / 9, 0.02)
    rate = 0.075 + 0.09 * fall
    return {
        "loss": 1.9 + 2.6 * fall, "loss_policy": 1.5 + 1.8 * fall, "loss_value": 0.4 + 0.8 * fall,
        "entropy": 1.1 + 1.9 * fall, "kl": 0.02 + 0.1 * fall, "top1": 0.52 - 0.45 * fall,
        "cross_entropy": 1.5 + 1.8 * fall, "lr": 2e-3 * 0.5 * (1 + math.cos(math.pi * share)),
        "spike_rate": rate, "samples_per_s": 5300 * wave(seed, step),
        "spikes": {
            name: rate * (0.35 + 0.13 * i) * wave(i, step / 20, 0.08)
            for i, name in enumerate(LAYERS)
        },
    }  # fmt: skip


def examined(share: float) -> dict[str, list[float]]:
    steps = range(1, 5)
    return {
        "cross_entropy": [3.4 - 1.6 * share - 0.12 * share * math.log(t) - 0.05 * t for t in steps],
        "top1": [0.1 + 0.38 * share + 0.03 * share * math.log(t) for t in steps],
        "value_error": [0.21 - 0.1 * share - 0.01 * math.log(t) for t in steps],
    }


class Showcase:
    """Four runs; while it is entered, one of them is being played."""

    def __init__(self, folder: Path, tick_s: float = 0.5) -> None:
        self.folder = folder
        self._tick_s, self._end = tick_s, threading.Event()
        self.busy = busy_selfplay(folder / "selfplay")
        self.learning = long_training(folder / "gumbel-small")
        self.done = long_training(folder / "ppo-baseline", 30, seed=3, is_over=True)
        self.tables = [Tables(self.busy, index) for index in range(2)]
        self._thread = threading.Thread(target=self._go_on, daemon=True)

    def __enter__(self) -> "Showcase":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _go_on(self) -> None:
        while not self._end.wait(self._tick_s):
            for table in self.tables:
                table.move()
            status_of_selfplay(self.busy)
