"""A mover that searches its moves: the games' trees, and the log of the searches' results.

Decision 26.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards import tables
from vecchess.config import TreeConfig
from vecchess.inference.requests import Requests
from vecchess.search.forest import Forest
from vecchess.search.kernels.evaluation_cache import EvaluationCache
from vecchess.search.tablebase import Tablebase
from vecchess.search.tree.layout import NO_NODE
from vecchess.search.tree_memory import TreeLimits
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.selfplay.games.game_kernel import CONSUMED
from vecchess.selfplay.games.game_log import (
    MOST_PAGES,
    MOST_WORDS,
    PAGE_PLIES,
    PAGE_WORDS,
    pack_targets,
)
from vecchess.selfplay.games.game_table import VACANT, RestartPoints, Rules
from vecchess.selfplay.games.mover import Mover, Rows
from vecchess.selfplay.games.search_kernel import play_decisions, resume_searches
from vecchess.store.inflight import SavedGames


class SearchMover(Mover):
    """Plays games whose moves are searched; a row's request comes from its game's tree."""

    def __init__(
        self,
        rules: Rules,
        net_sha: str,
        requests: Requests,
        pool: GameIdPool,
        config: TreeConfig,
        limits: TreeLimits,
        scales: tuple[float, float],
        cache: EvaluationCache | None,
    ) -> None:
        """All rows are vacant. Raises ConfigError for missing tablebases or too little memory.

        ``scales``: of the network's policy and value, see ``Forest``. ``cache`` is shared by the
        movers of a process.
        """
        super().__init__(rules, net_sha, requests, pool)
        tablebase = Tablebase(config.syzygy) if config.syzygy else None
        boards = (self.games.position, self.games.keys, self.games.past)
        self.forest = Forest(
            config, limits, boards, requests, scales, int(rules.seed), 1, cache, tablebase
        )
        self._cache = cache

    def set_network(
        self, net_sha: str, policy_scale: float, value_scale: float, time_steps: int
    ) -> None:
        """Play the games to come with another network; the cache of evaluations is emptied."""
        super().set_network(net_sha, policy_scale, value_scale, time_steps)
        assert (self.forest.trees["root"] == NO_NODE).all(), "a tree outlived its game"
        self.forest.set_scales(policy_scale, value_scale)
        if self._cache:  # shared by all movers, each of which clears it
            self._cache.clear()

    def search_counters(self) -> dict[str, int]:
        """Sums of the trees' counters since the start."""
        return self.forest.counters()

    def reserve_logs(self, games: int) -> None:
        """Make room in the logs for so many games of any length."""
        super().reserve_logs(games)
        self._targets.reserve(games * self.rules.max_plies * MOST_PAGES)

    @property
    def words_a_game(self) -> int:
        """Words that the searches of one game may take in the log."""
        return self.rules.max_plies * MOST_WORDS

    @property
    def nbytes(self) -> int:
        """Bytes held for the games: as in ``Mover``, plus trees and search logs."""
        return super().nbytes + self.forest.bytes_touched + self._targets.nbytes

    @property
    def _pages_a_row(self) -> int:
        """One page more: the move before a game ends, and the opening of the next."""
        return 2 + -(-self.rules.random_plies // PAGE_PLIES)

    def _advance(self, rows: Rows) -> tuple[Rows, Rows]:
        """Search, play decided moves and search again, until all rows wait for answers."""
        vacant = self.games.number[rows] == VACANT
        searching, playing, gone = rows, rows[:0], []
        if np.count_nonzero(vacant):
            searching, playing = rows[~vacant], rows[vacant]
        while len(decided := self.forest.search(searching)) or len(playing):
            playing = np.concatenate([playing, decided]).astype(np.int32)
            searching, left = super()._advance(playing)
            gone.append(left)
            playing = rows[:0]
        return self.forest.take_requests(), np.concatenate(gone) if gone else playing

    def _start_resumed(self, saved: SavedGames, resumed: Rows, others: Rows) -> tuple[Rows, Rows]:
        """Begin a search for each resumed game, unless it waits for a tablebase."""
        words, offsets = pack_targets(saved.records)
        self._targets.reserve(len(words) // PAGE_WORDS + len(resumed))
        searching = np.empty(len(resumed), np.bool_)
        resume_searches(
            self.games,
            self.rules,
            self._targets.pages,
            self.forest.address,
            words,
            offsets,
            resumed.astype(np.int64),
            searching,
        )
        return np.concatenate([others, resumed[searching]]), resumed[:0]

    @property
    def _resumable(self) -> RestartPoints:
        """The last points without a tree: trees are not saved."""
        return self.games.restart

    def kernel_call(
        self, supply: NDArray[np.int64], rows: Rows, ready: Rows, cursor: NDArray[np.int64]
    ) -> tuple[Any, tuple[Any, ...]]:
        """The kernel that plays the decisions in ``rows``, and its arguments."""
        self._targets.reserve((len(rows) - int(cursor[CONSUMED])) * MOST_PAGES)
        return play_decisions, (
            tables.address(),
            self.games,
            self._requests,
            self.rules,
            (self._log.pages, self._targets.pages),
            self.room,
            supply,
            self._scratch[0],
            self.forest.address,
            rows,
            ready,
            cursor,
        )
