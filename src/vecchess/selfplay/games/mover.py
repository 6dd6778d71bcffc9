"""A mover: plays the moves of a share of a worker's games, many at a call and without the GIL."""

from time import perf_counter_ns
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards import tables
from vecchess.chess.movegen import MOVE_BUFFER
from vecchess.chess.planes import history_of
from vecchess.chess.rules import Termination
from vecchess.inference.requests import Requests
from vecchess.selfplay.games.finished_games import FinishedGames, LoggedGames, to_records
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.selfplay.games.game_kernel import (
    CONSUMED,
    CURSOR_WORDS,
    GAMES_DONE,
    PLAYED,
    PLIES_DONE,
    READY,
    SUPPLIED,
    WORDS_DONE,
    play_rows,
)
from vecchess.selfplay.games.game_log import PAGE_PLIES, PAGE_WORDS, PLY_WORDS, PagedLog
from vecchess.selfplay.games.game_table import VACANT, GameTable, RestartPoints, Rules, rescaled
from vecchess.selfplay.games.resume import log_pages_of, set_up_saved
from vecchess.shapes import MAX_MOVES
from vecchess.store.id_set import IdSet
from vecchess.store.inflight import SavedGames
from vecchess.store.records import NO_FINGERPRINT, GameRecords, Spans

Rows = NDArray[np.int32]
IDS_AT_A_TIME = 16
NO_MORE = -1
"""Stands for the next id when there is none: rows stay vacant."""
ROWS_AT_A_TIME = 1024
"""Rows the kernel is given at a time: log pages are reserved for as many."""
FINISHED_GAMES = 64
"""Room for finished games; the kernel returns when it is used up."""


