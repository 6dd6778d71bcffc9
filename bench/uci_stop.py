"""How long ``vecchess uci`` takes from ``stop`` to ``bestmove``, from ``isready`` to ``readyok``.

    python bench/uci_stop.py --net base --times 100

Stops an infinite search at a random moment, again and again, in different positions. Times are
those a GUI sees, pipes included, in ms. One JSON object on stdout.
"""

import argparse
import json
import random
import statistics
import sys
from time import monotonic, sleep

from vecchess.runtime.engines.engine_pipe import EnginePipe
from vecchess.uci.tasks import BENCH_FENS


def milliseconds(engine: EnginePipe, line: str, answer: str) -> float:
    """From a line to the answer that begins so."""
    start = monotonic()
    engine.send(line)
    engine.read_until(answer, None)
    return 1000 * (monotonic() - start)


def summary(times: list[float]) -> dict[str, float]:
    """Median, 99th percentile and the longest."""
    ordered = sorted(times)
    last = ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
    values = {"median": statistics.median(ordered), "p99": last, "longest": ordered[-1]}
    return {name: round(value, 2) for name, value in values.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--net", default="material")
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    engine = EnginePipe([sys.executable, "-m", "vecchess_cli.main", "uci", "--net", options.net])
    opening = milliseconds(engine, "isready", "readyok")
    stops, readies = [], []
    for number in range(options.times):
        engine.send(f"position fen {BENCH_FENS[number % len(BENCH_FENS)]}")
        engine.send("go infinite")
        sleep(chance.uniform(0.0, 0.5))
        readies.append(milliseconds(engine, "isready", "readyok"))
        stops.append(milliseconds(engine, "stop", "bestmove"))
    engine.close()
    facts = {"schema": 1, "net": options.net, "times": options.times, "first_ready": round(opening)}
    print(json.dumps(facts | {"stop_ms": summary(stops), "isready_ms": summary(readies)}))


if __name__ == "__main__":
    main()
