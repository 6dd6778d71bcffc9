"""Tune constants of a search by SPSA: simultaneous perturbation stochastic approximation.

    python bench/tune_search.py --player "net:default?search=puct&sims=64" \\
        --tune c_puct=1.4,0.3 --tune policy_temperature=1.3,0.2 --tune fpu_reduction=0.33,0.1

Each round moves every constant by its step, up or down at random, and plays the player with these
against the one with the opposite signs (Spall 1992). Then a constant goes the way of the winner: by
``--rate`` of its step for each game that the winner is ahead. Steps shrink as (round + 1)^-0.101,
the rate as (rounds / 10 + round + 1)^-0.602, as in Stockfish's tests. A constant below 0 plays as
0. Prints a line for each round to stderr, then one JSON object: all rounds, the constants at the
end, and their average over the last half, which scatters less; Ctrl-C ends it after the last whole
round. Runs with other seeds may go on beside each other, a core each, and their results be
averaged.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from vecchess.arena.match.play_match import play_match
from vecchess.arena.players.player_registry import open_player
from vecchess.config import MatchConfig, build
from vecchess.errors import VecchessError

STEP_DECAY, RATE_DECAY = 0.101, 0.602


@dataclass(frozen=True)
class Constant:
    """A setting of the search that is tuned."""

    name: str
    start: float
    step: float

    @classmethod
    def parse(cls, text: str) -> "Constant":
        """``NAME=START,STEP``, both numbers, the step above 0."""
        name, _, numbers = text.partition("=")
        try:
            start, step = map(float, numbers.split(","))
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text} is not NAME=START,STEP") from None
        if not name or step <= 0:
            raise argparse.ArgumentTypeError(f"{text} is not NAME=START,STEP with a step above 0")
        return cls(name, start, step)


def main() -> int:
    """Play, move, print; returns the exit code."""
    options = _options()
    constants: list[Constant] = options.tune
    rounds: list[dict[str, Any]] = []
    try:
        for row in _rounds(options):
            rounds.append(row)
            said = f"{len(rounds)}/{options.rounds} {row['lead']:+.1f} {row['constants']}"
            print(said, file=sys.stderr)
    except KeyboardInterrupt:
        if not rounds:
            return 130
    halves = np.array([row["constants"] for row in rounds[len(rounds) // 2 :]])
    names = [constant.name for constant in constants]
    report = {
        "player": options.player,
        "games": len(rounds) * options.games,
        "seed": options.seed,
        "start": dict(zip(names, [constant.start for constant in constants], strict=True)),
        "end": dict(zip(names, rounds[-1]["constants"], strict=True)),
        "average_of_last_half": dict(zip(names, _rounded(halves.mean(0)), strict=True)),
        "rounds": rounds,
    }
    print(json.dumps(report))
    return 0


def _rounds(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Play the rounds; each has its signs, how many games plus is ahead, and the constants then."""
    values = np.array([constant.start for constant in options.tune])
    steps = np.array([constant.step for constant in options.tune])
    signs = np.random.default_rng(options.seed)
    first = options.rounds / 10 + 1
    for number in range(options.rounds):
        step = steps * (number + 1) ** -STEP_DECAY
        rate = options.rate * ((first + number) / first) ** -RATE_DECAY
        sign = signs.choice([-1.0, 1.0], len(steps))
        lead = _lead(options, number, values + step * sign, values - step * sign)
        values = values + rate * lead * step * sign
        yield {"signs": sign.tolist(), "lead": lead, "constants": _rounded(values)}


def _lead(
    options: argparse.Namespace, number: int, ups: np.ndarray[Any, Any], downs: np.ndarray[Any, Any]
) -> float:
    """Play a round; returns by how many games the player with ``ups``, float64[K], is ahead."""
    seed = options.seed << 20 | number
    texts = [_player(options, values) for values in (ups, downs)]
    players = [open_player(text, seed) for text in texts]
    try:
        settings = build(MatchConfig, {"games": options.games, "seed": seed})
        score = play_match(*players, settings).score
    finally:
        for player in players:
            player.close()
    return (2 * score.score - 1) * options.games


def _player(options: argparse.Namespace, values: np.ndarray[Any, Any]) -> str:
    settings = [
        f"{constant.name}={max(value, 0):.5g}"
        for constant, value in zip(options.tune, values, strict=True)
    ]
    return "&".join([options.player, *settings])


def _rounded(values: np.ndarray[Any, Any]) -> list[float]:
    return [round(float(value), 4) for value in values]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--player", required=True, help="with a search; settings are added to it")
    parser.add_argument("--tune", type=Constant.parse, action="append", required=True,
                        metavar="NAME=START,STEP", help="any number of times")  # fmt: skip
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--games", type=int, default=200, help="of a round, an even number")
    parser.add_argument("--rate", type=float, default=0.01, help="of the first round")
    parser.add_argument("--seed", type=int, default=0, help="of signs, openings and draws")
    options = parser.parse_args()
    if "?" not in options.player:
        parser.error("--player needs a search: net:default?search=puct&sims=64")
    if options.rounds < 1 or options.games < 2 or options.games % 2:
        parser.error("--rounds must be 1 or more, --games even and 2 or more")
    if options.seed < 0:
        parser.error("--seed must be 0 or more")
    return options


if __name__ == "__main__":
    try:
        sys.exit(main())
    except VecchessError as error:
        print(f"tune_search: error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
