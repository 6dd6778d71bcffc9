"""The observer of a search: reports the result so far, and ends the search when it is time."""

from collections.abc import Callable
from time import monotonic

import numpy as np

from vecchess.analysis.analysis_result import Analysis, Variation
from vecchess.chess.fen import to_fens
from vecchess.chess.pgn import start_board
from vecchess.chess.position import Positions
from vecchess.chess.uci_moves import action_to_chess_move
from vecchess.config import AnalyseConfig
from vecchess.runtime.signals import StopSignals
from vecchess.search.batch_search import BatchSearch, SearchResults
from vecchess.search.principal_variations import (
    NO_ACTION,
    Line,
    best_lines,
    root_estimate,
    root_visits,
)
from vecchess.search.tree.layout import PROVEN

UPDATE_S = 0.2
"""Interval of reports."""

OnProgress = Callable[[Analysis], object]


class AnalysisObserver:
    """Reports the result so far, and ends the search when it is time."""

    def __init__(
        self,
        config: AnalyseConfig,
        search: BatchSearch,
        positions: Positions,
        on_progress: OnProgress | None,
        stop: StopSignals,
    ) -> None:
        """The clock starts now; a reason of ``stop`` ends the search."""
        self._config, self._search, self._on_progress = config, search, on_progress
        self._stop = stop
        self._fen = to_fens(positions, config.chess960)[0]
        self._board = start_board(positions[0], config.chess960)
        self._start = monotonic()
        self._next = self._start
        self._ended_by = ""
        self.found: Analysis | None = None

    def watch(self, search: BatchSearch) -> bool:
        """Called during the search; True ends it, after at least one simulation."""
        if root_visits(search.forest, 0) == 0:
            return False
        now = monotonic()
        if self._on_progress is not None and now >= self._next:
            self._on_progress(self._analysis(NO_ACTION))
            self._next = monotonic() + UPDATE_S
        is_late = 0 < self._config.seconds <= now - self._start
        self._ended_by = self._stop.reason or ("seconds" if is_late else "")
        return self._ended_by != ""

    def finished(self, search: BatchSearch, results: SearchResults) -> None:
        """Called at the end of the search."""
        self.found = self._analysis(int(results.action[0]), self._why())

    def _why(self) -> str:
        """Why the search ended, one of ``ENDS``."""
        forest = self._search.forest
        if forest.root(0)["state"] & PROVEN:
            return "proof"
        has_them_all = root_visits(forest, 0) >= self._config.tree.sims
        return "simulations" if has_them_all else self._ended_by

    def _analysis(self, action: int, stopped_by: str = "") -> Analysis:
        """The result so far; ``action`` is the search's decision, or NO_ACTION."""
        seconds = monotonic() - self._start
        forest, counters = self._search.forest, self._search.forest.counters()
        lines = best_lines(forest, 0, self._config.multipv, action)
        variations = [self._variation(line) for line in lines]
        answers = self._search.engine.counters.steps
        asked = int(answers.sum())
        best = variations[0]
        simulations = root_visits(forest, 0)
        return Analysis(
            fen=self._fen,
            best=(best.moves[0], best.san[0]),
            variations=variations,
            estimate=root_estimate(forest, 0),
            simulations=simulations,
            seconds=seconds,
            nodes=counters["nodes_made"],
            unexpanded=counters["unexpanded"],
            mean_depth=counters["depth"] / simulations,
            cache_hit_rate=counters["cache_hits"] / max(1, counters["cache_probes"]),
            evaluations=asked,
            mean_time_steps=float(answers @ np.arange(len(answers))) / max(1, asked),
            lanes=forest.lanes_a_tree,
            stopped_by=stopped_by,
        )

    def _variation(self, line: Line) -> Variation:
        """A line with the names of its moves."""
        board, moves, names = self._board.copy(), list[str](), list[str]()
        for action in line.actions:
            move = action_to_chess_move(board, action)
            assert move is not None
            moves.append(move.uci())
            names.append(board.san_and_push(move))
        return Variation(line, tuple(moves), tuple(names))
