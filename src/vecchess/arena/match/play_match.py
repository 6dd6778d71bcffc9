"""Matches: every opening played twice, colours exchanged, many games at the same time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from vecchess.arena.match.game_scheduler import GameScheduler
from vecchess.arena.match.match_openings import match_openings
from vecchess.arena.match.pair_counter import PairCounter
from vecchess.arena.match_game import MatchGame
from vecchess.arena.player_protocol import Player
from vecchess.arena.ratings.score import Score
from vecchess.arena.ratings.sprt import Sprt
from vecchess.chess.game_arrays import Games
from vecchess.config import MatchConfig
from vecchess.errors import VecchessError

SCHEMA = 1
DEFAULT_CONCURRENCY = 256
"""Games at a time where it is not set and the players take any number."""


@dataclass(frozen=True)
class MatchProgress:
    """How far a match has come."""

    counter: PairCounter
    ended: list[MatchGame]
    """Since the last report."""
    num_games: int
    """To be played, at most."""
    plies: int
    seconds: float


MatchObserver = Callable[[MatchProgress], bool]
"""Called several times a second; True ends the match."""


@dataclass(frozen=True)
class MatchResult:
    """The outcome of a match, from the view of the first player."""

    players: tuple[str, str]
    score: Score
    counter: PairCounter
    stopped_by: str
    """ "games" where all were played, "sprt", or "user"."""
    plies: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "schema": SCHEMA,
            "players": list(self.players),
            **self.score.to_dict(),
            **self.counter.facts(),
            "stopped_by": self.stopped_by,
            "seconds": round(self.seconds, 2),
            "plies_per_s": round(self.plies / max(self.seconds, 1e-9), 1),
        }


class NoPairFinished(VecchessError):  # noqa: N818  (the name says what happened)
    """The match was ended before a pair of games was complete."""


def play_match(
    first: Player,
    second: Player,
    config: MatchConfig,
    observer: MatchObserver = lambda progress: False,
) -> MatchResult:
    """Play the games of ``config`` between two players, which may be one and the same.

    Raises ConfigError for openings or adjudication that cannot be used, NoPairFinished where it is
    ended before there is a result, and what a player raises.
    """
    counter = PairCounter(Sprt.parse(config.sprt) if config.sprt else None)
    start, stopped_by = monotonic(), "games"

    def must_end(ended: list[MatchGame], plies: int) -> bool:
        nonlocal stopped_by
        counter.add(ended)
        if observer(MatchProgress(counter, ended, config.games, plies, monotonic() - start)):
            stopped_by = "user"
        elif counter.is_decided:
            stopped_by = "sprt"
        return stopped_by != "games"

    plies = play_games(first, second, config, range(config.games), must_end)
    return match_result((first.name, second.name), counter, stopped_by, plies, monotonic() - start)


def play_games(
    first: Player,
    second: Player,
    config: MatchConfig,
    numbers: Sequence[int],
    must_end: Callable[[list[MatchGame], int], bool],
    openings: Games | None = None,
) -> int:
    """Play the games of a match with these ``numbers``; returns the plies made.

    openings: those of ``config`` by default. ``must_end`` gets the games that ended and the plies
    made so far, several times a second, and returns True to end the others. Raises ConfigError for
    openings or adjudication that cannot be used, and what a player raises.
    """
    openings = match_openings(config) if openings is None else openings
    slots = num_concurrent(config, first, second)
    scheduler = GameScheduler((first, second), openings, numbers, slots, config.adjudication)
    try:
        for ended in scheduler.games():
            if must_end(ended, scheduler.plies):
                break
    finally:
        scheduler.close()
    return scheduler.plies


def match_result(
    names: tuple[str, str], counter: PairCounter, stopped_by: str, plies: int, seconds: float
) -> MatchResult:
    """The result of the games that ``counter`` has; all its complete pairs count now.

    Raises NoPairFinished where there are none.
    """
    counter.add_rest()
    if counter.score is None:
        raise NoPairFinished("the match was ended before two games of an opening were over")
    return MatchResult(names, counter.score, counter, stopped_by, plies, seconds)


def num_concurrent(config: MatchConfig, *players: Player) -> int:
    """Games at a time: as ``config`` sets it or its default, at most what each player takes."""
    limits = [player.max_games for player in players if player.max_games is not None]
    wanted = config.concurrency or max([DEFAULT_CONCURRENCY, *limits])
    return min([wanted, config.games, *limits])
