"""Matches: every opening played twice, colours exchanged, all games at the same time."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.arena.boards import Boards, random_openings
from vecchess.arena.player import Player
from vecchess.arena.score import Score
from vecchess.chess.rules import Termination
from vecchess.errors import ConfigError

RANDOM_PLIES = 6
MAX_PLIES = 512


@dataclass(frozen=True)
class MatchResult:
    """How a match went, from the view of the first player."""

    score: Score
    distinct_games: int
    mean_plies: float
    """Plies a game, the opening's included."""
    terminations: dict[str, int]
    """Games by ``Termination`` name, lower case."""

    @classmethod
    def of(cls, boards: Boards, random_plies: int) -> "MatchResult":
        """Read the games of ``play_games``, which began after so many plies."""
        return cls(
            score=Score.of(points_of_first(boards, random_plies)),
            distinct_games=np.unique(boards.moves, axis=1).shape[1],
            mean_plies=float(boards.plies.mean()),
            terminations={
                kind.name.lower(): int((boards.codes == kind).sum())
                for kind in Termination
                if kind in boards.codes
            },
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "games": sum(self.terminations.values()),
            **self.score.to_dict(),
            "distinct_games": self.distinct_games,
            "mean_plies": round(self.mean_plies, 2),
            "terminations": self.terminations,
        }


def play_match(
    first: Player,
    second: Player,
    num_games: int,
    seed: int = 0,
    random_plies: int = RANDOM_PLIES,
    max_plies: int = MAX_PLIES,
) -> MatchResult:
    """Play ``num_games``, an even number, in pairs that share a random opening.

    seed: of the openings, all of which differ. Games longer than ``max_plies`` are drawn. Raises
    ConfigError for numbers that will not do.
    """
    if num_games < 2 or num_games % 2:
        raise ConfigError(f"a match of {num_games} games: they are played in pairs, give 2, 4, ...")
    if not 0 <= random_plies < max_plies:
        raise ConfigError(
            f"openings of {random_plies} random plies need 0 or more, and fewer than the "
            f"{max_plies} plies of the longest game"
        )
    openings = random_openings(num_games // 2, random_plies, seed, max_plies)
    return MatchResult.of(play_games((first, second), openings), random_plies)


def play_games(players: tuple[Player, Player], openings: Boards) -> Boards:
    """Play each opening twice; returns the games, G = 2 * openings.

    The first player has the first move in games of even number, the second in the others.
    """
    boards = openings.take(np.repeat(np.arange(len(openings.codes)), 2))
    start = boards.plies.copy()
    while len(games := boards.ongoing):
        mover = (games + boards.plies[games] - start[games]) % 2
        for number, player in enumerate(players):
            own = games[mover == number]
            if len(own):
                state = boards.positions[own], boards.keys[own], boards.past[own]
                boards.play(own, player.choose(*state, own, boards.plies[own]))
    return boards


def points_of_first(boards: Boards, random_plies: int) -> NDArray[np.float64]:
    """1, 1/2 or 0 for the first player of ``play_games``, float64[G]."""
    white, games = boards.points_of_white(), np.arange(len(boards.codes))
    return np.where((games + random_plies) % 2 == 0, white, 1 - white)
