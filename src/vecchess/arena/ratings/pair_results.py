"""Results of pairs of players, from which ratings are computed."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np
import pydantic
from numpy.typing import NDArray
from pydantic import Field, model_validator

from vecchess.arena.ratings.score import Score
from vecchess.errors import ConfigError

Count = Annotated[int, Field(strict=True, ge=0, le=1 << 40)]


@pydantic.dataclasses.dataclass(frozen=True)
class PairCounts:
    """Games between two players, from the view of the first. Counts that cannot be are a
    ValueError."""

    first: str
    second: str
    wins: Count
    draws: Count
    losses: Count
    ptnml: Annotated[tuple[Count, ...], Field(min_length=5, max_length=5)] | None = None
    """Pairs by points: 0, 1/2, 1, 1 1/2, 2, of all these games; None where they are single."""

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.first == self.second:
            raise ValueError(f"{self.first} cannot be rated by games against itself")
        if self.ptnml is not None:
            points = sum(number * count for number, count in enumerate(self.ptnml))
            games_of_pairs = 2 * sum(self.ptnml), 2 * self.wins + self.draws
            if games_of_pairs != (self.games, points):
                raise ValueError(f"pairs {self.ptnml} are not those of {self.games} games")
        return self

    @property
    def games(self) -> int:
        """All of them."""
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> Score:
        """The score of games played in pairs, at least one."""
        return Score.counted(self.wins, self.draws, self.losses, self.ptnml or ())

    @property
    def trials(self) -> NDArray[np.int64]:
        """Counts by points, from none to all: int64[5] pairs, or int64[3] games."""
        return np.array(self.ptnml or (self.losses, self.draws, self.wins), np.int64)

    def exchanged(self) -> "PairCounts":
        """These games from the view of the second player."""
        ptnml = self.ptnml and self.ptnml[::-1]
        return PairCounts(self.second, self.first, self.losses, self.draws, self.wins, ptnml)

    def joined(self, other: "PairCounts") -> "PairCounts":
        """All games of both, between the same players in the same order, alike in pairs."""
        ptnml = None
        if self.ptnml and other.ptnml:
            ptnml = tuple(map(sum, zip(self.ptnml, other.ptnml, strict=True)))
        summed = (self.wins + other.wins, self.draws + other.draws, self.losses + other.losses)
        return PairCounts(self.first, self.second, *summed, ptnml)


@dataclass(frozen=True)
class PairResults:
    """All results: one ``PairCounts`` for two players, or two if they also played single games."""

    players: tuple[str, ...]
    """Players in the order in which they are first named."""
    counts: tuple[PairCounts, ...]
    """The first player of each stands earlier among ``players`` than the second."""

    @classmethod
    def of(cls, all_counts: Iterable[PairCounts]) -> "PairResults":
        """Sum the counts of the same players.

        Raises ConfigError where there are no games, and where games do not connect all players.
        """
        played = [counts for counts in all_counts if counts.games]
        players = tuple(dict.fromkeys(name for m in played for name in (m.first, m.second)))
        if not played:
            raise ConfigError("there are no games to rate players by")
        place = {name: number for number, name in enumerate(players)}
        joined: dict[tuple[str, str, bool], PairCounts] = {}
        for counts in played:
            if place[counts.first] > place[counts.second]:
                counts = counts.exchanged()
            key = (counts.first, counts.second, counts.ptnml is None)
            joined[key] = joined[key].joined(counts) if key in joined else counts
        table = cls(players, tuple(joined.values()))
        table._check_connected()
        return table

    @property
    def sides(self) -> NDArray[np.int64]:
        """int64[M, 2]: indices of both players of each pair."""
        place = {name: number for number, name in enumerate(self.players)}
        return np.array([(place[m.first], place[m.second]) for m in self.counts], np.int64)

    def totals(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Games int64[P] and points float64[P] of each player."""
        games, points = np.zeros(len(self.players), np.int64), np.zeros(len(self.players))
        for (first, second), counts in zip(self.sides, self.counts, strict=True):
            games[[first, second]] += counts.games
            points[first] += counts.wins + counts.draws / 2
            points[second] += counts.losses + counts.draws / 2
        return games, points

    def _check_connected(self) -> None:
        first, second = self.sides.T
        groups, before = np.arange(len(self.players)), None
        while before is None or (groups != before).any():  # the least number of a group spreads
            before = groups.copy()
            least = np.minimum(groups[first], groups[second])
            np.minimum.at(groups, first, least)
            np.minimum.at(groups, second, least)
        apart = [name for name, group in zip(self.players, groups, strict=True) if group]
        if apart:
            raise ConfigError(
                f"no games connect {', '.join(apart)} with {self.players[0]}, not even through "
                "others: rate them apart, or have them play"
            )
