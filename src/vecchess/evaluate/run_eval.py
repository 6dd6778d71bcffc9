"""From spellings to an evaluation: what ``vecchess eval NET`` does."""

from collections.abc import Sequence

from vecchess.arena.match.match_openings import match_openings
from vecchess.config import MatchConfig
from vecchess.errors import ConfigError
from vecchess.evaluate.evaluation import EvaluationReport
from vecchess.evaluate.participant import Participant, distinct, identify
from vecchess.evaluate.result_cache import ResultCache
from vecchess.evaluate.tournament import PairingObserver, each_against, play_pairings
from vecchess.runtime.signals import StopSignals


def evaluate(
    rated: Sequence[str],
    against: Sequence[str],
    config: MatchConfig,
    notebook: ResultCache,
    watcher: PairingObserver,
    stop: StopSignals | None = None,
) -> EvaluationReport:
    """Play those that are ``rated`` against each other and the opponents, all by their spellings.

    ``config`` is that of each pair's match. What was played so far is what counts once somebody
    asks to stop. Raises ConfigError and NetworkError for who cannot play, before anything is
    played.
    """
    match_openings(config)
    contenders = identify_all([*rated, *against], config)
    num_rated = len({one.identity for one in contenders if one.spelling in rated})
    ladder = contenders[num_rated:]
    if len(contenders) < 2:
        raise ConfigError(f"{contenders[0].name} would play itself: name an --against")
    pairings = each_against(contenders[:num_rated], ladder, config)
    played = play_pairings(pairings, config.seed, notebook, watcher, stop or StopSignals())
    return EvaluationReport(tuple(contenders), num_rated, tuple(played))


def identify_all(spellings: Sequence[str], config: MatchConfig) -> list[Participant]:
    """Who these are, each once, in their order."""
    return distinct(
        identify(spelling, config.seed, config.gpus, config.backend) for spelling in spellings
    )
