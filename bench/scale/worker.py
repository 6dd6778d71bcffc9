"""A worker that plays no chess: it speaks the pipe's language at given rates, and costs nothing.

    python bench/scale/worker.py ORDERS SOCKET         started by bench/scale/crew.py

Standard library only, so that 64 of them start within seconds and take 10 MB each. It takes numbers
of games, lets so many of them end a second, writes shards that hold their numbers, tells statistics
of the usual size, beats its pulse, rests, stops, and dies when its time has come. What it saw of
the parent goes into a file beside the run: seconds from statistics to the games that answer them,
when it was born, first had games, and died.
"""

import hashlib
import io
import json
import mmap
import random
import select
import signal
import socket
import struct
import sys
import time
import zipfile
from array import array
from collections import deque
from math import inf
from pathlib import Path
from typing import Any

PLAYING, RESTING, DONE = 2, 3, 5
"""Stages, as the parent numbers them."""
PLIES = 100
TICK_S = 0.05


class SimulatedWorker:
    """Plays by the clock."""

    def __init__(self, orders: dict[str, Any], connection: socket.socket) -> None:
        self._orders = orders
        self._connection = connection
        self._pulse = _shared_words(Path(orders["pulse"]))
        self._numbers: deque[tuple[int, int]] = deque()
        self._finished: list[int] = []
        self._games = self._shards = 0
        self._credit = 0.0
        self._stage = PLAYING
        self._asked_at = 0.0
        self._seen: dict[str, Any] = {"index": orders["index"], "born": time.monotonic()}
        self._answers: list[float] = []

    def run(self) -> None:
        """Until told to stop, or until death."""
        rng = random.Random(self._orders["seed"])
        life_s = self._orders["life_s"]
        dies_at = inf
        last = next_stats = time.monotonic()
        next_stats += rng.random() * self._orders["stats_s"]  # not all at the same moment
        while self._stage != DONE:
            self._listen(min(TICK_S, max(0.0, next_stats - time.monotonic())))
            now = time.monotonic()
            self._play(now - last)
            last = now
            if now >= next_stats:
                next_stats += self._orders["stats_s"]
                self._tell()
            if life_s and self._shards and dies_at == inf:
                dies_at = now + rng.expovariate(1 / life_s)
            if now >= dies_at:
                self._leave_word(died=now)
                signal.raise_signal(signal.SIGKILL)
        self._write()
        self._tell()
        self._leave_word()

    def _listen(self, timeout_s: float) -> None:
        """Obey what comes within that time."""
        while select.select([self._connection], [], [], timeout_s)[0]:
            message = _receive(self._connection)
            timeout_s = 0.0
            if message is None or message["kind"] == "stop":
                self._stage = DONE
                return
            if message["kind"] == "games":
                self._numbers.extend((first, end) for first, end in message["ranges"])
                self._seen.setdefault("given", time.monotonic())
                self._stage = PLAYING
                if self._asked_at:
                    self._answers.append(time.monotonic() - self._asked_at)
            elif message["kind"] == "rest":
                self._stage = RESTING
            self._asked_at = 0.0

    def _play(self, seconds: float) -> None:
        """Let as many games end as the rate says."""
        self._pulse[0] = self._stage
        if self._stage == RESTING:
            return
        self._pulse[1] += 1
        self._credit += seconds * self._orders["games_per_s"]
        while self._credit >= 1 and self._numbers:
            first, end = self._numbers.popleft()
            if first + 1 < end:
                self._numbers.appendleft((first + 1, end))
            self._finished.append(first)
            self._games += 1
            self._credit -= 1
            if len(self._finished) >= self._orders["shard_games"]:
                self._write()
        self._credit = min(self._credit, 1.0) if not self._numbers else self._credit

    def _write(self) -> None:
        """A file with the numbers of the finished games, told as a shard."""
        if not self._finished:
            return
        name = f"{self._orders['prefix']}-{self._shards:06d}.npz"
        data = npz_of("numbers", self._finished)
        (Path(self._orders["games_folder"]) / name).write_bytes(data)
        entry = entry_of(name, hashlib.sha256(data).hexdigest(), self._finished)
        self._shards += 1
        self._finished = []
        self._send("shard", entry=entry)

    def _tell(self) -> None:
        unstarted = sum(end - first for first, end in self._numbers)
        self._asked_at = time.monotonic()
        now = self._asked_at
        counters = statistics_of(self._games)
        self._send("stats", time_s=now, games=self._games, unstarted=unstarted, **counters)

    def _leave_word(self, **more: float) -> None:
        said = self._seen | {"answers_s": self._answers} | more
        Path(self._orders["word"]).write_text(json.dumps(said))

    def _send(self, kind: str, **values: Any) -> None:
        data = json.dumps({"kind": kind} | values).encode()
        try:
            self._connection.sendall(struct.pack("!i", len(data)) + data)
        except OSError:
            self._stage = DONE


def statistics_of(games: int) -> dict[str, Any]:
    """Statistics of the size that a real worker tells after an hour."""
    positions = games * PLIES
    return {
        "batches": games,
        "full_batches": games,
        "slot_steps": 4096 * games,
        "positions": positions,
        "busy_ns": positions * 1000,
        "host_ns": positions * 300,
        "steps": {str(steps): positions // 4 for steps in range(1, 5)},
        "queue_age": {str(bucket): positions // 40 for bucket in range(60, 100)},
        "search": {"simulations": 0, "cache_hits": 0, "cache_probes": 0},
        "plies": positions,
        "mover_busy_ns": positions * 500,
        "movers": 4,
        "slots": 4096,
        "seated": 8192,
        "game_bytes": 8192 * 6000,
    }


def entry_of(name: str, sha256: str, numbers: list[int]) -> dict[str, Any]:
    """A line of the manifest, of the size that lines have."""
    games, steps, end = len(numbers), list[int](), 0
    for number in sorted(numbers):
        if not steps or number > end:
            steps += [number - end, 0]
        steps[-1] += 1
        end = number + 1
    stats = {
        "games": games,
        "plies": games * PLIES,
        "draws": games,
        "terminations": {"ply_cap": games},
        "lengths": {str(length): games // 16 for length in range(0, 512, 32)},
        "time_steps": {str(steps): games * PLIES // 4 for steps in range(1, 5)},
    }
    return {"file": name, "sha256": sha256, "games": steps, "stats": stats}


def npz_of(name: str, numbers: list[int]) -> bytes:
    """An npz file with one array, int64[G]."""
    facts = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({len(numbers)},), }}"
    header = facts.ljust(117) + "\n"
    data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr(f"{name}.npy", data + array("q", numbers).tobytes())
    return buffer.getvalue()


def _receive(connection: socket.socket) -> dict[str, Any] | None:
    """One message of multiprocessing's pipes; None once the other end is gone."""
    head = _exactly(connection, 4)
    data = None if head is None else _exactly(connection, struct.unpack("!i", head)[0])
    return None if data is None else json.loads(data)


def _exactly(connection: socket.socket, size: int) -> bytes | None:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            return None
        data += part
    return data


def _shared_words(path: Path) -> Any:
    """int64[2] in a file that the parent looks at."""
    with path.open("r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), 16)).cast("q")


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    chosen = json.loads(sys.argv[1])
    SimulatedWorker(chosen, socket.socket(fileno=int(sys.argv[2]))).run()
