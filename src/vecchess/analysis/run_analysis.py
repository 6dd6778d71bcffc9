"""The analysis of one position.

Its result depends on the position with its history, the network, the settings and the number of
positions evaluated in parallel; not on the machine.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from time import monotonic
from typing import Any

import numpy as np

from vecchess.analysis.open_evaluator import compiling, open_evaluator
from vecchess.analysis.parse_position import STARTPOS, position_after
from vecchess.chess.chess960 import start_positions
from vecchess.chess.fen import to_fens
from vecchess.chess.pgn import start_board
from vecchess.chess.uci_moves import action_to_chess_move
from vecchess.config import AnalyseConfig, TreeConfig
from vecchess.inference.open_network import OpenNetwork
from vecchess.runtime.reporting import ReportLine, no_report
from vecchess.runtime.signals import OnSignal, StopSignals
from vecchess.search.batch_search import BatchSearch
from vecchess.search.game_search import GameSearch
from vecchess.search.kernels.evaluation_cache import EvaluationCache
from vecchess.search.principal_variations import (
    NO_ACTION,
    Line,
    WdlEstimate,
    best_lines,
    root_estimate,
)
from vecchess.search.tablebase import Tablebase
from vecchess.search.tree_memory import TreeLimits

SCHEMA = 1
ENDS = ("simulations", "proof", "seconds", "SIGINT")
"""Why a search ended: all simulations done, the result proven, the time limit, or a signal."""


@dataclass(frozen=True)
class Variation:
    """A line, and its moves in UCI and in SAN."""

    line: Line
    moves: tuple[str, ...]
    """UCI"""
    san: tuple[str, ...]


@dataclass(frozen=True)
class Analysis:
    """The analysis of a position, at the end of its search or during it."""

    fen: str
    best: tuple[str, str]
    """The move to play, UCI and SAN."""
    variations: list[Variation]
    estimate: WdlEstimate
    simulations: int
    seconds: float
    nodes: int
    unexpanded: int
    """Positions whose moves did not fit into the tree."""
    mean_depth: float
    cache_hit_rate: float
    evaluations: int
    """Positions that the network evaluated."""
    mean_time_steps: float
    """Mean over these evaluations."""
    lanes: int
    stopped_by: str = ""
    """One of ``ENDS``, or "" during the search."""

    @property
    def simulations_per_s(self) -> float:
        """Simulations a second so far."""
        return self.simulations / max(self.seconds, 1e-9)

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON. Point of view: the side to move."""
        estimate = self.estimate
        return {
            "schema": SCHEMA,
            "fen": self.fen,
            "best": {"uci": self.best[0], "san": self.best[1]},
            "wdl": [round(share, 6) for share in (estimate.win, estimate.draw, estimate.loss)],
            "visits": self.simulations,
            "lines": [_variation_facts(variation) for variation in self.variations],
            "simulations": self.simulations,
            "simulations_per_s": round(self.simulations_per_s, 1),
            "seconds": round(self.seconds, 4),
            "nodes": self.nodes,
            "unexpanded": self.unexpanded,
            "mean_depth": round(self.mean_depth, 3),
            "cache_hit_rate": round(self.cache_hit_rate, 4),
            "evaluations": self.evaluations,
            "mean_time_steps": round(self.mean_time_steps, 3),
            "lanes": self.lanes,
            "stopped_by": self.stopped_by,
        }


def _variation_facts(variation: Variation) -> dict[str, Any]:
    line = variation.line
    proven = {1: "win", 0: None, -1: "loss"}[line.outcome]
    return {
        "moves": list(variation.moves),
        "san": list(variation.san),
        "visits": line.visits,
        **{name: round(share, 6) for name, share in asdict(line.estimate).items()},
        "prior": round(line.prior, 6),
        "proven": proven,
        "mate": line.mate,
        "depth": len(line.actions),
    }


SIMS_A_LANE, MOST_LANES = 100, 32
UPDATE_S = 0.2
"""Interval of reports."""
OnProgress = Callable[[Analysis], object]


