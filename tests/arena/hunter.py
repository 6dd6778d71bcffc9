"""Ratings by another way: minorisation-maximisation, D. R. Hunter, Annals of Statistics 32 (2004).

A player's strength becomes its points over the sum, over all it met, of the games between the two
by both strengths; so often that nothing moves. Expected points are then the points made, as ordo
and KataGo's ``python/elo.py`` want them.
"""

from collections.abc import Sequence
from math import log10

from vecchess.arena.ratings.pair_results import PairCounts


def elo_by_hunter(
    all_counts: Sequence[PairCounts], anchor: str, virtual_draws: Sequence[float]
) -> dict[str, float]:
    """Elo of each player above ``anchor``, with so many virtual draws in each counts."""
    games: dict[tuple[str, str], float] = {}
    points: dict[str, float] = {}
    for counts, virtual in zip(all_counts, virtual_draws, strict=True):
        one, other = counts.first, counts.second
        for name, rival, won in (one, other, counts.wins), (other, one, counts.losses):
            games[name, rival] = games.get((name, rival), 0) + counts.games + virtual
            points[name] = points.get(name, 0) + won + (counts.draws + virtual) / 2
    strength = dict.fromkeys(points, 1.0)
    for _ in range(100_000):
        old = dict(strength)
        for name in strength:
            weights = [
                count / (strength[name] + strength[rival])
                for (player, rival), count in games.items()
                if player == name
            ]
            strength[name] = points[name] / sum(weights)
        if max(abs(strength[name] / old[name] - 1) for name in old) < 1e-10:
            break
    return {name: 400 * log10(strength[name] / strength[anchor]) for name in strength}
