"""The networks of a run, or of several in turn, rated on one scale: the curve of its strength."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from vecchess.arena.ratings.ratings import EloDifference
from vecchess.config import MatchConfig
from vecchess.errors import ConfigError
from vecchess.evaluate.checkpoints import Checkpoint, run_digest
from vecchess.evaluate.eval_progress import EvalProgress
from vecchess.evaluate.evaluation import EvaluationReport
from vecchess.evaluate.pairing import Pairing
from vecchess.evaluate.participant import Participant, network_spelling
from vecchess.evaluate.result_cache import ResultCache
from vecchess.evaluate.run_eval import evaluate
from vecchess.runtime.signals import StopSignals

DISTANCES = (1, 2, 4)
"""How far back the networks are that a network plays. Games grow with the number of networks, not
with its square, and a few links reach far enough that errors do not add up along the chain."""


@dataclass(frozen=True)
class RatedCheckpoint:
    """A network on the curve."""

    checkpoint: Checkpoint
    rating: EloDifference
    """Above the anchor."""
    gain: EloDifference
    """Above the network before; 0 for the first. Its error is smaller than those of the ratings
    would say, for both move together."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        rating, gain = self.rating.to_dict(), self.gain.to_dict()
        return {
            "player": self.rating.first,
            **self.checkpoint.to_dict(),
            **{name: rating[name] for name in ("elo", "elo_low", "elo_high")},
            "gain": gain["elo"],
            "gain_low": gain["elo_low"],
            "gain_high": gain["elo_high"],
            "los": gain["los"],
        }


@dataclass(frozen=True)
class RatingHistory:
    """The networks of a run, rated together with the lower part of the ladder."""

    run: Path
    """The last of them, where several go on from each other."""
    checkpoints: tuple[Checkpoint, ...]
    """The networks of the rated participants, in their order."""
    evaluation: EvaluationReport
    is_by_cost: bool = False
    """The networks were chosen by their cost, and did not play each other."""

    @property
    def curve(self) -> list[RatedCheckpoint]:
        """The networks that played, in order. Raises ConfigError where none did."""
        ratings, found = self.evaluation.ratings, list[RatedCheckpoint]()
        for one, checkpoint in zip(self.evaluation.participants, self.checkpoints, strict=False):
            if one.name in ratings.players:
                before = found[-1].rating.first if found else one.name
                rating, gain = ratings.rating(one.name), ratings.difference(one.name, before)
                found.append(RatedCheckpoint(checkpoint, rating, gain))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: those of an evaluation, and the curve."""
        curve = [point.to_dict() for point in self.curve]
        if self.is_by_cost:
            for point, facts in zip(self.curve, curve, strict=True):
                sha256 = point.checkpoint.source.load().sha256
                run = point.checkpoint.file.parent.parent
                facts |= {"sha256": sha256, "run_digest": run_digest(run)}
        return self.evaluation.to_dict() | {"run": str(self.run), "curve": curve}

    @property
    def has_results(self) -> bool:
        """Whether a pair of games was finished."""
        return self.evaluation.has_results

    def tables(self) -> dict[str, Any]:
        """What people read of it: the curve, and the ladder it is measured by."""
        hidden = ("file", "positions", "cost")
        points = [(point.checkpoint.cost, point.to_dict()) for point in self.curve]
        curve = [
            {key: value for key, value in facts.items() if key not in hidden}
            | ({cost.unit: cost.hours} if cost else {})
            for cost, facts in points
        ]
        whole, own = self.evaluation.tables(), {facts["player"] for facts in curve}
        ladder = [row for row in whole["ratings"] if row["player"] not in own]
        hidden = ("ratings", "scores", "milestones")
        rest = {name: value for name, value in whole.items() if name not in hidden}
        return {"networks": curve, "ladder": ladder, **rest}


def rate_history(
    run: Path,
    checkpoints: Sequence[Checkpoint],
    query: tuple[str | None, int | None],
    against: Sequence[str],
    config: MatchConfig,
    cache: ResultCache,
    observer: EvalProgress,
    stop: StopSignals | None = None,
    is_by_cost: bool = False,
) -> RatingHistory:
    """Rate networks by games against ``against``, and against those 1, 2 and 4 before them unless
    ``is_by_cost``.

    query: search and simulations of the networks, None for what is not given. Networks that are
    the same to the bit count once. Raises what ``evaluate`` does.
    """
    by_spelling = {network_spelling(one.source.text, *query): one for one in checkpoints}

    def pairings(
        own: Sequence[Participant], rungs: Sequence[Participant], config: MatchConfig
    ) -> list[Pairing]:
        if len(own) < 2:
            raise ConfigError(f"the networks of {run} are all the same: there is no history")
        return schedule(own, rungs, config, () if is_by_cost else DISTANCES)

    report = evaluate([*by_spelling], against, config, cache, observer, stop, pairings)
    kept = tuple(by_spelling[one.spelling] for one in report.participants[: report.num_rated])
    return RatingHistory(run, kept, report, is_by_cost)


def schedule(
    own: Sequence[Participant],
    rungs: Sequence[Participant],
    config: MatchConfig,
    distances: Sequence[int] = DISTANCES,
) -> list[Pairing]:
    """All pairings, each network after those before it: an early end leaves a shorter curve."""
    pairs = list(pairwise(rungs))
    for place, one in enumerate(own):
        pairs += [(one, rung) for rung in rungs]
        pairs += [(own[place - back], one) for back in distances if back <= place]
    return [Pairing.of(one, other, config) for one, other in pairs]
