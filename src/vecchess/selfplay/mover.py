"""A mover owns a share of a worker's games and plays their moves, many a call, without the GIL."""

from time import perf_counter_ns

import numpy as np
from numpy.typing import NDArray

from vecchess.chess import tables
from vecchess.chess.movegen import MOVE_BUFFER
from vecchess.inference.requests import Requests
from vecchess.selfplay.games import VACANT, Desk, Finished, GameTable, Rules
from vecchess.selfplay.numbers import NumberPool, ranges_of
from vecchess.selfplay.play import (
    CONSUMED,
    GAMES_DONE,
    PLAYED,
    PLIES_DONE,
    READY,
    SUPPLIED,
    play_rows,
)
from vecchess.selfplay.ply_log import PAGE_PLIES, PlyLog, unpack_plies
from vecchess.shapes import MAX_MOVES
from vecchess.store.records import GameRecords, concatenate

Rows = NDArray[np.int32]
NUMBERS_AT_A_TIME = 16
NO_MORE = -1
"""Stands for the next number when there is none: seats stay vacant."""
ROWS_AT_A_TIME = 1024
"""Rows the kernel is given at a time: so many log pages are kept in reserve."""
FINISHED_GAMES = 64
"""Games set down before they are collected; the kernel returns when they are."""


class Mover:
    """Plays the games in rows first_row .. first_row + num_games. One thread at a time."""

    def __init__(
        self,
        rules: Rules,
        net_sha: str,
        requests: Requests,
        first_row: int,
        num_games: int,
        numbers: NumberPool,
    ) -> None:
        """All seats are vacant until ``play`` is called with their rows."""
        self.games = GameTable.vacant(num_games)
        self.rows = np.arange(first_row, first_row + num_games, dtype=np.int32)
        self.busy_ns = 0
        self.plies = 0
        self.rules = rules
        self._net_sha = net_sha
        self._desk = Desk.part(requests, first_row, num_games)
        self._numbers = numbers
        self._log = PlyLog()
        room = min(FINISHED_GAMES, num_games)
        self._done = Finished.with_room(room, max(rules.max_plies, room * rules.max_plies // 2))
        self._scratch = (np.zeros(MOVE_BUFFER, np.uint16), np.zeros(MAX_MOVES, np.uint32))
        self._supply: NDArray[np.int64] = np.empty(0, np.int64)
        self._records: list[GameRecords] = []

    @property
    def nbytes(self) -> int:
        """Bytes held for the games: seats, log, room for finished ones."""
        arrays = (*self.games, *self._done)
        return sum(array.nbytes for array in arrays) + self._log.nbytes

    def play(self, rows: Rows) -> tuple[Rows, Rows]:
        """Play on in ``rows`` (int32[K]: answered or vacant).

        Returns the rows with a new question, and those left vacant because no number is to be had.
        """
        start = perf_counter_ns()
        ready = np.empty(len(rows), np.int32)
        cursor = np.zeros(6, np.int64)
        while cursor[CONSUMED] < len(rows):
            self._call(rows, ready, cursor)
        if len(self._supply):  # other movers may need them
            self._numbers.add(ranges_of(self._supply.tolist()))
            self._supply = self._supply[:0]
        self.plies += int(cursor[PLAYED])
        self.busy_ns += perf_counter_ns() - start
        num_ready = int(cursor[READY])
        if num_ready == len(rows):
            return ready, rows[:0]
        return ready[:num_ready], rows[self.games.number[rows - self.rows[0]] == VACANT]

    def take_finished(self) -> GameRecords | None:
        """The games that ended since the last call, None if there are none."""
        records, self._records = self._records, []
        return concatenate(records) if records else None

    def _call(self, rows: Rows, ready: Rows, cursor: NDArray[np.int64]) -> None:
        done = int(cursor[CONSUMED])
        rows = rows[: done + ROWS_AT_A_TIME]
        pages_a_row = 1 + -(-self.rules.random_plies // PAGE_PLIES)
        self._log.reserve((len(rows) - done) * pages_a_row)
        supply = self._supply
        if not len(supply):
            supply = np.array(self._numbers.take(NUMBERS_AT_A_TIME) or [NO_MORE], np.int64)
        cursor[[SUPPLIED, GAMES_DONE, PLIES_DONE]] = 0
        play_rows(
            tables.address(),
            self.games,
            self._desk,
            self.rules,
            self._log.pages,
            self._done,
            supply,
            self._scratch,
            rows,
            ready,
            cursor,
        )
        self._supply = supply[cursor[SUPPLIED] :] if supply[0] != NO_MORE else supply[:0]
        if cursor[GAMES_DONE]:
            self._collect(int(cursor[GAMES_DONE]), int(cursor[PLIES_DONE]))

    def _collect(self, num_games: int, num_plies: int) -> None:
        """Turn what the kernel set down into records."""
        done = self._done
        offsets = np.concatenate([[0], np.cumsum(done.plies[:num_games])]).astype(np.int64)
        columns = unpack_plies(done.logged[:num_plies])
        self._records.append(
            GameRecords(
                numbers=done.number[:num_games].copy(),
                start=self.rules.starts[done.start[:num_games]],
                result=done.result[:num_games].copy(),
                termination=done.termination[:num_games].copy(),
                resign=done.resign[:num_games].copy(),
                offsets=offsets,
                span_offsets=np.arange(num_games + 1, dtype=np.int64),
                span_ply=np.zeros(num_games, np.int32),
                span_net=np.zeros(num_games, np.int32),
                nets=(self._net_sha,),
                **columns,
            )
        )
