"""Whether the arena's statistics keep what they promise: simulated matches of known strength.

    python bench/arena_statistics.py                    1,000 repetitions of everything, a minute
    python bench/arena_statistics.py --repetitions 200

Games are drawn, White has an advantage, and openings that favour White or one of the players
correlate the games of a pair; expected scores are exactly those of the ratings. Prints one JSON
object:

    score    how often a match's interval covers the expected score, by "pairs,Elo"
    ratings  how often joint ratings' intervals cover the true differences, in a round robin
    sprt     how often tests accept what is not so, reject what is, and after how many pairs,
             by "elo0,elo1,alpha,beta"

Ends with exit code 3 where 95 % intervals cover less than 93 or more than 97 %, or a test errs more
often than it may. Scores may be covered more often: virtual variance widens the intervals of few
pairs. Tests are allowed three standard errors of their rates; below 1,000 repetitions intervals are
allowed four of theirs.
"""

import argparse
import json
import sys
from dataclasses import dataclass
from math import sqrt
from time import perf_counter
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from vecchess.arena.ratings.pair_results import PairCounts
from vecchess.arena.ratings.ratings import rate
from vecchess.arena.ratings.score import Score, expected_score
from vecchess.arena.ratings.sprt import Sprt

SCHEMA = 1
NEGATIVE = 3
COVERAGE = 0.95
TOLERANCE = 0.02
FULL = 1000
LOOK_AFTER = 8


@dataclass(frozen=True)
class World:
    """How games between equals go, in points a game; where one side is ahead, all but its lead
    shrinks to what room there is."""

    draws: float
    """Share of draws between equals, up to 0.5."""
    white: float
    """What White has more than half a point, on average."""
    opening: float
    """Standard deviation of that over openings."""
    taste: float
    """Standard deviation of how much better an opening suits one of the players in both games."""


WORLDS = {
    "quiet": World(draws=0.45, white=0.05, opening=0.05, taste=0.02),
    "sharp": World(draws=0.2, white=0.1, opening=0.25, taste=0.05),
    "alike": World(draws=0.1, white=0.05, opening=0.05, taste=0.3),
}


def points_of_pairs(
    score: float, shape: tuple[int, ...], world: World, rng: Generator
) -> NDArray[np.float64]:
    """float64[*shape, 2]: points of a player that expects ``score``, White in the first game."""
    room = min(score, 1 - score)
    white = world.white + world.opening * _swing(shape, rng)
    taste = world.taste * _swing(shape, rng)
    first = score + room * (white + taste)
    second = score + room * (taste - white)
    expected = np.stack([first, second], axis=-1)
    drawn = world.draws * 4 * expected * (1 - expected)
    fate = rng.random(expected.shape)
    return np.where(fate < drawn, 0.5, fate < drawn + expected - drawn / 2)


def _swing(shape: tuple[int, ...], rng: Generator) -> NDArray[np.float64]:
    """Symmetric about 0, standard deviation 1, never beyond 1.74."""
    return rng.uniform(-sqrt(3), sqrt(3), shape)


def cover_scores(repetitions: int, world: World, rng: Generator) -> dict[str, Any]:
    """How often the interval of a match covers the score that is expected."""
    rows = {}
    for pairs, difference in (20, 0), (100, 0), (100, 200), (400, 400):
        truth, hits = expected_score(difference), 0
        for points in points_of_pairs(truth, (repetitions, pairs), world, rng):
            low, high = Score.of(points.ravel()).interval
            hits += low <= truth <= high
        rows[f"{pairs},{difference}"] = round(hits / repetitions, 4)
    return rows


