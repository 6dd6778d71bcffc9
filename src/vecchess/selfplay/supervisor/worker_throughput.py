"""Speed and load from the counters that workers send: differences of two readings (decision 46)."""

from collections import deque
from dataclasses import dataclass, fields
from time import monotonic
from typing import Any

import numpy as np

from vecchess.inference.engine import NUM_AGE_BUCKETS, age_percentile_ms
from vecchess.runtime.json_pipe import Message

WINDOW_S = 5.0
"""Recent figures are taken over about so many seconds."""
STARVED_BELOW = 0.5
EMPTY_BELOW = 0.25
"""Share of the slots below which a GPU's step is nearly empty, and takes almost as long as a full
one."""
SUMMED = {"plies_per_s", "games_per_s", "evals_per_s", "sims_per_s", "games_mb"}
"""Figures of several workers that add up."""


@dataclass(frozen=True)
class Throughput:
    """Speed and load of one worker, or of several together, in a stretch of time."""

    plies_per_s: float = 0.0
    games_per_s: float = 0.0
    evals_per_s: float = 0.0
    """Positions the network answered, per second."""
    sims_per_s: float = 0.0
    """Simulations of searches, per second."""
    cache_hit_rate: float = 0.0
    """Share of the positions that searches came to which the cache knew."""
    mean_time_steps: float = 0.0
    batch_fill: float = 0.0
    """Occupied share of the slots, averaged over batches. Where answers come a batch late, at most
    t / (t + 1) for answers of t batches."""
    full_batches: float = 0.0
    """Share of batches with every slot occupied; the others ran because nothing more waited."""
    device_busy: float = 0.0
    """Share of the time in which the network was computed, by the device's own clock."""
    host_busy: float = 0.0
    """Share of the time in which the central loop worked beside a device that computes on its own;
    0 where the loop computes the network itself."""
    mover_busy: float = 0.0
    """Share of the time in which a mover was at work, averaged over movers."""
    queue_age_p99_ms: float = 0.0
    """99 of 100 positions waited less than this for a slot."""

    games_mb: float = 0.0
    """Memory of the games and their trees, in MB, at the end of that time."""

    @property
    def verdict(self) -> str:
        """What limits the speed: "device-bound", "host-bound", "mover-bound" or "starved".

        It is what is busy longest. "starved": nothing is busy half of the time, or a device apart
        from the host takes its steps for few of its slots.
        """
        busy = {
            "device-bound": self.device_busy,
            "host-bound": self.host_busy,
            "mover-bound": self.mover_busy,
        }
        limit = max(busy, key=lambda name: busy[name])
        is_empty = limit == "device-bound" and self.host_busy and self.batch_fill < EMPTY_BELOW
        return "starved" if busy[limit] < STARVED_BELOW or is_empty else limit

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Throughput":
        """The throughput whose ``to_dict`` gave ``values``."""
        return cls(**{field.name: values[field.name] for field in fields(cls)})

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and the verdict, for JSON."""
        return {name: round(value, 4) for name, value in vars(self).items()} | {
            "verdict": self.verdict
        }


def throughput_between(first: Message, last: Message, seconds: float) -> Throughput:
    """The load between two ``stats`` messages of one worker, ``seconds`` apart."""

    def grown(key: str) -> int:
        return int(last[key] - first.get(key, 0))

    def searched(key: str) -> int:
        return int(last.get("search", {}).get(key, 0) - first.get("search", {}).get(key, 0))

    seconds = max(seconds, 1e-9)
    batches, positions = grown("batches"), grown("positions")
    before = first.get("steps", {})
    steps = sum(int(t) * (n - before.get(t, 0)) for t, n in last["steps"].items())
    return Throughput(
        plies_per_s=grown("plies") / seconds,
        games_per_s=grown("games") / seconds,
        evals_per_s=positions / seconds,
        sims_per_s=searched("simulations") / seconds,
        cache_hit_rate=searched("cache_hits") / max(searched("cache_probes"), 1),
        mean_time_steps=steps / max(positions, 1),
        batch_fill=grown("slot_steps") / max(batches * last["slots"], 1),
        full_batches=grown("full_batches") / max(batches, 1),
        device_busy=grown("busy_ns") / seconds / 1e9,
        host_busy=grown("host_ns") / seconds / 1e9,
        mover_busy=grown("mover_busy_ns") / seconds / 1e9 / last["movers"],
        queue_age_p99_ms=_queue_age_p99_ms(first.get("queue_age", {}), last["queue_age"]),
        games_mb=last["game_bytes"] / 1e6,
    )


def combined_throughput(loads: list[Throughput]) -> Throughput:
    """Rates and memory add up, shares and times are averaged; the longest wait counts."""
    if not loads:
        return Throughput()
    columns = {name: [getattr(load, name) for load in loads] for name in vars(loads[0])}
    evals = sum(columns["evals_per_s"])
    steps = sum(load.mean_time_steps * load.evals_per_s for load in loads)
    combined = {
        name: sum(values) if name in SUMMED else float(np.mean(values))
        for name, values in columns.items()
    }
    return Throughput(
        **combined
        | {
            "mean_time_steps": steps / evals if evals else 0.0,
            "queue_age_p99_ms": max(columns["queue_age_p99_ms"]),
        }
    )


class ThroughputMeter:
    """Readings of one worker's counters: the recent load, and the load since it began to play."""

    def __init__(self) -> None:
        """Begin without a reading."""
        self._readings: deque[tuple[float, Message]] = deque()
        self._first: tuple[float, Message] | None = None
        self._games_before = self._plies_before = 0
        self._recent: Throughput | None = None
        self._worked: list[tuple[float, int]] = []
        """Time and plies of the first and the newest reading with new plies."""

    def begin_generation(self) -> None:
        """Count from now on: what was done before belongs to an earlier generation."""
        if self._readings:
            self._first = (monotonic(), self.last)
            self._readings = deque([self._first])
            self._recent = None
            self._worked = []
            self._games_before = int(self.last["games"])
            self._plies_before = int(self.last["plies"])

    @property
    def games(self) -> int:
        """Games finished since the beginning, as last reported."""
        return int(self.last["games"]) - self._games_before if self._readings else 0

    @property
    def plies(self) -> int:
        """Moves made since the beginning, those of random openings left out, as last reported."""
        return int(self.last["plies"]) - self._plies_before if self._readings else 0

    @property
    def seconds_a_ply(self) -> float:
        """Time a move between the first and the last ones; 0 where that is not known."""
        if len(self._worked) < 2:
            return 0.0
        (since, before), (until, plies) = self._worked
        return (until - since) / (plies - before)

    def read(self, message: Message) -> None:
        """Note a ``stats`` message. Its own time counts: several may be read at once."""
        reading = (float(message["time_s"]), message)
        self._first = self._first or reading
        if message["plies"] > self.last.get("plies", 0):
            self._worked = [*self._worked[:1], (reading[0], int(message["plies"]))]
        self._readings.append(reading)
        self._recent = None
        while len(self._readings) > 2 and reading[0] - self._readings[1][0] >= WINDOW_S:
            self._readings.popleft()

    @property
    def last(self) -> Message:
        """The newest message; empty before the first."""
        return self._readings[-1][1] if self._readings else {}

    def recent(self) -> Throughput:
        """Throughput over the last seconds."""
        if self._recent is None:
            self._recent = self._load(self._readings[0] if self._readings else None)
        return self._recent

    def overall(self) -> Throughput:
        """Throughput since the first message."""
        return self._load(self._first)

    def _load(self, since: tuple[float, Message] | None) -> Throughput:
        if since is None or len(self._readings) < 2:
            return Throughput()
        now, message = self._readings[-1]
        return throughput_between(since[1], message, now - since[0])


def _queue_age_p99_ms(first: dict[str, int], last: dict[str, int]) -> float:
    ages = np.zeros(NUM_AGE_BUCKETS, np.int64)
    for bucket, count in last.items():
        ages[int(bucket)] = count - first.get(bucket, 0)
    return age_percentile_ms(ages, 99)
