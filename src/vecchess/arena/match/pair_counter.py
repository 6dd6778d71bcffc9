"""The score of a match while its games end in any order (decision 136)."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from vecchess.arena.match_game import MatchGame, ending_name
from vecchess.arena.ratings.score import Score
from vecchess.arena.ratings.sprt import Sprt, SprtResult


class PairCounter:
    """Counts pairs of games in the order of their numbers, as if they had been played so.

    A pair counts once all pairs before it are complete. So the decision of a test depends on the
    games alone, not on which was over first, and short games do not come before long ones.
    """

    def __init__(self, sprt: Sprt | None = None) -> None:
        """Counts all pairs; with ``sprt`` none after its decision."""
        self._sprt = sprt
        self._waiting: dict[int, MatchGame] = {}
        self.games: list[MatchGame] = []
        """Games that count, in order."""
        self.sprt: SprtResult | None = sprt.judge([0] * 5) if sprt else None
        self._ptnml = [0] * 5

    @property
    def num_ended(self) -> int:
        """Games that ended, whether they count yet or not."""
        return len(self.games) + len(self._waiting)

    @property
    def is_decided(self) -> bool:
        """Whether the test has accepted or rejected."""
        return self.sprt is not None and self.sprt.state != "undecided"

    def add(self, ended: Iterable[MatchGame]) -> None:
        """Add games that ended."""
        self._waiting |= {game.number: game for game in ended}
        while not self.is_decided and (pair := self._take_pair(len(self.games))):
            self.games += pair
            self._ptnml[round(2 * sum(game.first_points for game in pair))] += 1
            if self._sprt:
                self.sprt = self._sprt.judge(self._ptnml)

    def add_rest(self) -> None:
        """Count the other complete pairs in the score: no more games will come.

        They come before pairs that took longer, so the test does not look at them.
        """
        if not self.is_decided:
            for number in sorted(self._waiting):
                if number % 2 == 0:
                    self.games += self._take_pair(number)

    def _take_pair(self, number: int) -> list[MatchGame]:
        """The games ``number`` and the next; empty unless both wait."""
        both = (number, number + 1)
        if not all(one in self._waiting for one in both):
            return []
        return [self._waiting.pop(one) for one in both]

    @property
    def score(self) -> Score | None:
        """Score of the games that count; None before there are any."""
        points = np.array([game.first_points for game in self.games])
        return Score.of(points) if len(points) else None

    def facts(self) -> dict[str, Any]:
        """Statistics of the games that count, ready for JSON, without the score."""
        games = self.games
        endings = Counter(ending_name(game.ending) for game in games)
        facts: dict[str, Any] = {
            "games": len(games),
            "distinct_games": len({_identity(game) for game in games}),
            "distinct_openings": len({_opening(game) for game in games}),
            "mean_plies": round(sum(len(game.moves) for game in games) / max(1, len(games)), 2),
            "white_score": round(sum(g.white_points for g in games) / max(1, len(games)), 4),
            "terminations": dict(sorted(endings.items())),
            "forfeits": [_forfeit(game) for game in games if game.is_forfeit],
        }
        return facts | ({"sprt": self.sprt.to_dict()} if self.sprt else {})


def _identity(game: MatchGame) -> bytes:
    return game.start.tobytes() + game.moves.tobytes()


def _opening(game: MatchGame) -> bytes:
    return game.start.tobytes() + game.moves[: game.opening_plies].tobytes()


def _forfeit(game: MatchGame) -> dict[str, Any]:
    """The player that forfeited a game, and how."""
    loser = "first" if game.first_points == 0 else "second"
    return {"game": game.number, "loser": loser, "why": ending_name(game.ending)}
