"""A mover owns a share of a worker's games and plays their moves, many a call, without the GIL."""

from time import perf_counter_ns

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards import tables
from vecchess.chess.movegen import MOVE_BUFFER
from vecchess.chess.planes import history_of
from vecchess.chess.rules import Termination
from vecchess.inference.requests import Requests
from vecchess.selfplay.games.game_ids import GameIdPool, ranges_of
from vecchess.selfplay.games.game_kernel import (
    CONSUMED,
    CURSOR_WORDS,
    GAMES_DONE,
    PLAYED,
    PLIES_DONE,
    READY,
    SUPPLIED,
    WORDS_DONE,
)
from vecchess.selfplay.games.game_table import (
    VACANT,
    Finished,
    GameTable,
    RequestSlice,
    Rules,
    rescaled,
)
from vecchess.selfplay.games.ply_log import PAGE_PLIES, ply_log
from vecchess.selfplay.games.policy_kernel import play_rows
from vecchess.selfplay.games.resume import log_pages_of, set_up
from vecchess.selfplay.games.to_records import Played, recorded
from vecchess.shapes import MAX_MOVES
from vecchess.store.inflight import SavedGames
from vecchess.store.records import NO_FINGERPRINT, GameRecords, concatenate

Rows = NDArray[np.int32]
NUMBERS_AT_A_TIME = 16
NO_MORE = -1
"""Stands for the next number when there is none: seats stay vacant."""
ROWS_AT_A_TIME = 1024
"""Rows the kernel is given at a time: so many log pages are kept in reserve."""
FINISHED_GAMES = 64
"""Games set down before they are collected; the kernel returns when they are."""


