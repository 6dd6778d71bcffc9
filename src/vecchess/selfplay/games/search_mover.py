"""A mover that searches: its games' trees, and the log of what their searches found."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards import tables
from vecchess.config import TreeConfig
from vecchess.inference.requests import Requests
from vecchess.search.forest import Forest, ForestPlan
from vecchess.search.kernels.evaluation_cache import EvaluationCache
from vecchess.search.tablebase import Tablebase
from vecchess.search.tree.layout import NO_NODE
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.selfplay.games.game_kernel import CONSUMED
from vecchess.selfplay.games.game_table import (
    ANCHOR_FINGERPRINT,
    ANCHOR_LEVEL_PLIES,
    ANCHOR_LOW_TURNS,
    ANCHOR_PLY,
    ANCHOR_RESIGN,
    ANCHOR_TARGET_WORDS,
    VACANT,
    Rules,
)
from vecchess.selfplay.games.mover import Mover, Rows
from vecchess.selfplay.games.ply_log import PAGE_PLIES
from vecchess.selfplay.games.search_kernel import play_decisions, resume_searches
from vecchess.selfplay.games.target_log import (
    MOST_PAGES,
    MOST_WORDS,
    PAGE_WORDS,
    pack_targets,
    target_log,
)
from vecchess.store.inflight import SavedGames


class SearchMover(Mover):
    """Plays games whose moves are searched; a row is a question of its game's tree."""

    def __init__(
        self,
        rules: Rules,
        net_sha: str,
        requests: Requests,
        first_row: int,
        num_games: int,
        numbers: GameIdPool,
        config: TreeConfig,
        plan: ForestPlan,
        cache: EvaluationCache | None,
    ) -> None:
        """See ``Mover``. Raises ConfigError for tablebases that are not there, or want of memory.

        ``cache`` is shared by the movers of a process.
        """
        super().__init__(rules, net_sha, requests, first_row, num_games, numbers)
        self._tablebase = Tablebase(config.syzygy) if config.syzygy else None
        if self._tablebase:
            plan = replace(plan, tablebase_men=self._tablebase.most_men)
        rows = slice(first_row, first_row + num_games)
        own = requests.part(rows)
        boards = (self.games.position, self.games.keys, self.games.past)
        self.forest = Forest(config, plan, *boards, own, cache)
        self._targets = target_log()
        self._cache = cache

    def take_network(
        self, net_sha: str, policy_scale: float, value_scale: float, time_steps: int
    ) -> None:
        """See ``Mover``. What the old network said of positions is forgotten."""
        super().take_network(net_sha, policy_scale, value_scale, time_steps)
        assert (self.forest.trees["root"] == NO_NODE).all(), "a tree outlived its game"
        self.forest.set_scales(policy_scale, value_scale)
        if (
            self._cache
        ):  # shared by the movers of a process; to be emptied more than once is no harm
            self._cache.clear()

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

    def _carry_on(self, rows: Rows) -> tuple[Rows, Rows]:
        """Search on, play what was decided, begin again, until all rows wait for answers."""
        vacant = self.games.number[rows - self._desk.first] == VACANT
        searching, playing, gone = rows[~vacant], rows[vacant], [rows[:0]]
        while len(playing := np.concatenate([playing, self._search(searching)])):
            searching, left = super()._carry_on(playing)
            gone.append(left)
            playing = rows[:0]
        return self.forest.take_requests() + self._desk.first, np.concatenate(gone)

    def _search(self, rows: Rows) -> Rows:
        """Carry searches on, with the tablebase; returns the rows where a game goes on."""
        first, decided = self._desk.first, [rows[:0]]
        while True:
            decided.append((self.forest.search(rows - first) + first).astype(np.int32))
            known = self.forest.probe_tablebase(self._tablebase)
            if not len(known):
                return np.concatenate(decided)
            is_game = self.forest.lanes["leaf"][known] == NO_NODE
            decided.append(known[is_game] + first)
            rows = known[~is_game] + first

    def _go_on(self, saved: SavedGames, resumed: Rows, others: Rows) -> tuple[Rows, Rows]:
        """Begin a search for each of them; those that wait for a tablebase come back by it."""
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
            (resumed - self._desk.first).astype(np.int64),
            searching,
        )
        return np.concatenate([others, resumed[searching]]), resumed[:0]

    def _saved(self, seats: NDArray[np.int64]) -> SavedGames:
        """As they stood without a tree: what trees hold is not saved."""
        anchors = self.games.anchors[seats]
        plies, words = (anchors[:, at].astype(np.int32) for at in (ANCHOR_PLY, ANCHOR_TARGET_WORDS))
        resign = anchors[:, ANCHOR_RESIGN].astype(np.uint8)
        fingerprint = anchors[:, ANCHOR_FINGERPRINT].view(np.uint64)
        turns = anchors[:, ANCHOR_LOW_TURNS, None] >> np.array([0, 8])
        return SavedGames(
            self._in_progress(seats, plies, words, resign, fingerprint),
            (turns & 0xFF).astype(np.uint8),
            anchors[:, ANCHOR_LEVEL_PLIES].astype(np.uint8),
        )

    def _words_of(
        self, seats: NDArray[np.int64], num_words: NDArray[np.int32]
    ) -> NDArray[np.uint32]:
        """See ``Mover``."""
        return self._targets.gathered(self.games.target_pages[seats, 0], num_words)

    def _run_kernel(
        self, supply: NDArray[np.int64], rows: Rows, ready: Rows, cursor: NDArray[np.int64]
    ) -> None:
        """Play what was decided in ``rows`` from the cursor on, see ``think.play_decisions``."""
        self._targets.reserve((len(rows) - int(cursor[CONSUMED])) * MOST_PAGES)
        play_decisions(
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
            ready,
            cursor,
        )
