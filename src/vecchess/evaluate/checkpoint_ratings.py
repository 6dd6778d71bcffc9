"""The networks of a run rated on one scale: the curve of its strength."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from vecchess.arena.match.match_openings import match_openings
from vecchess.arena.ratings.score import STANDARD_ERRORS
from vecchess.config import MatchConfig
from vecchess.errors import ConfigError
from vecchess.evaluate.checkpoints import Checkpoint
from vecchess.evaluate.evaluation import EvaluationReport
from vecchess.evaluate.pairing import Pairing
from vecchess.evaluate.participant import Participant, network_spelling
from vecchess.evaluate.result_cache import ResultCache
from vecchess.evaluate.run_eval import PairingObserver, identify_all, play_pairings
from vecchess.runtime.signals import StopSignals

DISTANCES = (1, 2, 4)
"""How far back the networks are that a network plays. Games grow with the number of networks, not
with its square, and a few links reach far enough that errors do not add up along the chain."""


@dataclass(frozen=True)
class RatedCheckpoint:
    """A network on the curve."""

    name: str
    checkpoint: Checkpoint
    elo: float
    low: float
    high: float
    """95 %, of the difference to the anchor."""
    gain: float
    """Elo above the network before; 0 for the first."""
    gain_error: float
    """Its standard error: smaller than those of the ratings would say, for both move together."""
    los: float
    """Likelihood that it is stronger than the network before, 0 to 1."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        width = STANDARD_ERRORS * self.gain_error
        return {
            "player": self.name,
            **self.checkpoint.to_dict(),
            "elo": round(self.elo, 1),
            "elo_low": round(self.low, 1),
            "elo_high": round(self.high, 1),
            "gain": round(self.gain, 1),
            "gain_low": round(self.gain - width, 1),
            "gain_high": round(self.gain + width, 1),
            "los": round(self.los, 4),
        }


@dataclass(frozen=True)
class RatingHistory:
    """The networks of a run, rated together with the lower part of the ladder."""

    run: Path
    checkpoints: tuple[Checkpoint, ...]
    """Of the rated participants, in their order."""
    evaluation: EvaluationReport

    @property
    def curve(self) -> list[RatedCheckpoint]:
        """The networks that played, in order. Raises ConfigError where none did."""
        ratings, found = self.evaluation.ratings, list[RatedCheckpoint]()
        errors, width = ratings.errors, STANDARD_ERRORS * ratings.standard_errors
        los = ratings.los
        before = None
        for participant, checkpoint in zip(
            self.evaluation.participants, self.checkpoints, strict=False
        ):
            if participant.name not in ratings.players:
                continue
            place = ratings.players.index(participant.name)
            before = place if before is None else before
            elo = float(ratings.elo[place])
            found.append(
                RatedCheckpoint(
                    name=participant.name,
                    checkpoint=checkpoint,
                    elo=elo,
                    low=elo - float(width[place]),
                    high=elo + float(width[place]),
                    gain=elo - float(ratings.elo[before]),
                    gain_error=float(errors[place, before]),
                    los=float(los[place, before]),
                )
            )
            before = place
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: those of an evaluation, and the curve."""
        curve = [point.to_dict() for point in self.curve]
        return self.evaluation.to_dict() | {"run": str(self.run), "curve": curve}


def rate_history(
    run: Path,
    checkpoints: Sequence[Checkpoint],
    query: tuple[str | None, int | None],
    against: Sequence[str],
    config: MatchConfig,
    cache: ResultCache,
    observer: PairingObserver,
    stop: StopSignals | None = None,
) -> RatingHistory:
    """Rate networks by games against those 1, 2 and 4 before them, and against ``against``.

    query: search and simulations of the networks, None for what is not given. Networks that are
    the same to the bit count once. Raises what ``evaluate`` does.
    """
    match_openings(config)
    by_spelling = {network_spelling(str(one.file), *query): one for one in checkpoints}
    participants = identify_all([*by_spelling, *against], config)
    own = [one for one in participants if one.spelling in by_spelling]
    if len(own) < 2:
        raise ConfigError(f"the networks of {run} are all the same: there is no history")
    pairings = schedule(own, participants[len(own) :], config)
    played = play_pairings(pairings, config.seed, cache, observer, stop or StopSignals())
    kept = tuple(by_spelling[one.spelling] for one in own)
    return RatingHistory(run, kept, EvaluationReport(tuple(participants), len(own), tuple(played)))


def schedule(
    own: Sequence[Participant], rungs: Sequence[Participant], config: MatchConfig
) -> list[Pairing]:
    """All pairings, each network after those before it: an early end leaves a shorter curve."""
    pairs = list(pairwise(rungs))
    for place, one in enumerate(own):
        pairs += [(one, rung) for rung in rungs]
        pairs += [(own[place - back], one) for back in DISTANCES if back <= place]
    return [Pairing.of(one, other, config) for one, other in pairs]
