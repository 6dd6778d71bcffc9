"""Two participants that play each other: all that decides their games, and the result.

Decisions 141 and 143 (pairings by content, results that are reused).
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from secrets import token_hex
from typing import Annotated, Any, Self

import pydantic
from pydantic import Field, TypeAdapter, model_validator

from vecchess.arena.match.match_openings import FURTHER_PLIES, SHIPPED
from vecchess.arena.match.play_match import MatchResult
from vecchess.arena.players.player_registry import is_network
from vecchess.arena.ratings.pair_results import Count, PairCounts
from vecchess.config import MatchConfig
from vecchess.errors import ConfigError
from vecchess.evaluate.participant import Participant

TOKEN_DIGITS = 24
RULES = ("chess960", "random_plies", "max_plies", "adjudication")
"""Settings of a match that decide its games, besides openings, seed and number."""

Figure = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]


@dataclass(frozen=True)
class Pairing:
    """Games between two participants. Their order does not depend on that of the spellings: a
    network comes before others, then the identity decides."""

    first: Participant
    second: Participant
    config: MatchConfig

    @classmethod
    def of(cls, one: Participant, other: Participant, config: MatchConfig) -> "Pairing":
        """The pairing of two participants; ``config`` is that of all pairings.

        Each pairing gets its own order of openings, so that their results are independent."""
        first, second = sorted((one, other), key=_rank)
        text = json.dumps([config.seed, first.identity, second.identity])
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1
        return cls(first, second, config.model_copy(update={"seed": seed}))

    @property
    def token(self) -> str:
        """A hash of all that decides the games but their number: of two results with one token the
        smaller is part of the larger, where both players repeat their games."""
        rules = self.config.model_dump(mode="json", include=set(RULES))
        facts = [
            self.first.identity,
            self.second.identity,
            self.config.seed,
            openings_digest(self.config),
            rules | {"further_plies": FURTHER_PLIES},
        ]
        text = json.dumps(facts, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:TOKEN_DIGITS]

    @property
    def is_repeatable(self) -> bool:
        """Whether playing it again gives the same games."""
        return self.first.is_repeatable and self.second.is_repeatable


def _rank(participant: Participant) -> tuple[bool, str]:
    return not is_network(participant.identity), participant.identity


def openings_digest(config: MatchConfig) -> str:
    """A hash of the start positions that ``config`` names; raises ConfigError where they cannot
    be read."""
    if config.chess960 or (config.random_plies and config.openings is None):
        return ""
    return _digest_of(None if config.openings is None else str(config.openings))


@cache
def _digest_of(file: str | None) -> str:
    try:
        if file is None:
            data = files("vecchess.arena").joinpath(SHIPPED).read_bytes()
        else:
            with open(file, "rb") as opened:
                data = opened.read()
    except OSError as error:
        raise ConfigError(f"cannot read the openings {file}: {error.strerror}") from None
    return hashlib.sha256(data).hexdigest()[:TOKEN_DIGITS]


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True)
class PairResult(PairCounts):
    """Results of two participants, named by their identities, from the view of the first.

    At least one pair of games.
    """

    token: str
    """The pairing's; a random one where playing again would give other games."""
    distinct_games: Count
    distinct_openings: Count
    mean_plies: Figure
    seconds: Figure
    is_complete: bool
    """False where it was ended early."""

    @model_validator(mode="after")
    def _has_pairs(self) -> Self:
        if not self.ptnml or not self.games:
            raise ValueError("it has no pairs of games")
        return self

    @classmethod
    def of(cls, pairing: Pairing, result: MatchResult) -> "PairResult":
        """The result of a match."""
        facts, score = result.counter.facts(), result.score
        return cls(
            pairing.first.identity, pairing.second.identity,
            score.wins, score.draws, score.losses, score.ptnml,
            token=pairing.token if pairing.is_repeatable else token_hex(TOKEN_DIGITS // 2),
            distinct_games=facts["distinct_games"],
            distinct_openings=facts["distinct_openings"],
            mean_plies=facts["mean_plies"],
            seconds=round(result.seconds, 2),
            is_complete=result.stopped_by == "games",
        )  # fmt: skip

    @classmethod
    def from_dict(cls, values: Any) -> "PairResult":
        """The inverse of ``to_dict``; raises ValueError for anything else."""
        return TypeAdapter(cls).validate_python(values)

    @property
    def players(self) -> frozenset[str]:
        """Identities of both."""
        return frozenset((self.first, self.second))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the score they make."""
        return asdict(self) | self.score.to_dict() | {"games": self.games}


def unique_results(results: Iterable[PairResult]) -> list[PairResult]:
    """The result with the most games for each token, which includes the others."""
    found: dict[str, PairResult] = {}
    for result in results:
        known = found.get(result.token)
        if known is None or known.games < result.games:
            found[result.token] = result
    return list(found.values())


def joint_counts(results: Iterable[PairResult], identity: str, other: str) -> PairCounts | None:
    """All games of ``identity`` against ``other``, from its view; None where there are none."""
    both, total = frozenset((identity, other)), None
    for result in results:
        if result.players == both:
            counts = result if identity == result.first else result.exchanged()
            total = total.joined(counts) if total else counts
    return total
