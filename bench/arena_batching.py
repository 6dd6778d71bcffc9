"""What batching is worth in the arena: many games at a time against one game after another.

    python bench/arena_batching.py --net tiny                  400 games at a time, 8 alone, 3 turns
    python bench/arena_batching.py --net FILE --sims 32 --games 400 --alone 20 --turns 5

Both are matches of a network against itself, in one process, by the same code: with a lane for each
game, and with one lane. They take turns; the first, which compiles, does not count. Prints one JSON
object: plies a second of either (games differ in length), the ratio of each turn, their median.
"""

import argparse
import json
import statistics
import sys

from vecchess.arena.match.run_match import run_match
from vecchess.config import MatchConfig
from vecchess.errors import VecchessError

SCHEMA = 1


def main() -> int:
    """Play in turns, print; returns the exit code."""
    options = _options()
    _plies_per_s(options, 2, 2)  # compiles
    together, alone = [], []
    for _ in range(options.turns):
        together.append(_plies_per_s(options, options.games, options.games))
        alone.append(_plies_per_s(options, options.alone, 1))
    ratios = [one / other for one, other in zip(together, alone, strict=True)]
    report = {
        "schema": SCHEMA,
        "net": options.net,
        "search": options.search,
        "sims": options.sims,
        "games": options.games,
        "games_alone": options.alone,
        "threads": options.threads,
        "plies_per_s": [round(speed, 1) for speed in together],
        "plies_per_s_alone": [round(speed, 1) for speed in alone],
        "ratios": [round(ratio, 2) for ratio in ratios],
        "ratio": round(statistics.median(ratios), 2),
    }
    print(json.dumps(report))
    return 0


def _plies_per_s(options: argparse.Namespace, games: int, lanes: int) -> float:
    player = f"net:{options.net}"
    if options.search != "none":
        player += f"?search={options.search}&sims={options.sims}&cache_mb={options.cache_mb}"
    settings = MatchConfig(
        games=games,
        concurrency=lanes,
        seed=options.seed,
        random_plies=options.random_plies,
        max_plies=options.max_plies,
        gpus=options.gpus,
        threads=options.threads,
    )
    result = run_match(player, player, settings)
    return result.plies / result.seconds


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--net", default="tiny", help="file or preset")
    parser.add_argument("--search", choices=("none", "gumbel", "puct"), default="gumbel")
    parser.add_argument("--sims", type=int, default=32)
    parser.add_argument("--games", type=int, default=400, help="at a time")
    parser.add_argument("--alone", type=int, default=8, help="games one after another")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--gpus", default="cpu")
    parser.add_argument("--threads", type=int, default=0, help="of either network; 0 shares out")
    parser.add_argument("--cache-mb", type=int, default=64, help="of evaluations, each network")
    parser.add_argument("--random-plies", type=int, default=6)
    parser.add_argument("--max-plies", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except VecchessError as error:
        print(f"arena_batching: error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