def cover_ratings(repetitions: int, world: World, rng: Generator) -> dict[str, Any]:
    """How often 95 % intervals of joint ratings cover the truth, anchor's and all differences."""
    truth = np.array([0.0, 60.0, 150.0, 300.0, 600.0])
    gaps = truth[:, None] - truth
    num = len(truth)
    upper = np.triu_indices(num, 1)
    pairs = {(i, j): 40 if gaps[j, i] < 250 else 100 for i, j in zip(*upper, strict=True)}
    drawn = {
        (i, j): points_of_pairs(expected_score(gaps[i, j]), (repetitions, many), world, rng)
        for (i, j), many in pairs.items()
    }
    names = ["random", *(f"player {number}" for number in range(1, num))]
    hits, error = np.zeros((num, num)), np.zeros((num, num))
    for trial in range(repetitions):
        found = rate(
            _counts(names[i], names[j], Score.of(points[trial].ravel()))
            for (i, j), points in drawn.items()
        )
        for i, j in np.ndindex(num, num):
            above = found.difference(names[i], names[j])
            hits[i, j] += above.low <= gaps[i, j] <= above.high
            error[i, j] += above.elo - gaps[i, j]
    return {
        "to_anchor": (hits[1:, 0] / repetitions).round(4).tolist(),
        "differences": (hits[upper] / repetitions).round(4).tolist(),
        "mean_error_elo": (error[1:, 0] / repetitions).round(1).tolist(),
    }


def _counts(first: str, second: str, score: Score) -> PairCounts:
    return PairCounts(first, second, score.wins, score.draws, score.losses, score.ptnml)


def err_in_tests(repetitions: int, world: World, rng: Generator) -> dict[str, Any]:
    """How often tests err where either claim is true, looked at after every eighth pair."""
    rows = {}
    for test in Sprt(0, 30), Sprt(-20, 20, 0.1, 0.02):
        ends = {
            elo: [_play_test(test, elo, world, rng) for _ in range(repetitions)]
            for elo in (test.elo0, test.elo1)
        }
        states = {elo: [state for state, _ in ends[elo]] for elo in ends}
        rows[f"{test.elo0:g},{test.elo1:g},{test.alpha:g},{test.beta:g}"] = {
            "alpha": round(states[test.elo0].count("accepted") / repetitions, 4),
            "beta": round(states[test.elo1].count("rejected") / repetitions, 4),
            "mean_pairs": [round(float(np.mean([n for _, n in ends[elo]]))) for elo in ends],
        }
    return rows


def _play_test(test: Sprt, elo: float, world: World, rng: Generator) -> tuple[str, int]:
    """How a test ended, and after how many pairs."""
    counts = np.zeros(5, np.int64)
    while True:
        points = points_of_pairs(expected_score(elo), (400,), world, rng).sum(axis=1)
        for part in (2 * points).astype(np.int64).reshape(-1, LOOK_AFTER):
            counts += np.bincount(part, minlength=5)
            state = test.judge(counts.tolist()).state
            if state != "undecided":
                return state, int(counts.sum())


def failures(report: dict[str, Any], repetitions: int) -> list[str]:
    """What is not as promised."""
    allowed = TOLERANCE if repetitions >= FULL else 4 * _standard_error(COVERAGE, repetitions)
    found = []
    for name, part in report.items():
        scores, ratings = part["score"].values(), part["ratings"]["differences"]
        off = [share for share in scores if share < COVERAGE - allowed]
        off += [share for share in ratings if abs(share - COVERAGE) > allowed]
        found += [f"{name}: {share} covered" for share in off]
        for text, row in part["sprt"].items():
            test = Sprt.parse(text)
            for kind, rate_ in ("alpha", test.alpha), ("beta", test.beta):
                if row[kind] > rate_ + 3 * _standard_error(rate_, repetitions):
                    found.append(f"{name}: {kind} {row[kind]} of {text}")
    return found


def _standard_error(share: float, repetitions: int) -> float:
    return sqrt(share * (1 - share) / repetitions)


def main() -> int:
    """Simulate, print; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repetitions", type=int, default=FULL, help="of each simulation")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.repetitions < 1:
        parser.error(f"--repetitions {options.repetitions}: give 1 or more")
    start, report = perf_counter(), {}
    for number, (name, world) in enumerate(WORLDS.items()):
        rng = np.random.default_rng((options.seed, number))
        report[name] = {
            "score": cover_scores(options.repetitions, world, rng),
            "ratings": cover_ratings(options.repetitions, world, rng),
            "sprt": err_in_tests(options.repetitions, world, rng),
        }
    wrong = failures(report, options.repetitions)
    facts = {"schema": SCHEMA, "repetitions": options.repetitions, "seed": options.seed}
    print(json.dumps(facts | report | {"failures": wrong}))
    print(f"{perf_counter() - start:.1f} s", file=sys.stderr)
    return NEGATIVE if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
