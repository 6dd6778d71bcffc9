"""The referee: ends games whose outcome nobody doubts, by what the players themselves expect."""

import numpy as np
from numpy.typing import NDArray

from vecchess.arena.game_batch import GameBatch
from vecchess.arena.player_protocol import MoveReplies
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


class Referee:
    """Keeps in mind what players said in the games of L lanes.

    A side that expects less than ``resign_below`` in ``resign_turns`` of its own turns in a row
    has lost. A game is drawn when both sides expect a draw, within ``adjudicate_draw_within`` of
    it, for ``adjudicate_draw_plies`` plies in a row. Who says nothing is not heeded.
    """

    def __init__(self, rules: Adjudication, num_lanes: int) -> None:
        """Raises ConfigError for tablebases that are not there."""
        self._rules = rules
        self._low_turns = np.zeros((num_lanes, 2), np.int64)
        self._level_plies = np.zeros(num_lanes, np.int64)
        self._tablebase = Tablebase(rules.syzygy) if rules.syzygy else None

    def begin(self, lanes: NDArray[np.int64]) -> None:
        """New games begin in ``lanes``, int64[K]."""
        self._low_turns[lanes] = 0
        self._level_plies[lanes] = 0

    def judge(self, boards: GameBatch, replies: MoveReplies) -> NDArray[np.float64]:
        """Look at K games after the moves of ``replies`` were made in them.

        Ends those that are decided: writes why into ``boards.codes``. Returns the points of who
        moved last, float64[K], NO_POINTS where it ended nothing.
        """
        lanes, points = replies.lanes, np.full(len(replies), NO_POINTS)
        ongoing = boards.codes[lanes] == Termination.ONGOING
        for ends, code, worth in (
            (self._expects_to_lose(boards, replies), Termination.RESIGNATION, 0.0),
            (self._is_level(replies), Termination.ADJUDICATION, 0.5),
        ):
            points[ends & ongoing] = worth
            boards.codes[lanes[ends & ongoing]] = code
            ongoing &= ~ends
        if self._tablebase is not None:
            self._look_up(boards, lanes, points, self._tablebase)
        return points

    def _expects_to_lose(self, boards: GameBatch, replies: MoveReplies) -> NDArray[np.bool_]:
        """Which of those who moved give up, bool[K]."""
        lanes, side = replies.lanes, boards.plies[replies.lanes] % 2
        low = replies.values < self._rules.resign_below
        turns = np.where(low, self._low_turns[lanes, side] + 1, 0)
        self._low_turns[lanes, side] = turns
        return turns >= self._rules.resign_turns

    def _is_level(self, replies: MoveReplies) -> NDArray[np.bool_]:
        """Which games are drawn, bool[K]."""
        rules, lanes = self._rules, replies.lanes
        if not rules.adjudicate_draw_within:
            return np.zeros(len(lanes), np.bool_)
        level = np.abs(replies.values - 0.5) <= rules.adjudicate_draw_within / 2
        plies = np.where(level, self._level_plies[lanes] + 1, 0)
        self._level_plies[lanes] = plies
        return plies >= rules.adjudicate_draw_plies

    def _look_up(
        self,
        boards: GameBatch,
        lanes: NDArray[np.int64],
        points: NDArray[np.float64],
        tablebase: Tablebase,
    ) -> None:
        """End the games that the tablebase knows, after captures and pawn moves."""
        words = boards.positions[lanes]
        men = np.bitwise_count(
            words[:, PAWNS] | words[:, KNIGHTS] | words[:, DIAGONAL]
            | words[:, ORTHOGONAL] | words[:, KINGS]
        )  # fmt: skip
        known = men <= tablebase.most_men
        known &= words[:, COUNTERS] & np.uint64(CLOCK_MASK) == 0
        known &= (words[:, CASTLING] & np.uint64(0xFF000000000000FF)) == 0
        known &= boards.codes[lanes] == Termination.ONGOING
        for place in np.flatnonzero(known):
            outcome = int(tablebase.outcomes(words[place][None])[0])
            if outcome != UNKNOWN_OUTCOME:
                points[place] = (1 - outcome) / 2  # seen by who is to move now
                boards.codes[lanes[place]] = Termination.TABLEBASE
