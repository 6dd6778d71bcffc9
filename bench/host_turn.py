"""What a turn of the central loop costs the host beside a GPU: the backend's own code over a stub.

    PYTHONPATH=. python bench/host_turn.py                  4,096 slots, 4 movers, every step taken
    PYTHONPATH=. python bench/host_turn.py --mean-steps 2.5 --search gumbel --movers 8
    PYTHONPATH=. python bench/host_turn.py --search puct --sims 200 --movers 8 --sleep-us 9

Real movers play real games; the stub answers them at random after as many steps as the network
takes, one step late as a GPU does, so that 4,096 slots and T = 4 make 819 rows a turn. Times are
processor time of the loop's thread, without the stub's: the same on a busy machine. CUDA's own
calls are missing (Triton's launches, copies, events: 0.1 to 0.15 ms by estimate). Prints one JSON
object: microseconds a turn, in all and by part; those of the mover threads together; rows a turn.

With ``--sleep-us`` movers sleep so long for each row in place of searching. So any number of them
works beside each other on two cores, and ``rows_per_s`` shows what waiting for the GIL costs.
"""

import argparse
import ctypes
import json
import os
from collections.abc import Callable
from time import perf_counter, process_time, thread_time
from typing import Any

os.environ.setdefault("TRITON_INTERPRET", "1")

import numpy as np
import torch
from numpy.typing import NDArray

from vecchess.config import SelfplayConfig
from vecchess.inference.cuda import backend as cuda_backend
from vecchess.inference.cuda import streams
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.selfplay.games.mover import Mover
from vecchess.selfplay.games.search_mover import SearchMover
from vecchess.selfplay.games.server import SelfplayServer
from vecchess.selfplay.worker.random_requests import random_requests
from vecchess.selfplay.worker.setup import mover_factory
from vecchess.snn.initialise import new_network
from vecchess.snn.integer.integer_net import ExitRule
from vecchess.snn.presets import NetConfig
from vecchess.store.id_set import IdSet

SCHEMA = 1
ENDLESS = 1 << 40
SIZES = NetConfig(num_planes=25, blocks=1, channels=32, time_steps=4)
"""Sizes of the network: the host's work depends on its planes alone."""
PARTS = {
    "start_games": ("server", "_start_games"),
    "collect": ("server", "_collect"),
    "admit": ("engine", "_admit"),
    "advance": ("backend", "advance"),
    "harvest": ("engine", "_harvest"),
    "dispatch": ("server", "_dispatch_answers"),
}


class StubDevice:
    """In place of ``Launches``: positions leave after 2 or T steps, with answers made up before."""

    mean_steps = float(SIZES.time_steps)
    seconds = 0.0
    """Processor time of all stubs, which is none of the host's."""

    def __init__(
        self, config: NetConfig, state: Any, weights: Any, rule: Any, answers: Any
    ) -> None:
        num_slots, rng = len(state.busy), np.random.default_rng(0)
        self._busy, self._left = np.zeros(num_slots, bool), np.zeros(num_slots, np.int64)
        self._step, self._rng, self._config = 0, rng, config
        self._settled, self._steps = answers.settled_at.numpy(), answers.steps.numpy()
        answers.policy.copy_(torch.randint(-30_000, 30_000, answers.policy.shape))
        answers.wdl.copy_(torch.randint(-3_000, 3_000, answers.wdl.shape))
        self._is_open = False

    def admit(self, staged: torch.Tensor, count: int) -> None:
        """Seat ``count`` questions."""
        if not self._is_open:  # the backend compiles
            return
        start, most = thread_time(), self._config.time_steps
        slots = staged[:count].view(torch.int32)[:, -2].numpy()
        is_early = self._rng.random(count) < (most - self.mean_steps) / (most - 2)
        self._left[slots] = self._steps[slots] = np.where(is_early, 2, most)
        self._busy[slots] = True
        StubDevice.seconds += thread_time() - start

    def step(self, tile: object) -> None:
        """A time step of all busy slots; the first one only compiles."""
        start = thread_time()
        if self._is_open:
            self._step += 1
            self._left[self._busy] -= 1
            done = np.flatnonzero(self._busy & (self._left == 0))
            self._busy[done], self._settled[done] = False, self._step
        self._is_open = True
        StubDevice.seconds += thread_time() - start