class Mover:
    """Plays the games in rows first_row .. first_row + num_games. One thread at a time.

    Draws moves from the network's policy; ``thinker.Thinker`` searches them.
    """

    def __init__(
        self,
        rules: Rules,
        net_sha: str,
        requests: Requests,
        first_row: int,
        num_games: int,
        numbers: GameIdPool,
    ) -> None:
        """All seats are vacant until ``play`` is called with their rows.

        How many positions of a game are seen follows from the planes of ``requests``.
        """
        self.games = GameTable.vacant(num_games, history_of(requests.planes.shape[1]))
        self.rows = np.arange(first_row, first_row + num_games, dtype=np.int32)
        self.busy_ns = 0
        self.plies = 0
        self.rules = rules
        self.net_sha = net_sha
        self._desk = RequestSlice.part(requests, first_row, num_games)
        self._numbers = numbers
        self._log = ply_log()
        room = min(FINISHED_GAMES, num_games)
        self._done = Finished.with_room(
            room, max(rules.max_plies, room * rules.max_plies // 2), self.words_a_game
        )
        self._scratch = (np.zeros(MOVE_BUFFER, np.uint16), np.zeros(MAX_MOVES, np.uint32))
        self._supply: NDArray[np.int64] = np.empty(0, np.int64)
        self._records: list[GameRecords] = []

    @property
    def words_a_game(self) -> int:
        """Words that the searches of one game may take in the log."""
        return 0

    @property
    def nbytes(self) -> int:
        """Bytes held for the games: seats, log, room for finished ones."""
        arrays = (*self.games, *self._done)
        return sum(array.nbytes for array in arrays) + self._log.nbytes

    def search_counters(self) -> dict[str, int]:
        """Sums since the start of what searches did; empty where moves are not searched."""
        return {}

    def take_network(
        self, net_sha: str, policy_scale: float, value_scale: float, time_steps: int
    ) -> None:
        """Play the games to come with another network. All seats are vacant, no call runs.

        The scales are logits per accumulator unit and step; ``time_steps`` is T.
        """
        assert (self.games.number == VACANT).all(), "a network is replaced while games go on"
        self.net_sha = net_sha
        self.rules = rescaled(self.rules, policy_scale, value_scale, time_steps)

    def play(self, rows: Rows) -> tuple[Rows, Rows]:
        """Play on in ``rows`` (int32[K]: answered or vacant).

        Returns the rows with a new question, and those left vacant because no number is to be had.
        """
        start = perf_counter_ns()
        rows, resumed = self._resume(rows)
        ready, vacant = self._carry_on(rows)
        ready = np.concatenate([ready, resumed]) if len(resumed) else ready
        if len(self._supply):  # other movers may need them
            self._numbers.add(ranges_of(self._supply.tolist()))
            self._supply = self._supply[:0]
        self.busy_ns += perf_counter_ns() - start
        return ready, vacant

    def _carry_on(self, rows: Rows) -> tuple[Rows, Rows]:
        """What ``play`` does, but for the accounts."""
        ready = np.empty(len(rows), np.int32)
        cursor = np.zeros(CURSOR_WORDS, np.int64)
        while cursor[CONSUMED] < len(rows):
            self._call(rows, ready, cursor)
        self.plies += int(cursor[PLAYED])
        num_ready = int(cursor[READY])
        if num_ready == len(rows):
            return ready, rows[:0]
        return ready[:num_ready], rows[self.games.number[rows - self._desk.first] == VACANT]

    def _resume(self, rows: Rows) -> tuple[Rows, Rows]:
        """Let saved games go on in those of ``rows`` that are vacant.

        Returns the rows that are to be carried on, and those with a new question already.
        """
        vacant = rows[self.games.number[rows - self._desk.first] == VACANT]
        saved = self._numbers.take_saved(len(vacant)) if len(vacant) else None
        if saved is None:
            return rows, rows[:0]
        self._log.reserve(log_pages_of(saved))
        taken, log, moves = vacant[: saved.num_games], self._log.pages, self._scratch[0]
        is_set_up = set_up(saved, taken, self.games, self._desk, self.rules, log, moves)
        refused = saved.records.numbers[~is_set_up]
        self._numbers.add(ranges_of(np.sort(refused).tolist()))  # to be played from the start
        resumed = taken[is_set_up]
        others = rows[~np.isin(rows, resumed)]
        return self._go_on(saved.take(np.flatnonzero(is_set_up)), resumed, others)

    def _go_on(self, saved: SavedGames, resumed: Rows, others: Rows) -> tuple[Rows, Rows]:
        """What ``_resume`` returns, when ``saved`` games are set up in the rows ``resumed``."""
        return others, resumed

    def take_finished(self) -> GameRecords | None:
        """The games that ended since the last call, None if there are none."""
        records, self._records = self._records, []
        return concatenate(records) if records else None

    def _call(self, rows: Rows, ready: Rows, cursor: NDArray[np.int64]) -> None:
        """Give the kernel some of the rows that are left, and what it needs for them."""
        done = int(cursor[CONSUMED])
        rows = rows[: done + ROWS_AT_A_TIME]
        self._log.reserve((len(rows) - done) * self._pages_a_row)
        supply = self._supply
        if not len(supply):
            supply = np.array(self._numbers.take(NUMBERS_AT_A_TIME) or [NO_MORE], np.int64)
        cursor[[SUPPLIED, GAMES_DONE, PLIES_DONE, WORDS_DONE]] = 0
        self._run_kernel(supply, rows, ready, cursor)
        self._supply = supply[cursor[SUPPLIED] :] if supply[0] != NO_MORE else supply[:0]
        if cursor[GAMES_DONE]:
            self._collect(int(cursor[GAMES_DONE]), int(cursor[PLIES_DONE]))

    @property
    def _pages_a_row(self) -> int:
        """Log pages that a row may need until the next question."""
        return 1 + -(-self.rules.random_plies // PAGE_PLIES)

    def _run_kernel(
        self, supply: NDArray[np.int64], rows: Rows, ready: Rows, cursor: NDArray[np.int64]
    ) -> None:
        """Play on in ``rows`` from the cursor on, see ``play.play_rows``."""
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

    def _collect(self, num_games: int, num_plies: int) -> None:
        """Turn what the kernel set down into records."""
        done, games = self._done, slice(num_games)
        played = Played(
            number=done.number[games],
            start=done.start[games],
            result=done.result[games],
            termination=done.termination[games],
            resign=done.resign[games],
            fingerprint=done.fingerprint[games],
            plies=done.plies[games],
            logged=done.logged[:num_plies],
            num_words=done.num_words[games],
            words=done.words,
        )
        self._records.append(recorded(played, self.rules, self.net_sha))

    def glimpse(self, most: int) -> GameRecords | None:
        """Up to ``most`` games in progress, as they stand, with ``Termination.ONGOING``.

        A seat's games follow each other at the same place while those before it are taken. None
        where no game is in progress. No call of ``play`` may run.
        """
        seats = np.flatnonzero(self.games.number != VACANT)[:most]
        if not len(seats):
            return None
        none = np.zeros(len(seats), np.uint8)
        unknown = np.full(len(seats), NO_FINGERPRINT, np.uint64)
        words = self.games.target_words[seats]
        return self._in_progress(seats, self.games.ply[seats], words, none, unknown)

    def saved(self) -> SavedGames | None:
        """All games in progress, as far as they can go on from; None where there are none.

        No call of ``play`` may run.
        """
        seats = np.flatnonzero(self.games.number != VACANT)
        return self._saved(seats) if len(seats) else None

    def _saved(self, seats: NDArray[np.int64]) -> SavedGames:
        """The games in ``seats``."""
        games = self.games
        words, resign = games.target_words[seats], games.resign[seats]
        fingerprint = games.fingerprint[seats]
        return SavedGames(
            self._in_progress(seats, games.ply[seats], words, resign, fingerprint),
            games.low_turns[seats],
            games.level_plies[seats],
        )

    def _in_progress(
        self,
        seats: NDArray[np.int64],
        plies: NDArray[np.int32],
        num_words: NDArray[np.int32],
        resign: NDArray[np.uint8],
        fingerprint: NDArray[np.uint64],
    ) -> GameRecords:
        """The beginnings of the games in ``seats``, so many plies and words of searches of each."""
        games = self.games
        played = Played(
            number=games.number[seats],
            start=games.start[seats],
            result=np.zeros(len(seats), np.int8),
            termination=np.full(len(seats), Termination.ONGOING, np.uint8),
            resign=resign,
            fingerprint=fingerprint,
            plies=plies,
            logged=self._log.gathered(games.pages[seats, 0], plies),
            num_words=num_words,
            words=self._words_of(seats, num_words),
        )
        return recorded(played, self.rules, self.net_sha)

    def _words_of(
        self, seats: NDArray[np.int64], num_words: NDArray[np.int32]
    ) -> NDArray[np.uint32]:
        """What searches of the games in ``seats`` found, so many words of each, as logged."""
        return np.empty(0, np.uint32)
