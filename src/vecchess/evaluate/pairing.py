"""Two participants that are to play each other, and all that decides their games.

Decisions 141 and 143.
"""

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from vecchess.arena.match.match_openings import SHIPPED
from vecchess.arena.players.player_registry import is_network
from vecchess.config import MatchConfig
from vecchess.errors import ConfigError
from vecchess.evaluate.participant import Participant

TOKEN_DIGITS = 24
RULES = ("chess960", "random_plies", "max_plies", "adjudication")
"""Settings of a match that decide its games, besides openings, seed and number."""


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
            rules,
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
