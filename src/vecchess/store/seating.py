"""Generations of positions: how a training divides what it plays (decision 224).

S seats play during the whole training. Seat s plays the games s, s + S,
s + 2 S and so on, one after the other. In each generation it takes Q turns, a turn being a position
that is judged and then moved from, resigned or adjudicated. Then the seat waits: its game goes on
with the network of the next generation. So no device waits for the longest game.

What seat s plays in generation g is the segment g * S + s: a pure function of the game as the
generation before left it, of the network, and of these numbers.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from vecchess.config import TrainConfig
from vecchess.store.id_set import Ids, IdSet

AnyIds = TypeVar("AnyIds", int, Ids)
USUAL_TURNS = 200
"""Turns of a seat in a generation where the settings leave the number of seats open."""


class Seating(NamedTuple):
    """S seats of Q turns a generation."""

    seats: int
    turns: int

    @classmethod
    def of(cls, settings: TrainConfig | Mapping[str, Any]) -> "Seating":
        """The seating of a training. ``settings``: all of them, or those of a file; others are
        defaults."""
        values = dict(settings)
        positions, seats = (
            int(values.get(name, TrainConfig.model_fields[name].default))
            for name in ("positions_per_iter", "seats")
        )
        seats = min(seats or max(1, positions // USUAL_TURNS), positions)
        return cls(seats, round(positions / seats))

    @property
    def positions(self) -> int:
        """Turns of a generation."""
        return self.seats * self.turns

    def segments(self, first: int, end: int) -> IdSet:
        """The segments of the generations ``first`` to ``end`` - 1."""
        return IdSet([(first * self.seats, end * self.seats)])

    def before(self, segments: IdSet) -> IdSet:
        """The segments of the same seats in the generation before; none before the first."""
        earlier = [(first - self.seats, end - self.seats) for first, end in segments.ranges]
        return IdSet([(first, end) for first, end in earlier if first >= 0])

    def of_games(self, segments: IdSet, numbers: Ids) -> Ids:
        """int64[K]: which of ``segments``, all of one generation, each of the games belongs to."""
        return segments.span[0] // self.seats * self.seats + numbers % self.seats

    def new_games(self, segments: IdSet) -> Ids:
        """int64[K]: the game with which the seat of each segment begins, or begins anew.

        A seat starts Q + 1 games a generation at most, so that none of them was played before.
        """
        generations, seats = np.divmod(segments.ids, self.seats)
        numbers: Ids = seats + self.end_of_games(generations - 1)
        return numbers

    def end_of_games(self, generation: AnyIds) -> AnyIds:
        """A number above those of all games that were begun up to this generation."""
        return self.seats * (self.turns + 1) * (generation + 1)
