"""Whether more simulations play better: a match between two searches with the same evaluator.

    python bench/search_strength.py                     64 simulations against 1, 400 games
    python bench/search_strength.py --search puct --sims 800 --against 64 --net FILE

Each opening, a few random plies, is played twice, colours exchanged; all games go on at the same
time. Prints one JSON object: the score of the side with ``--sims``, and the difference in Elo with
its 95 % interval, from the variance of the pairs' scores. Ends with exit code 3 where the
difference is below ``--least``.

Searches have noise at the root as in self-play: an evaluator that likes all moves alike would
otherwise try them in one order, always the same, and Gumbel some of them never.
"""

import argparse
import json
import sys
from dataclasses import dataclass
from math import log10, sqrt
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.bench.boards import Boards, random_openings
from vecchess.bench.evaluators import Asked, open_evaluator
from vecchess.bench.throughput import keep_to_cores
from vecchess.chess.action import actions_to_moves
from vecchess.chess.rules import Termination
from vecchess.config import TreeConfig, build
from vecchess.errors import VecchessError
from vecchess.inference.backend import Backend
from vecchess.search.batch import BatchSearch

SCHEMA = 1
NEGATIVE = 3
STANDARD_ERRORS = 1.96
"""To either side: 95 % of a normal distribution."""


@dataclass(frozen=True)
class Side:
    """One of the two searches."""

    search: BatchSearch
    seed: int
    temperature: float
    explore: bool

    def compile(self, openings: Boards) -> None:
        """Move in one game."""
        games = np.zeros(1, np.int64)
        self.play(openings.take(games), games)

    def play(self, boards: Boards, games: NDArray[np.int64]) -> int:
        """Move in ``games``, int64[K]; returns the simulations it took."""
        if len(games) == 0:
            return 0
        found = self.search.run(
            boards.positions[games], boards.keys[games], seed=self.seed, numbers=games,
            plies=boards.plies[games], temperature=self.temperature, explore=self.explore,
        )  # fmt: skip
        boards.play(games, actions_to_moves(boards.positions[games], found.action))
        return int(found.visits.sum())


def play_match(sides: tuple[Side, Side], openings: Boards) -> tuple[Boards, list[int]]:
    """Play each opening twice, the first side to move in games of even number.

    Returns the games, G = 2 * openings, and the simulations of either side.
    """
    boards = openings.take(np.repeat(np.arange(len(openings.codes)), 2))
    start, simulations = boards.plies.copy(), [0, 0]
    while len(games := boards.ongoing):
        mover = (games + boards.plies[games] - start[games]) % 2
        for number, side in enumerate(sides):
            simulations[number] += side.play(boards, games[mover == number])
    return boards, simulations


def summary(points: NDArray[np.float64]) -> dict[str, Any]:
    """What the first side made of it; points: float64[G], the two games of a pair side by side."""
    pairs = points.reshape(-1, 2).sum(1)
    score = float(points.mean())
    error = STANDARD_ERRORS * sqrt(pairs.var() / 4 / len(pairs))
    return {
        "wins": int((points == 1).sum()),
        "draws": int((points == 0.5).sum()),
        "losses": int((points == 0).sum()),
        "pairs": np.bincount((2 * pairs).astype(np.int64), minlength=5).tolist(),
        "score": round(score, 4),
        "elo": elo(score),
        "elo_interval": [elo(score - error), elo(score + error)],
    }


def elo(score: float) -> float | None:
    """Difference in Elo that a score means; None for nothing and for everything."""
    return round(-400 * log10(1 / score - 1), 1) if 0 < score < 1 else None


