"""Evaluations: participants from their spellings, pairings played one after the other, a report."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import combinations, pairwise

from vecchess.arena.match.match_openings import match_openings
from vecchess.arena.match.play_match import MatchProgress, NoPairFinished, play_match
from vecchess.arena.match.run_match import open_players, resources_for
from vecchess.config import MatchConfig
from vecchess.errors import ConfigError
from vecchess.evaluate.eval_progress import EvalProgress
from vecchess.evaluate.evaluation import EvaluationReport
from vecchess.evaluate.pairing import Pairing, PairResult
from vecchess.evaluate.participant import Participant, distinct_participants, identify
from vecchess.evaluate.result_cache import ResultCache
from vecchess.runtime.signals import OnSignal, Stopped, StopSignals

Schedule = Callable[[Sequence[Participant], Sequence[Participant], MatchConfig], list[Pairing]]
"""All pairings of the rated participants and their opponents."""


def each_against(
    rated: Sequence[Participant], ladder: Sequence[Participant], config: MatchConfig
) -> list[Pairing]:
    """All pairings: each rated player plays the ladder and the other rated ones; each rung of the
    ladder plays the next, so that the ladder alone is connected by games as well."""
    known = {one.identity for one in rated}
    rungs = [one for one in ladder if one.identity not in known]
    pairs = [(one, rung) for one in rated for rung in rungs]
    pairs += [*combinations(rated, 2), *pairwise(rungs)]
    return [Pairing.of(one, other, config) for one, other in pairs]


def evaluate(
    rated: Sequence[str],
    against: Sequence[str],
    config: MatchConfig,
    cache: ResultCache,
    observer: EvalProgress,
    stop: StopSignals | None = None,
    schedule: Schedule = each_against,
) -> EvaluationReport:
    """Play the ``rated`` players against each other and the opponents, all by their spellings.

    ``config`` is that of each pair's match. Once ``stop`` has a reason, the report is made of what
    was played so far. Raises ConfigError and NetworkError for players that cannot play, before
    anything is played.
    """
    match_openings(config)
    participants = identify_all([*rated, *against], config)
    num_rated = len({one.identity for one in participants if one.spelling in rated})
    if len(participants) < 2:
        raise ConfigError(f"{participants[0].name} would play itself: name an --against")
    pairings = schedule(participants[:num_rated], participants[num_rated:], config)
    played = play_pairings(pairings, config.seed, cache, observer, stop or StopSignals())
    return EvaluationReport(tuple(participants), num_rated, tuple(played))


def identify_all(spellings: Sequence[str], config: MatchConfig) -> list[Participant]:
    """The participants that ``spellings`` mean, each once, in their order."""
    return distinct_participants(
        identify(spelling, config.seed, config.gpus, config.backend) for spelling in spellings
    )


def play_pairings(
    pairings: Sequence[Pairing],
    seed: int,
    cache: ResultCache,
    observer: EvalProgress,
    stop: StopSignals,
) -> list[PairResult]:
    """The results of ``pairings``, in their order; fewer once ``stop`` has a reason.

    Results that the cache has are not played again. seed: of the players. The last result may be
    of a pairing that was stopped; players that are being opened are not waited for. Raises what a
    player raises.
    """
    stop.set_action(OnSignal.SET_FLAG)
    results: list[PairResult] = []
    for number, pairing in enumerate(pairings, 1):
        if stop.reason:
            break
        observer.begin_pairing(pairing, number, len(pairings))
        result = cache.recall(pairing)
        is_recalled = result is not None
        if result is None:
            result = _play(pairing, seed, observer, stop)
            if result is None:
                break
            cache.keep(pairing, result)
        results.append(result)
        observer.end_pairing(result, is_recalled)
    return results


def _play(
    pairing: Pairing, seed: int, observer: EvalProgress, stop: StopSignals
) -> PairResult | None:
    """The result of one match; None where it was stopped before a pair of games was over."""

    def must_stop(progress: MatchProgress) -> bool:
        observer.show_match(progress)
        return bool(stop.reason)

    texts = [pairing.first.spelling, pairing.second.spelling]
    resources = resources_for(texts, pairing.config)
    with ExitStack() as stack:
        try:
            with stop.interrupting():
                first, second = stack.enter_context(open_players(texts, seed, resources))
            return PairResult.of(pairing, play_match(first, second, pairing.config, must_stop))
        except (NoPairFinished, Stopped):
            return None
