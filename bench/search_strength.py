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

import numpy as np

from vecchess.arena.match.play_match import DEFAULT_CONCURRENCY, play_match
from vecchess.arena.player_protocol import MoveRequests, choose_moves
from vecchess.arena.players.network_player import SearchPlayer
from vecchess.bench.search import open_evaluator
from vecchess.bench.throughput import keep_to_cores
from vecchess.chess.chess960 import start_positions
from vecchess.chess.game_arrays import Games
from vecchess.config import MatchConfig, TreeConfig, build
from vecchess.errors import VecchessError
from vecchess.inference.open_network import OpenNetwork

NEGATIVE = 3


def main() -> int:
    """Play, count, print; returns the exit code."""
    options = _options()
    keep_to_cores(options.cores)
    lanes = min(options.games, DEFAULT_CONCURRENCY)
    judges = [  # two: the sides think at the same time
        open_evaluator(options.net, lanes, options.gpus, seed=options.seed) for _ in range(2)
    ]
    trees = zip(_trees(options), judges, strict=True)
    sides = [_side(tree, judge, lanes, options) for tree, judge in trees]
    settings = MatchConfig(
        games=options.games,
        seed=options.seed,
        random_plies=options.opening_plies,
        max_plies=options.max_plies,
    )
    one = MoveRequests.of(Games.at(start_positions(1), options.max_plies), *np.zeros((2, 1), int))
    for side in sides:  # compiles
        choose_moves(side, one)
        side.simulations = 0
    result = play_match(sides[0], sides[1], settings)
    simulations = [side.simulations for side in sides]
    report = {
        "net": options.net,
        "device": judges[0].device.label,
        "noise": options.noise,
        "searches": [side.name for side in sides],
        **result.to_dict(),
        "plies": result.plies,
        "simulations": simulations,
        "simulations_per_s": round(sum(simulations) / result.seconds),
    }
    print(json.dumps(report))
    least = 1 / (1 + 10 ** (-options.least / 400))
    return 0 if result.score.score > least else NEGATIVE


def _trees(options: argparse.Namespace) -> list[TreeConfig]:
    """Settings of either side."""
    common = {"cache_mb": options.cache_mb} | dict(options.set)
    kinds = (options.search, options.sims), (options.against_search, options.against)
    return [
        build(TreeConfig, common | {"search": search or options.search, "sims": sims})
        for search, sims in kinds
    ]


def _side(
    tree: TreeConfig, judge: OpenNetwork, games: int, options: argparse.Namespace
) -> SearchPlayer:
    temperature = options.temperature
    if temperature is None:
        temperature = 1.0 if tree.search == "gumbel" else 0.0
    name = f"{tree.search} {tree.sims}"
    return SearchPlayer(
        tree,
        judge.backend,
        max_games=games,
        seed=options.seed,
        temperature=temperature,
        explore=options.noise,
        name=name,
        num_planes=judge.num_planes,
    )


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
