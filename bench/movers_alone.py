"""What queue, slots and engine cost: self-play with the constant network, and movers alone.

    python bench/movers_alone.py                          128 slots, 20 seconds
    python bench/movers_alone.py --slots 4096 --seconds 60

Both take turns in one process; prints one JSON object with plies/s and their ratio. The lone mover
has its requests answered with zeros, at once.
"""

import argparse
import json
from statistics import median
from time import perf_counter

from vecchess.bench.throughput import (
    ENDLESS,
    SETTLE_PLIES,
    SETTLE_S,
    keep_to_cores,
    settle,
    turn_for,
)
from vecchess.config import CONSTANT_NET, SelfplayConfig
from vecchess.inference.requests import Requests
from vecchess.runtime.devices import CPU, share_out
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.selfplay.games.mover import Mover
from vecchess.selfplay.games.server import SelfplayServer
from vecchess.selfplay.supervisor.worker_throughput import throughput_between
from vecchess.selfplay.worker.setup import build_server
from vecchess.store.id_set import IdSet

ROUNDS = 5


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--slots", type=int, default=128)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--cores", type=int, default=1, help="keep to so many; 0: all")
    options = parser.parse_args()
    keep_to_cores(options.cores)
    config = SelfplayConfig(net=CONSTANT_NET, slots=options.slots)
    pool = GameIdPool()
    pool.add(IdSet([(0, ENDLESS)]))
    server = build_server(config, CONSTANT_NET, CPU, share_out(config, [CPU], ENDLESS), pool)
    server.start()
    print(json.dumps({"schema": 1, "slots": options.slots} | compare(server, options.seconds)))
    server.close()


def compare(server: SelfplayServer, seconds: float) -> dict[str, float]:
    """Speeds of the whole machinery, and in turns of the same movers alone."""
    whole, alone, mover = [], [], lone_mover(server)
    settle(server)
    while mover.plies < SETTLE_PLIES * len(mover.rows):
        play_alone(mover, SETTLE_S)
    for _ in range(ROUNDS):
        first, last, spent = turn_for(server, seconds / ROUNDS / 2)
        whole.append(throughput_between(first, last, spent).plies_per_s)
        alone.append(play_alone(mover, seconds / ROUNDS / 2))
    ratios = [one / other for one, other in zip(whole, alone, strict=True)]
    return {
        "plies_per_s": round(median(whole)),
        "movers_alone_plies_per_s": round(median(alone)),
        "ratio_to_movers_alone": round(median(ratios), 4),
    }


def lone_mover(server: SelfplayServer) -> Mover:
    """A mover like the server's first; its requests are answered with zeros."""
    num_games = len(server.movers[0].rows)
    requests = Requests.empty(num_games, server.requests.planes.shape[1])
    requests.steps[:] = 1
    return Mover(server.movers[0].rules, CONSTANT_NET, requests, server.pool)


def play_alone(mover: Mover, seconds: float) -> float:
    """Plies/s of one mover whose requests are answered at once."""
    plies, start = mover.plies, perf_counter()
    while (spent := perf_counter() - start) < seconds:
        mover.play(mover.rows)
        mover.take_finished()
    return (mover.plies - plies) / spent


if __name__ == "__main__":
    main()
