"""A mover that searches: its games' trees, and the log of what their searches found."""

import numpy as np
from numpy.typing import NDArray

from vecchess.chess import tables
from vecchess.config import TreeConfig
from vecchess.inference.requests import Requests
from vecchess.search.cache import EvaluationCache
from vecchess.search.forest import Forest, ForestPlan
from vecchess.search.layout import LANE_ANSWERED, LANE_STATE
from vecchess.search.tablebase import Tablebase
from vecchess.selfplay.games import Rules
from vecchess.selfplay.mover import Mover, Rows
from vecchess.selfplay.numbers import NumberPool
from vecchess.selfplay.ply_log import PAGE_PLIES
from vecchess.selfplay.seats import CONSUMED, READY
from vecchess.selfplay.target_log import MOST_PAGES, MOST_WORDS, TargetLog
from vecchess.selfplay.think import answer_probes, think_rows
from vecchess.shapes import POSITION_WORDS


class Thinker(Mover):
    """Plays games whose moves are searched; a row is a question of its game's tree."""

    def __init__(
        self,
        rules: Rules,
        net_sha: str,
        requests: Requests,
        first_row: int,
        num_games: int,
        numbers: NumberPool,
        config: TreeConfig,
        plan: ForestPlan,
        cache: EvaluationCache | None,
    ) -> None:
        """See ``Mover``. Raises ConfigError for tablebases that are not there, or want of memory.

        ``cache`` is shared by the movers of a process.
        """
        super().__init__(rules, net_sha, requests, first_row, num_games, numbers)
        self._tablebase = Tablebase(config.syzygy) if config.syzygy else None
        rows = slice(first_row, first_row + num_games)
        own = Requests(**{name: array[rows] for name, array in vars(requests).items()})
        self.forest = Forest(config, plan, self.games.position, self.games.keys, own, cache)
        self._targets = TargetLog()

    def search_counters(self) -> dict[str, int]:
        """Sums since the start of what the trees did."""
        return self.forest.counters()

    @property
    def words_a_game(self) -> int:
        """Words that the searches of one game may take in the log."""
        return self.rules.max_plies * MOST_WORDS

    @property
    def nbytes(self) -> int:
        """Bytes held for the games: as for every mover, their trees, what searches found."""
        return super().nbytes + self.forest.bytes_touched + self._targets.nbytes

    @property
    def _pages_a_row(self) -> int:
        """One page more: the move before a game ends, and the opening of the next."""
        return 2 + -(-self.rules.random_plies // PAGE_PLIES)

    def play(self, rows: Rows) -> tuple[Rows, Rows]:
        """See ``Mover.play``; looks up in the tablebase what the searches ask of it on the way."""
        ready, vacant = super().play(rows)
        while self._tablebase and len(probes := self.forest.take_probes()):
            positions = self._desk.planes[probes, :POSITION_WORDS]
            answer_probes(self.forest.address, probes, self._tablebase.outcomes(positions))
            asked = self.forest.take_asked() + self._desk.first
            known = self.forest.lane_records[probes, LANE_STATE] == LANE_ANSWERED
            more, left = super().play(probes[known] + self._desk.first)
            ready = np.concatenate([ready, asked, more])
            vacant = np.concatenate([vacant, left])
        return ready, vacant

    def _run_kernel(
        self, supply: NDArray[np.int64], rows: Rows, ready: Rows, cursor: NDArray[np.int64]
    ) -> None:
        self._targets.reserve((len(rows) - int(cursor[CONSUMED])) * MOST_PAGES)
        think_rows(
            tables.address(),
            self.games,
            self._desk,
            self.rules,
            (self._log.pages, self._targets.pages),
            self._done,
            supply,
            self._scratch[0],
            self.forest.address,
            rows,
            cursor,
        )
        asked = self.forest.take_asked()
        end = cursor[READY] + len(asked)
        ready[cursor[READY] : end] = asked + self._desk.first
        cursor[READY] = end
