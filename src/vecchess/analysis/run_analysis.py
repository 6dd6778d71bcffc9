"""The analysis of one position.

Its result depends on the position with its history, the network, the settings and the number of
positions evaluated in parallel; not on the machine.
"""

from collections.abc import Sequence
from typing import Any

from vecchess.analysis.analysis_result import Analysis
from vecchess.analysis.open_evaluator import compiling, open_evaluator
from vecchess.analysis.parse_position import STARTPOS, position_after
from vecchess.analysis.search_progress import AnalysisObserver, OnProgress
from vecchess.chess.chess960 import start_positions
from vecchess.config import AnalyseConfig, TreeConfig
from vecchess.inference.open_network import OpenNetwork
from vecchess.runtime.reporting import ReportLine, no_report
from vecchess.runtime.signals import OnSignal, StopSignals
from vecchess.search.batch_search import BatchSearch
from vecchess.search.kernels.evaluation_cache import EvaluationCache
from vecchess.search.tablebase import Tablebase
from vecchess.search.tree_memory import TreeLimits

SIMS_A_LANE, MOST_LANES = 100, 32


def analyse(
    config: AnalyseConfig,
    fen: str = STARTPOS,
    moves: Sequence[str] = (),
    report_line: ReportLine = no_report,
    on_progress: OnProgress | None = None,
    stop: StopSignals | None = None,
) -> tuple[Analysis, dict[str, Any]]:
    """Search the position after ``moves`` (UCI) from ``fen``; returns the result, and facts about
    the evaluator.

    ``report_line`` takes lines for people, ``on_progress`` the result so far a few times a second.
    A reason of ``stop`` ends the search. Raises ConfigError for a position that
    cannot be searched, and for wrong settings, tablebases and too little memory; NetworkError for
    a network that cannot be used.
    """
    positions, keys, past = position_after(fen, moves)
    lanes = config.lanes or lanes_for(config.tree.sims)
    TreeLimits.of_analysis(config.tree, 1)  # before a network is made
    if config.tree.cache_mb:
        EvaluationCache(config.tree.cache_mb)
    tablebase = Tablebase(config.tree.syzygy) if config.tree.syzygy else None
    evaluator = open_evaluator(config, lanes, report_line)
    _compile(evaluator, config, report_line)
    tree = TreeConfig(**config.tree.model_dump())
    search = BatchSearch(
        tree, evaluator.backend, 1, config.seed, lanes, tablebase, evaluator.num_planes
    )
    stop = stop or StopSignals()
    stop.set_action(OnSignal.SET_FLAG)
    observer = AnalysisObserver(config, search, positions, on_progress, stop)
    watch, finished = observer.watch, observer.finished
    search.run(positions, keys, past, config.seed, watch=watch, finished=finished)
    assert observer.found is not None  # by ``finished``
    return observer.found, evaluator.facts


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