def _stub_upload(self: object, buffer: int, target: torch.Tensor, source: torch.Tensor) -> None:
    """The device's copy, which the host does not wait for."""
    start = thread_time()
    target.copy_(source)
    StubDevice.seconds += thread_time() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--slots", type=int, default=4096)
    parser.add_argument("--movers", type=int, default=4)
    parser.add_argument("--mean-steps", type=float, default=float(SIZES.time_steps))
    parser.add_argument("--search", default="none")
    parser.add_argument("--sims", type=int, default=16)
    parser.add_argument("--sleep-us", type=float, default=0.0, help="a row; 0: movers search")
    parser.add_argument("--settle-turns", type=int, default=2500)
    parser.add_argument("--turns", type=int, default=1500)
    options = parser.parse_args()
    print(json.dumps({"schema": SCHEMA, **vars(options), **measured(options)}))


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """Microseconds a turn, after so many turns that games of all lengths are in progress."""
    torch.set_num_threads(1)
    StubDevice.mean_steps, StubDevice.seconds = options.mean_steps, 0.0
    cuda_backend.Launches = StubDevice  # type: ignore[assignment, misc]
    streams.Streams.upload = _stub_upload  # type: ignore[method-assign]
    server = _server(options)
    spent = dict.fromkeys(PARTS, 0.0)
    owners = {"server": server, "engine": server.engine, "backend": server.engine.backend}
    for part, (owner, method) in PARTS.items():
        setattr(owners[owner], method, _timed(getattr(owners[owner], method), part, spent))
    server.start()
    for _ in range(options.settle_turns):
        _turn(server)
    if options.sleep_us:
        for mover in server.movers:
            _let_sleep(mover, options.sleep_us)
    spent.update(dict.fromkeys(PARTS, 0.0))
    StubDevice.seconds, before = 0.0, server.to_message()
    loop, everything, wall = thread_time(), process_time(), perf_counter()
    for _ in range(options.turns):
        server.step() if options.sleep_us else _turn(server)
    loop, everything = thread_time() - loop, process_time() - everything
    wall, after, stub = perf_counter() - wall, server.to_message(), StubDevice.seconds
    server.close()

    def us(seconds: float) -> float:
        return round(1e6 * seconds / options.turns, 1)

    return {
        "rows_a_turn": round((after["positions"] - before["positions"]) / options.turns, 1),
        "host_us": us(loop - stub),
        "parts_us": {part: us(spent[part]) for part in PARTS},
        "stub_us": us(stub),
        "movers_us": us(everything - loop),
        "wall_us": us(wall),
        "rows_per_s": round((after["positions"] - before["positions"]) / wall),
    }


def _turn(server: SelfplayServer) -> None:
    """A turn with a row for every free slot, as on a device that takes its time."""
    slots = server.engine.slots
    while slots.num_waiting + slots.num_occupied < slots.num_slots and any(
        thread.num_pending for thread in server._threads
    ):
        server._collect(wait=True)
    server.step()


def _let_sleep(mover: Mover, us_a_row: float) -> None:
    """Have a mover's searches take so long, without the GIL, and ask for the same rows again."""
    assert isinstance(mover, SearchMover)
    sleep, take_requests = ctypes.CDLL(None).usleep, mover.forest.take_requests
    asked: list[NDArray[np.int32]] = []

    def search(rows: NDArray[Any]) -> NDArray[np.int64]:
        asked.append(rows.astype(np.int32))
        sleep(int(us_a_row * len(rows)))
        return np.empty(0, np.int64)

    mover.forest.search = search  # type: ignore[method-assign]
    mover.forest.take_requests = (  # type: ignore[method-assign]
        lambda: asked.pop() if asked else take_requests()
    )


def _timed(function: Callable[..., Any], part: str, spent: dict[str, float]) -> Callable[..., Any]:
    """``function``, whose processor time without the stub's is added to ``spent``."""

    def timed(*given: Any, **named: Any) -> Any:
        start, stub = thread_time(), StubDevice.seconds
        result = function(*given, **named)
        spent[part] += thread_time() - start - (StubDevice.seconds - stub)
        return result

    return timed


def _server(options: argparse.Namespace) -> SelfplayServer:
    """Self-play over the stub, with games that never run out."""
    slots, movers = options.slots, options.movers
    planes = random_requests(16, 1).planes
    net = new_network(SIZES, 0, planes)
    backend = cuda_backend.CudaBackend(net, slots, ExitRule(), "cpu")
    backend.is_asynchronous = True
    sims = {} if options.search == "none" else {"sims": options.sims}
    tree = {"search": options.search, **sims}
    config = SelfplayConfig.model_validate({"slots": slots, "tree": tree})
    pool = GameIdPool()
    pool.add(IdSet([(0, ENDLESS)]))
    scales = backend.policy_scale, backend.value_scale
    make_mover = mover_factory(config, "stub", scales, backend.time_steps)
    return SelfplayServer(backend, make_mover, SIZES.num_planes, 2 * slots, movers, pool, net)


if __name__ == "__main__":
    main()
