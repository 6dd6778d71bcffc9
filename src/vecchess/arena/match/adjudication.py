"""Ends games early: by the values that the players themselves expect, and by tablebases."""

import numpy as np
from numpy.typing import NDArray

from vecchess.arena.player_protocol import MoveReplies
from vecchess.chess.game_arrays import Games
from vecchess.chess.position import (
    CASTLING,
    CLOCK_MASK,
    COUNTERS,
    DIAGONAL,
    KINGS,
    KNIGHTS,
    ORTHOGONAL,
    PAWNS,
)
from vecchess.chess.rules import Termination
from vecchess.config import Adjudication
from vecchess.search.kernels.evaluate_leaf import UNKNOWN_OUTCOME
from vecchess.search.tablebase import Tablebase

NO_POINTS = -1.0
"""Stands for a game that goes on."""


class Adjudicator:
    """Keeps the values that players expected in the games of L slots.

    A side that expects less than ``resign_below`` in ``resign_turns`` of its own turns in a row
    has lost. A game is drawn when both sides expect a draw, within ``adjudicate_draw_within`` of
    it, for ``adjudicate_draw_plies`` plies in a row. Moves without a value end the row.
    """

    def __init__(self, rules: Adjudication, num_slots: int) -> None:
        """Raises ConfigError where the tablebases are missing."""
        self._rules = rules
        self._low_turns = np.zeros((num_slots, 2), np.int64)
        self._level_plies = np.zeros(num_slots, np.int64)
        self._tablebase = Tablebase(rules.syzygy) if rules.syzygy else None

    def begin(self, slots: NDArray[np.int64]) -> None:
        """New games begin in ``slots``, int64[K]."""
        self._low_turns[slots] = 0
        self._level_plies[slots] = 0

    def adjudicate(self, boards: Games, replies: MoveReplies) -> NDArray[np.float64]:
        """End those of K games that are decided, after the moves of ``replies`` were made in them.

        Writes the reason into ``boards.codes``. Returns the points of the side that moved last,
        float64[K], NO_POINTS where the game goes on.
        """
        slots, points = replies.slots, np.full(len(replies), NO_POINTS)
        ongoing = boards.codes[slots] == Termination.ONGOING
        for ends, code, worth in (
            (self._expects_to_lose(boards, replies), Termination.RESIGNATION, 0.0),
            (self._is_level(replies), Termination.ADJUDICATION, 0.5),
        ):
            points[ends & ongoing] = worth
            boards.codes[slots[ends & ongoing]] = code
            ongoing &= ~ends
        if self._tablebase is not None:
            self._look_up(boards, slots, points, self._tablebase)
        return points

    def _expects_to_lose(self, boards: Games, replies: MoveReplies) -> NDArray[np.bool_]:
        """Which of the sides that moved resign, bool[K]."""
        slots, side = replies.slots, boards.plies[replies.slots] % 2
        low = replies.values < self._rules.resign_below
        turns = np.where(low, self._low_turns[slots, side] + 1, 0)
        self._low_turns[slots, side] = turns
        return turns >= self._rules.resign_turns

    def _is_level(self, replies: MoveReplies) -> NDArray[np.bool_]:
        """Which games are drawn, bool[K]."""
        rules, slots = self._rules, replies.slots
        if not rules.adjudicate_draw_within:
            return np.zeros(len(slots), np.bool_)
        level = np.abs(replies.values - 0.5) <= rules.adjudicate_draw_within / 2
        plies = np.where(level, self._level_plies[slots] + 1, 0)
        self._level_plies[slots] = plies
        return plies >= rules.adjudicate_draw_plies

    def _look_up(
        self,
        boards: Games,
        slots: NDArray[np.int64],
        points: NDArray[np.float64],
        tablebase: Tablebase,
    ) -> None:
        """End the games that the tablebase decides, after captures and pawn moves."""
        words = boards.positions[slots]
        men = np.bitwise_count(
            words[:, PAWNS] | words[:, KNIGHTS] | words[:, DIAGONAL]
            | words[:, ORTHOGONAL] | words[:, KINGS]
        )  # fmt: skip
        known = men <= tablebase.most_men
        known &= words[:, COUNTERS] & np.uint64(CLOCK_MASK) == 0
        known &= (words[:, CASTLING] & np.uint64(0xFF000000000000FF)) == 0
        known &= boards.codes[slots] == Termination.ONGOING
        for place in np.flatnonzero(known):
            outcome = int(tablebase.outcomes(words[place][None])[0])
            if outcome != UNKNOWN_OUTCOME:
                points[place] = (1 - outcome) / 2  # the tablebase speaks for the side to move now
                boards.codes[slots[place]] = Termination.TABLEBASE