def analyse(
    config: AnalyseConfig,
    fen: str = STARTPOS,
    moves: Sequence[str] = (),
    report_line: ReportLine = no_report,
    on_progress: OnProgress | None = None,
    stop: StopSignals | None = None,
    opened: OpenNetwork | None = None,
) -> tuple[Analysis, dict[str, Any]]:
    """Search the position after ``moves`` (UCI) from ``fen``; returns the result, and facts about
    the evaluator.

    ``report_line`` takes lines for people, ``on_progress`` the result so far a few times a second.
    A reason of ``stop`` ends the search. ``opened``: the network, where it is open already.
    Raises ConfigError for a position that
    cannot be searched, and for wrong settings, tablebases and too little memory; NetworkError for
    a network that cannot be used.
    """
    positions, keys, past = position_after(fen, moves)
    lanes = config.lanes or lanes_for(config.tree.sims)
    limits = TreeLimits.of_analysis(config.tree, 1)  # before a network is made
    cache = EvaluationCache(config.tree.cache_mb) if config.tree.cache_mb else None
    tablebase = Tablebase(config.tree.syzygy) if config.tree.syzygy else None
    evaluator = opened or open_evaluator(config, lanes, report_line)
    with evaluator.turn:
        _compile(evaluator, config, report_line)
        search = GameSearch(
            TreeConfig(**config.tree.model_dump()), limits, evaluator.backend, lanes, cache,
            tablebase, evaluator.num_planes, config.seed,
        )  # fmt: skip
        search.stale_after = config.tree.sims
        search.set_up(positions[0], keys, past)
        stop = stop or StopSignals()
        stop.set_action(OnSignal.SET_FLAG)
        return _Analyst(config, search).search(on_progress, stop), evaluator.facts


def lanes_for(sims: int) -> int:
    """Positions evaluated in parallel by default: few, where each simulation decides much."""
    return min(MOST_LANES, max(1, sims // SIMS_A_LANE))


def _compile(evaluator: OpenNetwork, config: AnalyseConfig, report_line: ReportLine) -> None:
    """Search once from the start position, so that compilation does not count as search time."""
    with compiling("analyse", config, report_line):
        tree = TreeConfig(search="puct", sims=2, cache_mb=1)
        BatchSearch(tree, evaluator.backend, 1, num_planes=evaluator.num_planes).run(
            start_positions(1)
        )


class _Analyst:
    """Searches a position, and says what was found so far."""

    def __init__(self, config: AnalyseConfig, search: GameSearch) -> None:
        """The clock starts now."""
        self._config, self._search = config, search
        self._fen = to_fens(search.positions, config.chess960)[0]
        self._board = start_board(search.position, config.chess960)
        self._start = monotonic()

    def search(self, on_progress: OnProgress | None, stop: StopSignals) -> Analysis:
        """Search until all simulations are done, the outcome is proven, or it is time."""
        search, ended_by, next_report = self._search, "", self._start
        search.begin(self._config.tree.sims)
        while not search.is_over:
            search.advance(search.compute())
            if ended_by or search.visits == 0:
                continue
            if on_progress is not None and (now := monotonic()) >= next_report:
                on_progress(self._found(NO_ACTION))
                next_report = now + UPDATE_S
            ended_by = stop.reason or ("seconds" if self._is_late else "")
            if ended_by:
                search.end()
        if search.is_proven:
            ended_by = "proof"
        elif search.visits >= self._config.tree.sims:
            ended_by = "simulations"
        return self._found(search.decision, ended_by)

    @property
    def _is_late(self) -> bool:
        return 0 < self._config.seconds <= monotonic() - self._start

    def _found(self, action: int, stopped_by: str = "") -> Analysis:
        """The result so far; ``action`` is the search's decision, or NO_ACTION."""
        seconds, forest = monotonic() - self._start, self._search.forest
        simulations, counters = self._search.visits, forest.counters()
        lines = best_lines(forest, 0, self._config.multipv, action)
        variations = [self._variation(line) for line in lines]
        answers = self._search.engine.counters.steps
        asked = int(answers.sum())
        return Analysis(
            fen=self._fen,
            best=(variations[0].moves[0], variations[0].san[0]),
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
