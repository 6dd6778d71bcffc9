"""From spellings to an evaluation: what ``vecchess eval NET`` does."""

from collections.abc import Sequence

from vecchess.arena.match.match_openings import match_openings
from vecchess.config import MatchConfig
from vecchess.errors import ConfigError
from vecchess.evaluate.evaluation import Evaluation
from vecchess.evaluate.participant import Contender, distinct, introduce
from vecchess.evaluate.result_cache import Notebook
from vecchess.evaluate.tournament import Watcher, each_against, play_pairings
from vecchess.runtime.signals import StopSignals


def evaluate(
    rated: Sequence[str],
    against: Sequence[str],
    config: MatchConfig,
    notebook: Notebook,
    watcher: Watcher,
    stop: StopSignals | None = None,
) -> Evaluation:
    """Play those that are ``rated`` against each other and the opponents, all by their spellings.

    ``config`` is that of each pair's match. What was played so far is what counts once somebody
    asks to stop. Raises ConfigError and NetworkError for who cannot play, before anything is
    played.
    """
    match_openings(config)
    contenders = introduced([*rated, *against], config)
    num_rated = len({one.identity for one in contenders if one.spelling in rated})
    ladder = contenders[num_rated:]
    if len(contenders) < 2:
        raise ConfigError(f"{contenders[0].name} would play itself: name an --against")
    pairings = each_against(contenders[:num_rated], ladder, config)
    played = play_pairings(pairings, config.seed, notebook, watcher, stop or StopSignals())
    return Evaluation(tuple(contenders), num_rated, tuple(played))


def introduced(spellings: Sequence[str], config: MatchConfig) -> list[Contender]:
    """Who these are, each once, in their order."""
    return distinct(
        introduce(spelling, config.seed, config.gpus, config.backend) for spelling in spellings
    )