def main() -> int:
    """Play, count, print; returns the exit code."""
    options = _options()
    keep_to_cores(options.cores)
    num_pairs = options.games // 2
    asked = Asked(options.net, num_pairs, options.gpus, seed=options.seed)
    device, backend = open_evaluator(asked)
    sides = [_side(tree, backend, num_pairs, options) for tree in _trees(options)]
    plies, most = options.opening_plies, options.max_plies
    openings = random_openings(num_pairs, plies, options.seed, most)
    for side in sides:
        side.compile(openings)
    start = perf_counter()
    boards, simulations = play_match((sides[0], sides[1]), openings)
    spent = perf_counter() - start
    white, games = boards.points_of_white(), np.arange(2 * num_pairs)
    points = np.where((games + plies) % 2 == 0, white, 1 - white)
    report = {
        "schema": SCHEMA,
        "net": options.net,
        "device": device,
        "noise": options.noise,
        "searches": [f"{side.search.config.search} {side.search.config.sims}" for side in sides],
        "games": len(games),
        **summary(points),
        "distinct_games": len(np.unique(boards.moves, axis=1).T),
        "terminations": _terminations(boards.codes),
        "plies": int((boards.plies - plies).sum()),
        "seconds": round(spent, 2),
        "simulations": simulations,
        "simulations_per_s": round(sum(simulations) / spent),
    }
    print(json.dumps(report))
    return 0 if points.mean() > 1 / (1 + 10 ** (-options.least / 400)) else NEGATIVE


def _terminations(codes: NDArray[np.uint8]) -> dict[str, int]:
    """How many games ended which way."""
    return {kind.name.lower(): int((codes == kind).sum()) for kind in Termination if kind in codes}


def _trees(options: argparse.Namespace) -> list[TreeConfig]:
    """Settings of either side."""
    common = {"cache_mb": options.cache_mb} | dict(options.set)
    kinds = (options.search, options.sims), (options.against_search, options.against)
    return [
        build(TreeConfig, common | {"search": search or options.search, "sims": sims})
        for search, sims in kinds
    ]


def _side(tree: TreeConfig, backend: Backend, games: int, options: argparse.Namespace) -> Side:
    temperature = options.temperature
    if temperature is None:
        temperature = 1.0 if tree.search == "gumbel" else 0.0
    return Side(BatchSearch(tree, backend, games), options.seed, temperature, options.noise)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    names = [name for name in TreeConfig.model_fields if name not in ("search", "sims")]
    if not equals or name not in names:
        raise argparse.ArgumentTypeError(f"{text} sets none of {', '.join(names)}")
    return name, value


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    kinds = ("gumbel", "puct")
    parser.add_argument("--games", type=int, default=400, help="an even number")
    parser.add_argument("--search", choices=kinds, default="gumbel", help="of both sides")
    parser.add_argument("--sims", type=int, default=64, help="simulations of the first side")
    parser.add_argument("--against", type=int, default=1, help="simulations of the other side")
    parser.add_argument("--against-search", choices=kinds, help="of the other side, if another")
    parser.add_argument("--net", default="material", help='file, preset, "material", "constant"')
    parser.add_argument("--gpus", default="cpu", help='as for "vecchess selfplay", one device')
    parser.add_argument("--opening-plies", type=int, default=6, help="random plies at the start")
    parser.add_argument("--max-plies", type=int, default=400, help="longer games are drawn")
    parser.add_argument(
        "--temperature", type=float, help="of Gumbel's noise [1], PUCT's choice [0]"
    )
    parser.add_argument("--no-noise", dest="noise", action="store_false", help="at the roots")
    parser.add_argument(
        "--set", type=_setting, action="append", default=[], metavar="NAME=VALUE",
        help="of both searches, any number: considered=32, draw_score=-0.2",
    )  # fmt: skip
    parser.add_argument("--cache-mb", type=int, default=64, help="evaluation cache of each side")
    parser.add_argument("--cores", type=int, default=0, help="keep to so many; 0: all")
    parser.add_argument("--seed", type=int, default=0, help="of openings and draws")
    parser.add_argument("--least", type=float, default=300.0, help="Elo that is expected")
    options = parser.parse_args()
    if options.games < 2 or options.games % 2:
        parser.error(f"--games {options.games}: games are played in pairs")
    if not 0 <= options.opening_plies < options.max_plies:
        parser.error("--opening-plies must be below --max-plies")
    return options


if __name__ == "__main__":
    try:
        sys.exit(main())
    except VecchessError as error:
        print(f"search_strength: error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
