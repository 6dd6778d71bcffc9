"""Matches: every opening played twice, colours exchanged, many games at the same time."""

from collections.abc import Callable
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
from vecchess.config import MatchConfig
from vecchess.errors import VecchessError

SCHEMA = 1
DEFAULT_CONCURRENCY = 256
"""Games at a time where nobody says and the players can do with any number."""


@dataclass(frozen=True)
class MatchProgress:
    """Where a match stands, for whoever looks on."""

    tally: PairCounter
    ended: list[MatchGame]
    """Since the last look."""
    num_games: int
    """To be played, at most."""
    plies: int
    seconds: float


MatchObserver = Callable[[MatchProgress], bool]
"""Looks on, several times a second; True ends the match."""


@dataclass(frozen=True)
class MatchResult:
    """How a match went, from the view of the first player."""

    players: tuple[str, str]
    score: Score
    tally: PairCounter
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
            **self.tally.facts(),
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
    look: MatchObserver = lambda standing: False,
) -> MatchResult:
    """Play the games of ``config`` between two players, who may be one and the same.

    Raises ConfigError for openings or adjudication that will not do, NoGames where it is ended
    before anything can be said, and what a player raises.
    """
    tally = PairCounter(Sprt.parse(config.sprt) if config.sprt else None)
    lanes = num_lanes(config, first, second)
    start, stopped_by = monotonic(), "games"
    openings = match_openings(config)
    table = GameScheduler((first, second), openings, config.games, lanes, config.adjudication)
    try:
        for ended in table.games():
            tally.add(ended)
            spent = monotonic() - start
            if look(MatchProgress(tally, ended, config.games, table.plies, spent)):
                stopped_by = "user"
            elif tally.is_decided:
                stopped_by = "sprt"
            if stopped_by != "games":
                break
    finally:
        table.close()
    tally.add_rest()
    if tally.score is None:
        raise NoPairFinished("the match was ended before two games of an opening were over")
    names = (first.name, second.name)
    return MatchResult(names, tally.score, tally, stopped_by, table.plies, monotonic() - start)


def num_lanes(config: MatchConfig, *players: Player) -> int:
    """Games at a time: what ``config`` says or suits, and no more than each player can do with."""
    limits = [player.max_games for player in players if player.max_games is not None]
    return min([config.concurrency or max([DEFAULT_CONCURRENCY, *limits]), config.games, *limits])
