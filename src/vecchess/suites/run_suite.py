"""One player after another sits a suite: many of its positions at a time, each in a game."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from vecchess.arena.match.play_match import play_games
from vecchess.arena.match.run_match import open_players, resources_for
from vecchess.arena.match_game import MatchGame
from vecchess.arena.player_protocol import Player
from vecchess.chess.game_arrays import Games
from vecchess.config import Adjudication, MatchConfig
from vecchess.suites.suite_result import Figure, SuiteResult, share_ratio

SCHEMA = 1


class Suite(Protocol):
    """Positions, and what counts in the games that begin at them."""

    games: Games
    """At their start, the examined player to move."""
    facts: dict[str, Any]
    """What identifies the suite, for JSON."""
    groups: list[str]
    """Of each position, "" for none."""

    def opponent(self, seed: int) -> Player | None:
        """The other side; None where each game is one move."""
        ...

    def is_hit(self, game: MatchGame) -> bool:
        """Whether the player found the move, or won."""
        ...

    def figures(self, games: list[MatchGame]) -> Mapping[str, Figure]:
        """Numbers by name of what the player did in all games, in the order of the positions."""
        ...


@dataclass(frozen=True)
class SuiteProgress:
    """How far a player has come."""

    player: str
    done: int
    total: int
    hits: int


OnSuiteProgress = Callable[[SuiteProgress], object]
"""Called several times a second."""


def run_suite(
    players: list[str],
    suite: Suite,
    config: MatchConfig,
    on_progress: OnSuiteProgress = lambda _: None,
) -> Iterator[SuiteResult]:
    """Yield the result of each of ``players``, spelled as for a match, one after another.

    Of ``config`` counts what concerns players: seed, concurrency, device, backend and threads.
    Raises ConfigError and NetworkError for a player that cannot be used, and what a player raises.
    """
    games = 2 * suite.games.num_games
    config = config.model_copy(update={"games": games, "adjudication": Adjudication()})
    for text in players:
        yield _sit(text, suite, config, on_progress)


def _sit(text: str, suite: Suite, config: MatchConfig, on_progress: OnSuiteProgress) -> SuiteResult:
    """The result of one player."""
    found, hits = list[MatchGame](), list[MatchGame]()

    def note(ended: list[MatchGame], _: int) -> bool:
        found.extend(ended)
        hits.extend(filter(suite.is_hit, ended))
        on_progress(SuiteProgress(text, len(found), suite.games.num_games, len(hits)))
        return False

    even = range(0, config.games, 2)  # in games of even numbers the first player begins
    with open_players([text], config.seed, resources_for([text], config)) as (player,):
        opponent = suite.opponent(config.seed) or player
        play_games(player, opponent, config, even, note, suite.games)
    games = sorted(found, key=lambda game: game.number)
    return SuiteResult(
        text,
        np.array([suite.is_hit(game) for game in games]),
        suite.figures(games),
        suite.groups,
        sum(game.is_forfeit for game in games),
    )


def suite_facts(suite: Suite, results: list[SuiteResult]) -> dict[str, Any]:
    """The results of several players for JSON; all but the first are compared with the first."""
    players = [result.to_dict() for result in results]
    for facts, result in zip(players[1:], results[1:], strict=True):
        facts |= share_ratio(results[0], result)
    return {"schema": SCHEMA, **suite.facts, "positions": suite.games.num_games, "players": players}
