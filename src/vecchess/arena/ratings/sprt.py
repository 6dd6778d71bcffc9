"""A sequential probability ratio test on pairs of games, to end a match as soon as it decides.

The generalised test of fishtest (``server/fishtest/stats/LLRcalc.py``) and fastchess: how much
likelier the pairs are under the likeliest distribution with the score that ``elo1`` means than
under the likeliest with that of ``elo0``. The theory: M. Van den Bergh,
https://www.cantate.be/Fishtest/support_MLE_multinomial.pdf, proposition 1.1; the bounds are Wald's
(1945). The test may be asked after every pair, or after several.

Decision 128.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite, log
from typing import Any, Literal

from vecchess.arena.ratings.score import expected_score
from vecchess.errors import ConfigError

FORM = "ELO0,ELO1 or ELO0,ELO1,ALPHA,BETA"
ERROR_RATE = 0.05
MOST_ELO = 1000.0
UNSEEN = 1e-3
"""Pairs of a kind that has not been seen, as fishtest and fastchess have it: the likeliest
distribution may need some."""
LEAST_SHARE = 1e-11
"""Least share of any kind of pairs: fewer are too near to nothing for float64."""

State = Literal["accepted", "rejected", "undecided"]


@dataclass(frozen=True)
class SprtResult:
    """The result of the test on the pairs so far."""

    llr: float
    """Log-likelihood ratio of ``elo1`` to ``elo0``."""
    bounds: tuple[float, float]
    """At or below the first it is rejected, at or above the second accepted."""
    state: State
    """What becomes of the claim that the difference is ``elo1`` rather than ``elo0``."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        bounds = [round(bound, 3) for bound in self.bounds]
        return {"llr": round(self.llr, 3), "bounds": bounds, "state": self.state}


@dataclass(frozen=True)
class Sprt:
    """A test of two differences in Elo on the usual, logistic scale.

    A difference of ``elo0`` or less is accepted as ``elo1`` with probability ``alpha`` at most, one
    of ``elo1`` or more rejected with ``beta``. Raises ConfigError for numbers that make no test.
    """

    elo0: float
    elo1: float
    alpha: float = ERROR_RATE
    beta: float = ERROR_RATE

    def __post_init__(self) -> None:
        if not -MOST_ELO <= self.elo0 < self.elo1 <= MOST_ELO:
            raise ConfigError(
                f"a test of {self.elo0:g} against {self.elo1:g} Elo: give ELO0 below ELO1, both "
                f"from {-MOST_ELO:g} to {MOST_ELO:g}"
            )
        for name, rate in ("alpha", self.alpha), ("beta", self.beta):
            if not 0 < rate < 0.5:
                raise ConfigError(f"{name} {rate:g} of a test: give a probability below 0.5")

    @classmethod
    def parse(cls, text: str) -> "Sprt":
        """The test that ``text`` spells: ``0,5,0.05,0.05``, or ``0,5`` for these error rates.

        Raises ConfigError.
        """
        try:
            numbers = [float(part) for part in text.split(",")]
        except ValueError:
            numbers = []
        if len(numbers) not in (2, 4) or not all(isfinite(number) for number in numbers):
            raise ConfigError(f"sprt {text!r} is no test: write {FORM}, for instance 0,5,0.05,0.05")
        return cls(*numbers)

    @property
    def bounds(self) -> tuple[float, float]:
        """Wald's bounds of the log-likelihood ratio."""
        return log(self.beta / (1 - self.alpha)), log((1 - self.beta) / self.alpha)

    def judge(self, ptnml: Sequence[int]) -> SprtResult:
        """The result for five numbers of pairs, by points 0, 1/2, 1, 1 1/2, 2."""
        llr, (low, high) = self.llr(ptnml), self.bounds
        state: State = "undecided"
        if llr <= low:
            state = "rejected"
        elif llr >= high:
            state = "accepted"
        return SprtResult(llr, (low, high), state)

    def llr(self, ptnml: Sequence[int]) -> float:
        """Log-likelihood ratio of ``elo1`` to ``elo0``, given the pairs."""
        least = max(UNSEEN, LEAST_SHARE * sum(ptnml))
        pairs = [max(count, least) for count in ptnml]
        low = _log_likelihood(pairs, expected_score(self.elo0))
        return _log_likelihood(pairs, expected_score(self.elo1)) - low


def _log_likelihood(pairs: list[float], score: float) -> float:
    """The log-likelihood of the pairs under the likeliest distribution whose mean is ``score``,
    against that of their own frequencies.

    That distribution is p / (1 + t a): p the frequencies, a the points less the score, and t what
    makes the mean right.
    """
    total, last = sum(pairs), len(pairs) - 1
    terms = [(count / total, number / last - score) for number, count in enumerate(pairs)]

    def excess(t: float) -> float:
        return sum(share * above / (1 + t * above) for share, above in terms)

    # t lies between the poles of the lowest and the highest points; so near to these one term
    # outweighs all others
    (least, lowest), (most, highest) = terms[0], terms[-1]
    near_high = most * highest / (highest - lowest) / 2
    near_low = -least * lowest / (highest - lowest) / 2
    left, right = (near_high - 1) / highest, (near_low - 1) / lowest
    t = _root(excess, left, right)
    return -total * sum(share * log(1 + t * above) for share, above in terms)


def _root(falling: Callable[[float], float], low: float, high: float) -> float:
    """The place between ``low`` and ``high`` where a falling function is 0, to the last digit."""
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return middle
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