class Mover:
    """Plays games, one in each row of its part of the requests. One thread at a time.

    Draws moves from the network's policy; ``search_mover.SearchMover`` searches them.
    """

    def __init__(
        self,
        rules: Rules,
        net_sha: str,
        requests: Requests,
        pool: GameIdPool,
    ) -> None:
        """All rows are vacant until ``play`` is called with them.

        Row i of ``requests`` is that of game i. Its planes decide how many positions of a game the
        network sees.
        """
        num_games = requests.num_rows
        self.games = GameTable.vacant(num_games, history_of(requests.planes.shape[1]))
        self.rows = np.arange(num_games, dtype=np.int32)
        self.busy_ns = 0
        self.plies = 0
        """Moves made, those of random openings left out: they are no positions of a training."""
        self.rules = rules
        self.net_sha = net_sha
        self._requests = requests
        self._pool = pool
        self._log = PagedLog(PAGE_PLIES, PLY_WORDS, np.uint16)
        self._targets = PagedLog(PAGE_WORDS, 1, np.uint32)
        room = min(FINISHED_GAMES, num_games)
        num_plies = max(rules.max_plies, room * rules.max_plies // 2) + rules.max_plies
        self.room = LoggedGames.with_room(room + 1, num_plies, self.words_a_game)
        self._scratch = (np.zeros(MOVE_BUFFER, np.uint16), np.zeros(MAX_MOVES, np.uint32))
        self._supply: NDArray[np.int64] = np.empty(0, np.int64)
        self._spans: dict[int, Spans] = {}
        """Networks so far, of the games in progress that other networks began."""
        self._finished: list[FinishedGames] = []

    @property
    def words_a_game(self) -> int:
        """Words that the searches of one game may take in the log."""
        return 0

    @property
    def nbytes(self) -> int:
        """Bytes held for the games: table, log, room for finished ones."""
        room = sum(array.nbytes for array in self.room)
        return self.games.nbytes + room + self._log.nbytes

    def reserve_logs(self, games: int) -> None:
        """Make room in the logs for so many games of any length."""
        self._log.reserve(games * -(-2 * self.rules.max_plies // PAGE_PLIES))

    def search_counters(self) -> dict[str, int]:
        """Sums of the searches' counters since the start; empty without search."""
        return {}

    def set_network(
        self, net_sha: str, policy_scale: float, value_scale: float, time_steps: int
    ) -> None:
        """Play the games to come with another network. All rows are vacant, no call runs.

        The scales are logits per accumulator unit and step; ``time_steps`` is T.
        """
        assert (self.games.number == VACANT).all(), "a network is replaced while games go on"
        self.net_sha = net_sha
        self.rules = rescaled(self.rules, policy_scale, value_scale, time_steps)

    def play(self, rows: Rows) -> tuple[Rows, Rows]:
        """Play on in ``rows`` (int32[K]: answered or vacant).

        Returns the rows with a new request, and those left vacant because no game is to start.
        """
        start = perf_counter_ns()
        rows, resumed = self._resume(rows)
        ready, vacant = self._advance(rows)
        if len(self._supply):  # other movers may need them
            self._pool.give_back(self._supply)
            self._supply = self._supply[:0]
        self.busy_ns += perf_counter_ns() - start
        return (np.concatenate([ready, resumed]) if len(resumed) else ready), vacant

    def take_finished(self) -> list[FinishedGames]:
        """The games that ended since the last call."""
        finished, self._finished = self._finished, []
        return finished

    def snapshot(self, most: int) -> GameRecords | None:
        """Up to ``most`` games in progress as they stand, with ``Termination.ONGOING``.

        A row's games follow each other at the same place while the rows before it are occupied.
        None where no game is in progress. No call of ``play`` may run.
        """
        rows = np.flatnonzero(self.games.number != VACANT)[:most]
        if not len(rows):
            return None
        games = self._beginnings(rows, self.games)
        games.resign[:], games.fingerprint[:] = 0, NO_FINGERPRINT  # of finished games alone
        return to_records(games, self.rules, self.net_sha, self._spans)

    def snapshot_inflight(self) -> SavedGames | None:
        """All games in progress up to where they can be resumed; None where there are none.

        No call of ``play`` may run.
        """
        rows = np.flatnonzero(self.games.number != VACANT)
        if not len(rows):
            return None
        games = self._beginnings(rows, self._resumable)
        records = to_records(games, self.rules, self.net_sha, self._spans)
        return SavedGames(records, games.low_turns, games.level_plies)

    def _advance(self, rows: Rows) -> tuple[Rows, Rows]:
        """Play on in ``rows`` as ``play`` does: (rows with a new request, rows left vacant)."""
        ready = np.empty(len(rows), np.int32)
        cursor = np.zeros(CURSOR_WORDS, np.int64)
        while cursor[CONSUMED] < len(rows):
            self._run_batch(rows, ready, cursor)
        self.plies += int(cursor[PLAYED])
        num_ready = int(cursor[READY])
        if num_ready == len(rows):
            return ready, rows[:0]
        return ready[:num_ready], rows[self.games.number[rows] == VACANT]

    def _run_batch(self, rows: Rows, ready: Rows, cursor: NDArray[np.int64]) -> None:
        """Call the kernel for some of the rows that are left, with ids and log pages for them."""
        done = int(cursor[CONSUMED])
        rows = rows[: done + ROWS_AT_A_TIME]
        self._log.reserve((len(rows) - done) * self._pages_a_row)
        supply = self._supply
        if not len(supply):
            supply = self._pool.take(IDS_AT_A_TIME)
        if not len(supply):
            supply = np.array([NO_MORE], np.int64)
        cursor[[SUPPLIED, GAMES_DONE, PLIES_DONE, WORDS_DONE]] = 0
        kernel, arguments = self.kernel_call(supply, rows, ready, cursor)
        kernel(*arguments)
        self._supply = supply[cursor[SUPPLIED] :] if supply[0] != NO_MORE else supply[:0]
        if cursor[GAMES_DONE]:
            counts = (int(cursor[at]) for at in (GAMES_DONE, PLIES_DONE, WORDS_DONE))
            games = self.room.copy_first(*counts)
            known = self._spans.keys() & set(games.number.tolist()) if self._spans else ()
            spans = {number: self._spans.pop(number) for number in known}
            self._finished.append(FinishedGames(games, self.rules, self.net_sha, spans))

    @property
    def _pages_a_row(self) -> int:
        """Log pages that a row may need until the next request."""
        return 1 + -(-self.rules.random_plies // PAGE_PLIES)

    def kernel_call(
        self, supply: NDArray[np.int64], rows: Rows, ready: Rows, cursor: NDArray[np.int64]
    ) -> tuple[Any, tuple[Any, ...]]:
        """The kernel that plays on in ``rows`` from the cursor on, and its arguments."""
        return play_rows, (
            tables.address(),
            self.games,
            self._requests,
            self.rules,
            self._log.pages,
            self.room,
            supply,
            self._scratch,
            rows,
            ready,
            cursor,
        )

    def _resume(self, rows: Rows) -> tuple[Rows, Rows]:
        """Resume saved games in those of ``rows`` that are vacant.

        Returns the rows to be played on, and those with a new request already.
        """
        is_vacant = self.games.number[rows] == VACANT
        num_vacant = int(np.count_nonzero(is_vacant))
        saved = self._pool.take_saved(num_vacant) if num_vacant else None
        if saved is None:
            return rows, rows[:0]
        vacant = rows[is_vacant]
        self._log.reserve(log_pages_of(saved))
        taken, log, moves = vacant[: saved.num_games], self._log.pages, self._scratch[0]
        is_set_up = set_up_saved(saved, taken, self.games, self._requests, self.rules, log, moves)
        self._pool.add(IdSet.of(saved.records.numbers[~is_set_up]))  # to be played from the start
        resumed = taken[is_set_up]
        others = rows[~np.isin(rows, resumed)]
        saved = saved.take(np.flatnonzero(is_set_up))
        for game in np.flatnonzero(np.diff(saved.records.span_offsets) > 1).tolist():
            self._spans[int(saved.records.numbers[game])] = saved.records.spans(game)
        return self._start_resumed(saved, resumed, others)

    def _start_resumed(self, saved: SavedGames, resumed: Rows, others: Rows) -> tuple[Rows, Rows]:
        """What ``_resume`` returns, when ``saved`` games are set up in the rows ``resumed``."""
        return others, resumed

    @property
    def _resumable(self) -> GameTable | RestartPoints:
        """Where the games in progress can be resumed."""
        return self.games

    def _beginnings(self, rows: NDArray[np.int64], point: GameTable | RestartPoints) -> LoggedGames:
        """The games in ``rows`` as they stood at ``point``, in memory of their own."""
        plies, num_words = point.ply[rows], point.target_words[rows]
        return LoggedGames(
            number=self.games.number[rows],
            start=self.games.start[rows],
            result=np.zeros(len(rows), np.int8),
            termination=np.full(len(rows), Termination.ONGOING, np.uint8),
            resign=point.resign[rows],
            fingerprint=point.fingerprint[rows],
            low_turns=point.low_turns[rows],
            level_plies=point.level_plies[rows],
            plies=plies,
            logged=self._log.gathered(self.games.pages[rows, 0], plies),
            num_words=num_words,
            words=self._targets.gathered(self.games.target_pages[rows, 0], num_words),
        )
