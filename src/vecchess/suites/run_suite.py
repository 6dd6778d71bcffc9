"""One player after another sits a suite: many of its positions at a time, each in a game."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from vecchess.arena.match.play_match import play_games
from vecchess.arena.match.run_match import open_players
from vecchess.arena.match_game import MatchGame
from vecchess.arena.player_protocol import Player
from vecchess.chess.game_arrays import Games
from vecchess.config import Adjudication, MatchConfig
from vecchess.suites.suite_result import SuiteResult, share_ratio

SCHEMA = 1


class Suite(Protocol):
    """Positions, and what counts in the games that begin at them."""

    games: Games
    """At their start, the examined player to move."""
    facts: dict[str, Any]
    """What identifies the suite, for JSON."""

    def opponent(self, seed: int) -> Player | None:
        """The other side; None where each game is one move."""
        ...

    def is_hit(self, game: MatchGame) -> bool:
        """Whether the player found the move, or won."""
        ...

    def result(self, player: str, games: list[MatchGame]) -> SuiteResult:
        """What the player did in all games, in the order of the positions."""
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
    total = suite.games.num_games
    config = config.model_copy(update={"games": 2 * total, "adjudication": Adjudication()})
    even = range(0, 2 * total, 2)  # in games of even numbers the first player begins
    for text in players:
        found, hits = list[MatchGame](), list[MatchGame]()

        def note(
            ended: list[MatchGame],
            _: int,
            text: str = text,
            found: list[MatchGame] = found,
            hits: list[MatchGame] = hits,
        ) -> bool:
            found += ended
            hits += filter(suite.is_hit, ended)
            on_progress(SuiteProgress(text, len(found), total, len(hits)))
            return False

        with open_players([text], config) as (player,):
            opponent = suite.opponent(config.seed) or player
            play_games(player, opponent, config, even, note, suite.games)
        yield suite.result(text, sorted(found, key=lambda game: game.number))


def suite_facts(suite: Suite, results: list[SuiteResult]) -> dict[str, Any]:
    """The results of several players for JSON; all but the first are compared with the first."""
    players = [result.to_dict() for result in results]
    for facts, result in zip(players[1:], results[1:], strict=True):
        facts |= share_ratio(results[0], result)
    return {"schema": SCHEMA, **suite.facts, "positions": suite.games.num_games, "players": players}
