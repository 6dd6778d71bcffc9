"""Plays one pairing after the other; what was played before is not played again."""

from collections.abc import Sequence
from contextlib import ExitStack
from itertools import combinations, pairwise
from typing import Protocol

from vecchess.arena.match.play_match import MatchProgress, NoPairFinished, play_match
from vecchess.arena.match.run_match import open_players
from vecchess.config import MatchConfig
from vecchess.evaluate.pair_result import PairResult
from vecchess.evaluate.pairing import Pairing
from vecchess.evaluate.participant import Participant
from vecchess.evaluate.result_cache import ResultCache
from vecchess.runtime.signals import OnSignal, Stopped, StopSignals


class PairingObserver(Protocol):
    """Looks on while pairings are played."""

    def begin(self, pairing: Pairing, number: int, total: int) -> None:
        """A pairing is next, the ``number``-th, from 1, of ``total``."""
        ...

    def update(self, standing: MatchProgress) -> None:
        """Where its match stands, several times a second."""
        ...

    def end(self, encounter: PairResult, is_recalled: bool) -> None:
        """What it came to; ``is_recalled`` where it had been played before."""
        ...


def play_pairings(
    pairings: Sequence[Pairing],
    seed: int,
    notebook: ResultCache,
    watcher: PairingObserver,
    stop: StopSignals,
) -> list[PairResult]:
    """What each of ``pairings`` came to, in their order; fewer where somebody asks to stop.

    seed: of the players. What was played of the pairing that is stopped is the last; players that
    are being opened are not waited for. Raises what a player raises.
    """
    stop.set_action(OnSignal.SET_FLAG)
    found: list[PairResult] = []
    for number, pairing in enumerate(pairings, 1):
        if stop.reason:
            break
        watcher.begin(pairing, number, len(pairings))
        encounter = notebook.recall(pairing)
        is_recalled = encounter is not None
        if encounter is None:
            encounter = _play(pairing, seed, watcher, stop)
            if encounter is None:
                break
            notebook.keep(pairing, encounter)
        found.append(encounter)
        watcher.end(encounter, is_recalled)
    return found


def _play(
    pairing: Pairing, seed: int, watcher: PairingObserver, stop: StopSignals
) -> PairResult | None:
    """None where it was stopped before a pair of games was over."""

    def look(standing: MatchProgress) -> bool:
        watcher.update(standing)
        return bool(stop.reason)

    texts = [pairing.first.spelling, pairing.second.spelling]
    players_config = pairing.config.model_copy(update={"seed": seed})
    with ExitStack() as stack:
        try:
            with stop.interrupting():
                first, second = stack.enter_context(open_players(texts, players_config))
            return PairResult.of(pairing, play_match(first, second, pairing.config, look))
        except (NoPairFinished, Stopped):
            return None


def each_against(
    rated: Sequence[Participant], ladder: Sequence[Participant], config: MatchConfig
) -> list[Pairing]:
    """Who plays whom: each that is rated plays the ladder and the others that are rated; the
    ladder's rungs play those next to them, so that it hangs together by itself as well."""
    known = {one.identity for one in rated}
    rungs = [one for one in ladder if one.identity not in known]
    whom = [(one, rung) for one in rated for rung in rungs]
    whom += [*combinations(rated, 2), *pairwise(rungs)]
    return [Pairing.of(one, other, config) for one, other in whom]
